"""Light bodies bear heavy loads with the default settings, and bodies that sink into others are faults.

A box of 1,000 kg used to end within the box of 1 kg under it, with both asleep.
"""

import numpy as np
import pytest

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
