"""What goes wrong in one world: a fault in one sentence, a reset, and the other worlds bit for bit as without it."""

import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl
from worldloom import robots

BOXES = "".join(
    f'<body pos="{0.3 * (k % 3)} {0.3 * (k // 3)} 1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>'
    for k in range(9)
)
PILE = f"""
<mujoco>
  <size memory="70K"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="3 0 2"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body>
    {BOXES}
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
MODEL = robots.Model(PILE)
NUM_WORLDS, FAULTY = 3, 1
ENGINES = [
    "c",
    pytest.param("warp", marks=pytest.mark.skipif(not THOROUGH, reason="compiles MuJoCo Warp: make test-thorough")),
]


class Pile(wl.Entity, MODEL.State):
    qfrc_applied: MODEL.qfrc_applied
    torque: wl.Action(wl.Box(-1.0, 1.0, (1,)))
    reward: wl.Reward(wl.float64)
    gain: wl.float64
    load: wl.float64


class Yard(wl.World):
    pass


@wl.system
def drive(pile: Pile):
    pile.ctrl[0] = pile.torque[0] * (1.0 + pile.gain)
    pile.qfrc_applied[0] = pile.load


PHYSICS = robots.Physics(MODEL, Pile, sizes=robots.Sizes(contacts=32, constraints=64))
PILES = wl.Definition(
    "Pile-v0",
    Yard,
    {Pile: 1},
    reset=(PHYSICS.home, PHYSICS.forward),
    step=(drive, *PHYSICS.step),
    cuda_float32=True,
    worlds_per_thread=NUM_WORLDS,
)


def make(engine, checks=False):
    definition = PILES if engine == "c" else PILES.for_cuda()
    return wl.Simulation(definition, num_worlds=NUM_WORLDS, seed=0, checks=checks)


def states(simulation):
    names = ("qpos", "qvel", "time", "qacc_warmstart")
    return np.concatenate([getattr(simulation[Pile], name).numpy().reshape(NUM_WORLDS, -1) for name in names], axis=1)


def change(simulation, name, values):
    column = getattr(simulation[Pile], name)
    numbers = column.numpy().copy()
    numbers[FAULTY] = values
    column.assign(numbers)


def lie_on_the_ground(simulation):
    positions = simulation[Pile].qpos.numpy()[FAULTY].copy()
    positions[0, 3::7] = 0.095
    change(simulation, "qpos", positions)


UNSTABLE = "physics is unstable: a position, velocity or acceleration is NaN or huge"
MEMORY = {
    "c": "physics has too little memory for its contacts: raise 'memory' in <size> of the model",
    "warp": "physics needs more than 32 contacts or 64 constraints: give robots.Physics larger sizes, measured by",
}
CONTROL = {"c": "a control is NaN or huge", "warp": UNSTABLE}
CAUSES = {
    "contacts": (lie_on_the_ground, MEMORY),
    "control": (lambda simulation: change(simulation, "gain", np.nan), CONTROL),
    "force": (lambda simulation: change(simulation, "load", np.nan), {"c": UNSTABLE, "warp": UNSTABLE}),
    "velocity": (lambda simulation: change(simulation, "qvel", np.inf), {"c": UNSTABLE, "warp": UNSTABLE}),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cause", CAUSES)
def test_a_fault_of_one_world_is_its_own(engine, cause):
    spoil, sentences = CAUSES[cause]
    faulty, sound = make(engine), make(engine)
    action = np.full((NUM_WORLDS, 1, 1), 0.5, np.float32)
    for _ in range(3):
        faulty.step(action)
        sound.step(action)
    spoil(faulty)
    faulty.step(action)
    sound.step(action)
    faults = faulty.errors()
    assert [fault.world for fault in faults] == [FAULTY], [str(fault) for fault in faults]
    assert sentences[engine] in str(faults[0])
    assert faulty.truncated.numpy().tolist() == [False, True, False]
    others = [0, 2]
    assert (states(faulty)[others] == states(sound)[others]).all()
    assert np.isfinite(states(faulty)).all()
    for _ in range(5):  # the faulty world goes on from its initial state
        faulty.step(action)
        sound.step(action)
    assert (states(faulty)[others] == states(sound)[others]).all()
    assert np.isfinite(states(faulty)).all()
    assert not faulty.errors() and not sound.errors()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_torque_that_is_nan_is_named(engine):
    simulation = make(engine, checks=True)
    torques = np.zeros((NUM_WORLDS, 1, 1), np.float32)
    torques[FAULTY] = np.nan
    simulation.step(torques)
    faults = [str(fault) for fault in simulation.errors()]
    assert len(faults) == 2 and all(fault.startswith(f"world {FAULTY}, episode 0, step 0: ") for fault in faults)
    assert any("action torque of Pile 0 is not a finite number" in fault for fault in faults)
    assert np.isfinite(states(simulation)).all()


def test_a_model_too_large_for_the_memory(tmp_path):
    with pytest.raises(
        wl.InputError, match=r"^MuJoCo cannot compile the MJCF text: it needs more than .* GiB of memory"
    ):
        robots.Model(PILE.replace("70K", "4000G"))
    arena = np.int64(MODEL.mj_model.narena).tobytes()
    assert MODEL.saved.count(arena) == 1
    file = tmp_path / "huge.mjb"
    file.write_bytes(MODEL.saved.replace(arena, np.int64(2**46).tobytes()))
    with pytest.raises(wl.InputError, match=r"it needs more than .* GiB of memory"):
        robots.Model(file)
    huge = robots.Model(file, trusted=True)

    class Huge(wl.Entity, huge.State):
        pass

    physics = robots.Physics(huge, Huge)
    definition = wl.Definition("Huge-v0", Yard, {Huge: 1}, reset=(physics.home, physics.forward), step=physics.step)
    with pytest.raises(wl.InputError, match=r"a thread of physics needs 67,108,864 MiB of memory, .*: lower 'memory'"):
        wl.Simulation(definition, num_worlds=1, seed=0)


def test_worlds_too_large_for_mujoco_warp():
    physics = robots.Physics(MODEL, Pile, sizes=robots.Sizes(contacts=10**6, constraints=10**4))
    definition = wl.Definition(
        "Piles-v0", Yard, {Pile: 1}, step=(drive, *physics.step), cuda_float32=True, worlds_per_thread=10**6
    )
    needed = (
        r"^physics of 1,000 worlds with 1000000 contacts and 10000 constraints each need .* GiB of memory on cpu, and"
    )
    with pytest.raises(wl.InputError, match=needed):
        wl.Simulation(definition.for_cuda(), num_worlds=1000, seed=0)
