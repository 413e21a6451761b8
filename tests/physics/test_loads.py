"""Light bodies bear heavy loads with the default settings, and bodies that sink into others are faults.

A box of 1,000 kg used to end within the box of 1 kg under it, with both asleep.
"""

import numpy as np
import pytest
from physics_scenes import FLOOR, BodySpec, Thing, simulate

import worldloom as wl
from worldloom import physics

RATIOS = (10.0, 100.0, 300.0, 1000.0)
HALF = 0.25  # m, of all boxes


class Scales(physics.World):
    weight: wl.Config = 1000.0  # kg, of the upper box
    drop: wl.Config = 0.0  # m, of the upper box
    aside: wl.Config = 0.0  # m
    wedged: wl.Config = 0.0  # m, by which two boxes at the sides overlap the lower box


class Block(physics.Body):
    pass


@pytest.fixture(scope="module")
def program() -> wl.Definition:
    """A box on a box of 1 kg on a floor; by colour, so that a loaded world is left to the solver over worlds."""
    solid = physics.systems(Scales, Block, shapes=(physics.PLANE, physics.BOX), mapping="colours")

    @wl.system
    def build(world: Scales):
        size = wl.vec3(HALF, HALF, HALF)
        world.spawn(Block, shape=physics.PLANE, motion=physics.STATIC)
        world.spawn(Block, size=size, position=wl.vec3(0.0, 0.0, HALF), mass=1.0)
        upper = wl.vec3(world.aside, 0.0, 3.0 * HALF + world.drop)
        world.spawn(Block, size=size, position=upper, mass=world.weight)
        for side in range(2):
            x = 2.0 * HALF - world.wedged if world.wedged > 0.0 else 5.0
            x *= float(2 * side - 1)
            world.spawn(Block, size=size, position=wl.vec3(x, 0.0, HALF), motion=physics.STATIC)

    return wl.Definition(
        "Scales",
        Scales,
        {Block: wl.UpTo(5), **solid.entities(pairs=10, contacts=10)},
        reset=(build,),
        step=tuple(solid.step),
    )


def weigh(program: wl.Definition, device: str = "cpu", **config: object) -> wl.Simulation:
    """One world for every weight of RATIOS."""
    settings = {"weight": np.array(RATIOS, np.float32), **config}
    return wl.Simulation(program, len(RATIOS), device, seed=0, config=settings)


def heights(sim: wl.Simulation, steps: int) -> np.ndarray:
    """The heights of both boxes after each step, (steps, worlds, 2)."""
    found = []
    for _ in range(steps):
        sim.step()
        found.append(sim[Block].position.numpy()[:, 1:3, 2])
    return np.array(found)


@pytest.mark.parametrize("config", [{}, {"aside": 0.15}, {"drop": 0.3}, {"dt": 1.0 / 120.0}, {"sweeps": 2}], ids=str)
def test_a_heavy_body_stands_on_a_light_one(program: wl.Definition, config: dict[str, float]) -> None:
    sim = weigh(program, **config)
    path = heights(sim, 120)
    assert sim.errors() == []
    assert np.abs(path[-1, 1:] - [HALF, 3.0 * HALF]).max() < 2e-3
    assert path[:, 1:].min((0, 1)) == pytest.approx([HALF, 3.0 * HALF], abs=5e-3)
    assert np.abs(path[-1, 0] - [HALF, 3.0 * HALF]).max() < 8e-3  # an ordinary load
    if "dt" not in config:
        assert not sim[Block].awake.numpy().any()


def test_ordinary_loads_are_left_to_the_ordinary_solver(program: wl.Definition) -> None:
    sim = weigh(program)
    sim.step()
    assert sim.world.loaded.numpy().tolist() == [False, True, True, True]
    assert sim.world.by_colour.numpy().tolist() == [True, False, False, False]
    sim = weigh(program, heavy_load=1e30)
    sim.step()
    assert not sim.world.loaded.numpy().any()


def test_a_body_that_sinks_into_another_is_a_fault(program: wl.Definition) -> None:
    sim = weigh(program, heavy_load=1e30)
    heights(sim, 60)
    errors = sim.errors()
    assert all("sinks into another: give more substeps" in error.message for error in errors)
    assert 3 in {error.world for error in errors}
    sim = weigh(program, heavy_load=1e30, max_depth=1e30)
    heights(sim, 60)
    assert sim.errors() == []


def test_bodies_deep_in_each_other_stay_awake(program: wl.Definition) -> None:
    sim = weigh(program, weight=np.full(4, 1.0, np.float32), wedged=np.array([0.0, 1e-3, 0.05, 0.1], np.float32))
    heights(sim, 60)
    assert sim[Block].awake.numpy()[:, 1].tolist() == [False, False, True, True]


def test_the_interpreter_gives_the_same_bits(program: wl.Definition) -> None:
    sims = [weigh(program, device) for device in ("cpu", "python")]
    names = {"Block": ("position", "rotation", "velocity", "spin"), "Contact": ("impulses", "tangents", "impulse")}
    for _ in range(2):
        for sim in sims:
            sim.step()
        for table, columns in names.items():
            for name in columns:
                one, other = (sim[table].rows(name).numpy() for sim in sims)
                assert one.tobytes() == other.tobytes(), name


class Gripper(physics.World):
    force: wl.Config = 30.0  # N, of each finger
    mass: wl.Config = 0.065  # kg, of the block
    gap: wl.Config = 0.0  # m, between block and fingers at the start


@pytest.fixture(scope="module")
def gripper() -> wl.Definition:
    """A block of 7 cm between two fingers of 0.5 kg on sliders, in the air."""
    solid = physics.systems(Gripper, Block, shapes=(physics.BOX,))

    @wl.system
    def build(world: Gripper):
        small = wl.vec3(0.01, 0.02, 0.02)
        frame = world.spawn(Block, size=small, position=wl.vec3(0.0, 1.0, 1.0), motion=physics.STATIC)
        position, size = wl.vec3(0.0, 0.0, 1.0), wl.vec3(0.035, 0.02, 0.02)
        world.spawn(Block, size=size, position=position, mass=world.mass, friction=0.8)
        for side in range(2):
            sign = float(2 * side - 1)
            place = sign * (0.045 + world.gap)
            finger = world.spawn(Block, size=small, position=wl.vec3(place, 0.0, 1.0), mass=0.5, friction=0.8)
            world.spawn(
                solid.Joint,
                kind=physics.SLIDER,
                a=frame,
                b=finger,
                anchor_a=wl.vec3(place, -1.0, 0.0),
                axis=wl.vec3(1.0, 0.0, 0.0),
                motor_speed=-sign,
                motor_force=world.force,
            )

    return wl.Definition(
        "Gripper",
        Gripper,
        {Block: wl.UpTo(4), **solid.entities(pairs=6, contacts=6, joints=2)},
        reset=(build,),
        step=tuple(solid.step),
    )


def test_fingers_hold_a_light_block_from_the_first_step(gripper: wl.Definition) -> None:
    """Where loads of the last step alone count, fingers of 60 N pass through the block, and light ones are ejected."""
    settings = {
        "force": np.array([30.0, 60.0, 150.0, 300.0, 30.0, 30.0, 30.0], np.float32),
        "mass": np.array([0.065] * 4 + [0.065, 0.03, 0.005], np.float32),
        "gap": np.array([0.0] * 4 + [0.001, 0.0, 0.0], np.float32),
    }
    sim = wl.Simulation(gripper, 7, "cpu", seed=0, config=settings)
    for _ in range(90):
        sim.step()
        position = sim[Block].position.numpy()
        assert (position[:, 3, 0] - position[:, 2, 0] - 0.02).min() > 0.068
    assert sim.errors() == []
    assert np.abs(position[:, 1, 2] - 1.0).max() < 2e-3


def test_the_thickness_of_bodies_bounds_their_depth() -> None:
    """A plate, a ball and a hull with a heavy body on each; none of them is thicker than a cube of 0.5 m."""
    lower = [
        BodySpec(size=(0.5, 0.5, 0.0025), position=(0.0, 0.0, 0.0025)),
        BodySpec(physics.SPHERE, (0.1, 0.0, 0.0), (0.0, 0.0, 0.1)),
        BodySpec(physics.HULL, position=(0.0, 0.0, 0.5)),
    ]
    scenes = [
        [FLOOR, body, BodySpec(size=(0.25, 0.25, 0.25), position=(0.0, 0.0, top + 0.25), density=density)]
        for body, top, density in zip(lower, (0.005, 0.2, 1.0), (8e3, 3e4, 8e6), strict=True)
    ]
    sim = simulate(*scenes, heavy_load=1e30)
    faulty = set()
    for _ in range(60):
        sim.step()
        faulty |= {error.world for error in sim.errors() if "sinks into another" in error.message}
    assert faulty == {0, 1, 2}


def test_bodies_that_are_pushed_out_after_a_spawn_are_no_fault() -> None:
    tower = [BodySpec(size=(0.25, 0.25, 0.25), position=(0.0, 0.0, 0.25 + 0.2 * i)) for i in range(8)]
    generator = np.random.default_rng(0)
    heap = [
        BodySpec(size=tuple(generator.uniform(0.1, 0.5, 3)), position=tuple(generator.uniform(0.0, 1.2, 3)))
        for _ in range(11)
    ]
    sim = simulate([FLOOR, *tower], [FLOOR, *heap])
    for _ in range(150):
        sim.step()
        assert sim.errors() == []
    height = sim[Thing].position.numpy()[0, 8, 2]
    assert height == pytest.approx(0.25 + 7 * 0.5, abs=0.03)
