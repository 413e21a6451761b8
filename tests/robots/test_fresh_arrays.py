"""Physics in dm_control's order of calls, against that order in MuJoCo's own Python interface, bit for bit."""

import mujoco
import numpy as np
import pytest

import worldloom as wl
from worldloom import robots

ARM = """
<mujoco>
  <option timestep="0.005" integrator="{integrator}"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/>
      <site name="tip" pos="0 0 -0.5"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="5"/></actuator>
  <sensor><velocimeter site="tip"/><accelerometer site="tip"/></sensor>
</mujoco>
"""
NUM_WORLDS = 3


def define(integrator):
    model = robots.Model(ARM.format(integrator=integrator))

    class Arm(wl.Entity, model.State):
        xpos: model.xpos
        site_xpos: model.site_xpos
        sensordata: model.sensordata
        qacc: model.qacc
        target: wl.Action(wl.Box(-1.0, 1.0, (1,)))
        reward: wl.Reward(wl.float64)

    class Room(wl.World):
        pass

    @wl.system
    def place(arm: Arm, world: Room):
        arm.qpos[0] = world.random(0.5, 1.0)

    @wl.system
    def drive(arm: Arm):
        arm.ctrl[0] = arm.target[0]

    physics = robots.Physics(model, Arm, substeps=3, fresh=True, passive_forward=True)
    definition = wl.Definition(
        f"Arm{integrator}-v0",
        Room,
        {Arm: 1},
        reset=(physics.home, place, physics.forward),
        step=(drive, *physics.step),
        worlds_per_thread=1,
    )
    return model, Arm, definition


def step_as_dm_control(model, data, substeps):
    """The calls of dm_control's Physics.step, whose first substep continues the last mj_step1."""
    if model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4:
        mujoco.mj_step2(model, data)
        mujoco.mj_step(model, data, nstep=substeps - 1)
    else:
        mujoco.mj_step(model, data, nstep=substeps)
    mujoco.mj_step1(model, data)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_derived_arrays_are_those_after_the_step(integrator):
    model, arm, definition = define(integrator)
    simulation = wl.Simulation(definition, num_worlds=NUM_WORLDS, seed=0)
    references = []
    for world in range(NUM_WORLDS):
        data = mujoco.MjData(model.mj_model)
        data.qpos[:] = simulation[arm].qpos.numpy()[world].reshape(-1)
        model.mj_model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        mujoco.mj_forward(model.mj_model, data)
        model.mj_model.opt.disableflags = 0
        references.append(data)
    generator = np.random.default_rng(0)
    for step in range(50):
        for world, data in enumerate(references):
            for name in ("qpos", "qvel", "time", "qacc_warmstart", "xpos", "site_xpos", "sensordata", "qacc"):
                values = getattr(simulation[arm], name).numpy()[world].reshape(-1)
                assert (values == np.asarray(getattr(data, name)).reshape(-1)).all(), (step, name)
        targets = generator.uniform(-1, 1, (NUM_WORLDS, 1, 1)).astype(np.float32)
        simulation.step(targets)
        for world, data in enumerate(references):
            data.ctrl[:] = targets[world, 0]
            step_as_dm_control(model.mj_model, data, 3)


def test_forces_of_the_last_substep_are_refused():
    model = robots.Model(ARM.format(integrator="Euler"))

    class Arm(wl.Entity, model.State):
        cfrc_ext: model.cfrc_ext

    with pytest.raises(wl.InputError, match="cfrc_ext is of the last substep"):
        robots.Physics(model, Arm, fresh=True)
