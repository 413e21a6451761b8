"""The C engine in a world against MuJoCo's own Python interface, bit for bit."""

import copy

import mujoco
import numpy as np
import pytest

import worldloom as wl
from worldloom import robots

PENDULUM = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="upper" pos="0 0 0.9">
      <joint name="shoulder" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/>
      <body name="lower" pos="0 0 -0.5">
        <joint name="elbow" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="shoulder" gear="10"/><motor joint="elbow" gear="5"/></actuator>
  <sensor><jointpos joint="elbow"/></sensor>
  <keyframe><key name="bent" qpos="0.5 -1"/></keyframe>
</mujoco>
"""
MODEL = robots.Model(PENDULUM)
NUM_WORLDS = 6


class Arm(wl.Entity, MODEL.State):
    xpos: MODEL.xpos
    cfrc_ext: MODEL.cfrc_ext
    sensordata: MODEL.sensordata
    torque: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    reward: wl.Reward(wl.float64)


class Room(wl.World):
    pass


@wl.system
def place(arm: Arm, world: Room):
    arm.qpos[0] += world.random(-1.0, 1.0)


@wl.system
def drive(arm: Arm):
    for i in range(2):
        arm.ctrl[i] = arm.torque[i]


PHYSICS = robots.Physics(MODEL, Arm, substeps=3, keyframe="bent")


def define(**changes):
    settings = {"reset": (PHYSICS.home, place, PHYSICS.forward), "step": (drive, *PHYSICS.step), "max_steps": 20}
    return wl.Definition("Arm-v0", Room, {Arm: 1}, worlds_per_thread=1, **{**settings, **changes})


def arrays(simulation, world):
    table = simulation[Arm]
    names = ("qpos", "qvel", "time", "qacc_warmstart", "xpos", "cfrc_ext", "sensordata")
    return {name: getattr(table, name).numpy()[world].reshape(-1).copy() for name in names}


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_are_those_of_mujoco(threads):
    simulation = wl.Simulation(define(max_steps=0), num_worlds=NUM_WORLDS, seed=3, threads=threads)
    references = []
    for world in range(NUM_WORLDS):
        data = mujoco.MjData(MODEL.mj_model)
        data.qpos[:] = arrays(simulation, world)["qpos"]
        mujoco.mj_forward(MODEL.mj_model, data)
        assert (arrays(simulation, world)["xpos"] == data.xpos.reshape(-1)).all()
        references.append(data)
    generator = np.random.default_rng(0)
    for _ in range(200):
        torques = generator.uniform(-1, 1, (NUM_WORLDS, 1, 2)).astype(np.float32)
        simulation.step(torques)
        for world, data in enumerate(references):
            data.ctrl[:] = torques[world, 0]
            mujoco.mj_step(MODEL.mj_model, data, nstep=3)
            mujoco.mj_rnePostConstraint(MODEL.mj_model, data)
            for name, values in arrays(simulation, world).items():
                assert (values == np.asarray(getattr(data, name)).reshape(-1)).all(), name


def test_an_episode_begins_at_the_keyframe():
    simulation = wl.Simulation(define(reset=(PHYSICS.home, PHYSICS.forward)), num_worlds=2, seed=0)
    for _ in range(20):
        simulation.step(np.ones((2, 1, 2), np.float32))
    state = arrays(simulation, 1)
    assert state["qpos"].tolist() == [0.5, -1.0]
    assert state["time"].tolist() == [0.0]
    assert not state["qvel"].any()
    assert state["sensordata"].tolist() == [-1.0]


def test_a_snapshot_continues_bit_for_bit():
    simulation = wl.Simulation(define(), num_worlds=NUM_WORLDS, seed=1)
    torques = np.random.default_rng(1).uniform(-1, 1, (30, NUM_WORLDS, 1, 2)).astype(np.float32)
    for action in torques[:10]:
        simulation.step(action)
    snapshot = simulation.snapshot()
    for action in torques[10:]:
        simulation.step(action)
    expected = [arrays(simulation, world) for world in range(NUM_WORLDS)]
    other = wl.Simulation(define(), num_worlds=NUM_WORLDS, seed=9)
    other.restore(snapshot)
    for action in torques[10:]:
        other.step(action)
    for world in range(NUM_WORLDS):
        for name, values in arrays(other, world).items():
            assert (values == expected[world][name]).all(), name


def test_one_unstable_world_leaves_the_others_unchanged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulations = [wl.Simulation(define(max_steps=0), num_worlds=3, seed=2) for _ in range(2)]
    simulations[0][Arm].qvel.numpy()[1] = 1e30
    action = np.zeros((3, 1, 2), np.float32)
    for simulation in simulations:
        simulation.step(action)
    for world in (0, 2):
        for name, values in arrays(simulations[0], world).items():
            assert (values == arrays(simulations[1], world)[name]).all(), name
    faults = simulations[0].errors()
    assert [fault.world for fault in faults] == [1]
    assert "physics is unstable" in str(faults[0])
    assert not simulations[1].errors()
    assert not list(tmp_path.iterdir()), "MuJoCo writes warnings to a file"


def test_errors_name_what_is_wrong(tmp_path):
    with pytest.raises(wl.InputError, match=r"MuJoCo cannot compile the MJCF text: .*XML"):
        robots.Model("<mujoco><worldbody></mujoco>")
    with pytest.raises(wl.InputError, match="there is no model file"):
        robots.Model(tmp_path / "missing.xml")
    mesh = '<mujoco><asset><mesh name="m" file="no.stl"/></asset></mujoco>'
    with pytest.raises(wl.InputError, match=r"^MuJoCo cannot compile the MJCF text: .*Error opening file 'no\.stl'$"):
        robots.Model(mesh)
    (tmp_path / "broken.xml").write_text("<mujoco>\n<worldbody>\n<bdy/></worldbody></mujoco>")
    with pytest.raises(wl.InputError, match=r"MuJoCo cannot compile '.*broken\.xml': .*Element 'bdy', line 3$"):
        robots.Model(tmp_path / "broken.xml")
    with pytest.raises(wl.InputError, match="has no body 'foot'; it has world, upper, lower"):
        MODEL.body("foot")
    with pytest.raises(wl.InputError, match="has no joint 'hip'; it has shoulder, elbow"):
        MODEL.id("joint", "hip")
    with pytest.raises(wl.InputError, match="act is empty in this model"):
        MODEL.component("act")
    with pytest.raises(AttributeError, match="neither an array of mjData"):
        _ = MODEL.nonsense
    with pytest.raises(wl.InputError, match="lacks the state of the model"):
        robots.Physics(MODEL, Room)


class RandomArm(wl.Entity, MODEL.State):
    gravity: MODEL.gravity
    body_mass: MODEL.body_mass
    dof_damping: MODEL.dof_damping
    actuator_gear: MODEL.actuator_gear
    torque: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    reward: wl.Reward(wl.float64)


@wl.system
def vary(arm: RandomArm, world: Room):
    arm.gravity[2] = world.random(-12.0, -1.0)
    arm.body_mass[1] *= world.random(0.5, 2.0)
    arm.dof_damping[0] = world.random(0.0, 0.5)
    arm.actuator_gear[1, 0] = world.random(1.0, 9.0)


@wl.system
def drive_random(arm: RandomArm):
    for i in range(2):
        arm.ctrl[i] = arm.torque[i]


def test_parameters_of_the_model_per_world():
    physics = robots.Physics(MODEL, RandomArm, substeps=2)
    definition = wl.Definition(
        "RandomArm-v0",
        Room,
        {RandomArm: 1},
        reset=(physics.home, vary, physics.forward),
        step=(drive_random, *physics.step),
        worlds_per_thread=1,
    )
    simulation = wl.Simulation(definition, num_worlds=NUM_WORLDS, seed=4)
    table = simulation[RandomArm]
    original = MODEL.mj_model.body_mass.copy()
    assert len({float(mass) for mass in table.body_mass.numpy()[:, 0, 1]}) == NUM_WORLDS
    references = []
    for world in range(NUM_WORLDS):
        model = copy.copy(MODEL.mj_model)
        model.opt.gravity[:] = table.gravity.numpy()[world, 0]
        for name in ("body_mass", "dof_damping", "actuator_gear"):
            getattr(model, name)[:] = getattr(table, name).numpy()[world, 0]
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        references.append((model, data))
    generator = np.random.default_rng(0)
    for _ in range(50):
        torques = generator.uniform(-1, 1, (NUM_WORLDS, 1, 2)).astype(np.float32)
        simulation.step(torques)
        for world, (model, data) in enumerate(references):
            data.ctrl[:] = torques[world, 0]
            mujoco.mj_step(model, data, nstep=2)
            assert (table.qpos.numpy()[world, 0] == data.qpos).all()
            assert (table.qvel.numpy()[world, 0] == data.qvel).all()
    assert (MODEL.mj_model.body_mass == original).all()


def test_a_geom_at_the_origin_of_its_body_can_be_moved():
    model = robots.Model("<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>")

    class Ball(wl.Entity, model.State):
        geom_pos: model.geom_pos
        geom_xpos: model.geom_xpos

    @wl.system
    def move(ball: Ball):
        ball.geom_pos[0, 2] = 0.5

    physics = robots.Physics(model, Ball)
    reset = (physics.home, move, physics.forward)
    definition = wl.Definition("MovedBall-v0", Room, {Ball: 1}, reset=reset, step=physics.step)
    assert wl.Simulation(definition, num_worlds=1, seed=0)[Ball].geom_xpos.numpy()[0, 0, 0].tolist() == [0.0, 0.0, 0.5]


def test_warnings_of_the_compiler_are_pythons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="MuJoCo: compiler attribute 'settotalmass' is deprecated"):
        robots.Model(PENDULUM.replace("<mujoco>", '<mujoco><compiler settotalmass="5"/>'))
    assert not list(tmp_path.iterdir()), "MuJoCo writes warnings to a file"
