"""The solver by colour gives the bits of the solver over worlds, where it solves a world and where it leaves it."""

import numpy as np
import pytest

import worldloom as wl
from worldloom import physics
from worldloom.physics.solving.colouring import COLOURS, LONE

SMALL = COLOURS + 3  # boxes on a large one, so that it has more contacts than colours
WORLDS = 5
COLUMNS = {
    "Block": ("position", "rotation", "velocity", "spin", "awake", "world_inverse_inertia"),
    "Contact": ("impulses", "tangents", "peaks", "impulse", "colour", "between"),
    "Joint": ("linear_impulse", "angular_impulse", "coordinate"),
}


class Shop(physics.World):
    dropped: wl.Config = 0.05  # m, height of the upper boxes
    crowded: wl.Config = True  # whether there are more than a few small boxes on the large one


class Block(physics.Body):
    number: int


def shop(mapping: str) -> wl.Definition:
    """A floor, a large box, SMALL boxes above it, bodies with one contact, and two bodies with a hinge."""
    solid = physics.systems(Shop, Block, shapes=(physics.PLANE, physics.BOX), mapping=mapping)

    @wl.system
    def build(world: Shop):
        world.spawn(Block, shape=physics.PLANE, motion=physics.STATIC, friction=0.6)
        world.spawn(
            Block, shape=physics.BOX, size=wl.vec3(2.0, 2.0, 0.5), position=wl.vec3(0.0, 0.0, 0.5), density=200.0,
            motion=physics.DYNAMIC, friction=0.6,
        )  # fmt: skip
        for i in range(SMALL):
            angle = 2.0 * 3.14159 * float(i) / float(SMALL)
            aside = wl.vec3(20.0 + 3.0 * float(i), 0.0, -1.0) if i > 5 and not world.crowded else wl.vec3(0.0, 0.0, 0.0)
            world.spawn(
                Block, shape=physics.BOX, size=wl.vec3(0.2, 0.3, 0.2), density=100.0, motion=physics.DYNAMIC,
                position=aside
                + wl.vec3(1.4 * wl.cos(angle), 1.4 * wl.sin(angle), 1.2 + world.dropped * world.random()),
                spin=wl.vec3(world.random(-2.0, 2.0), world.random(-2.0, 2.0), 0.0),
                friction=0.4, restitution=0.5 if i % 2 == 0 else 0.0,
            )  # fmt: skip
        for i in range(3):  # bodies with one contact: with the floor, a static box, and a kinematic one that moves
            world.spawn(
                Block, shape=physics.BOX, size=wl.vec3(0.3, 0.2, 0.25), density=100.0, motion=physics.DYNAMIC,
                position=wl.vec3(-5.0, 2.0 * float(i), 0.27 + 0.5 * float(min(i, 1)) + world.dropped * world.random()),
                velocity=wl.vec3(world.random(-1.0, 1.0), 0.3, 0.0), friction=0.4, restitution=0.3 * float(i),
            )  # fmt: skip
        world.spawn(
            Block, shape=physics.BOX, size=wl.vec3(0.8, 0.8, 0.25), position=wl.vec3(-5.0, 2.0, 0.25),
            motion=physics.STATIC, friction=0.6,
        )  # fmt: skip
        world.spawn(
            Block, shape=physics.BOX, size=wl.vec3(0.8, 0.8, 0.25), position=wl.vec3(-5.0, 4.0, 0.25),
            motion=physics.KINEMATIC, velocity=wl.vec3(0.2, 0.0, 0.3), spin=wl.vec3(0.1, 0.0, 1.5), friction=0.6,
        )  # fmt: skip
        base = world.spawn(
            Block, shape=physics.BOX, size=wl.vec3(0.2, 0.2, 0.2), position=wl.vec3(4.0, 0.0, 0.3), density=300.0,
            motion=physics.DYNAMIC, friction=0.6,
        )  # fmt: skip
        door = world.spawn(
            Block, shape=physics.BOX, size=wl.vec3(0.1, 0.4, 0.1), position=wl.vec3(4.0, 0.7, 0.6), density=100.0,
            motion=physics.DYNAMIC, friction=0.6,
        )  # fmt: skip
        world.spawn(
            solid.Joint, a=base, b=door, kind=physics.HINGE, anchor_a=wl.vec3(0.0, 0.25, 0.3),
            anchor_b=wl.vec3(0.0, -0.45, 0.0), axis=wl.vec3(1.0, 0.0, 0.0),
        )  # fmt: skip
        world.spawn(  # a second joint of these bodies: a chain
            solid.Joint, a=door, b=base, kind=physics.DISTANCE, anchor_a=wl.vec3(0.0, 0.4, 0.0), upper=0.75,
        )  # fmt: skip
        world.spawn(  # moves under two boxes that touch each other
            Block, shape=physics.BOX, size=wl.vec3(1.5, 1.5, 0.25), position=wl.vec3(0.0, 8.0, 0.25),
            motion=physics.KINEMATIC, velocity=wl.vec3(0.2, 0.0, 0.1), spin=wl.vec3(0.05, 0.0, 0.7), friction=0.6,
        )  # fmt: skip
        for i in range(2):
            world.spawn(
                Block, shape=physics.BOX, size=wl.vec3(0.3, 0.3, 0.3), density=100.0, motion=physics.DYNAMIC,
                position=wl.vec3(0.61 * float(i), 8.0, 0.82), friction=0.4,
            )  # fmt: skip
        for i in range(2):  # doors of a static and of a kinematic post
            post = world.spawn(
                Block, shape=physics.BOX, size=wl.vec3(0.2, 0.2, 0.2), position=wl.vec3(8.0, 3.0 * float(i), 1.5),
                motion=physics.KINEMATIC if i == 1 else physics.STATIC, spin=wl.vec3(0.0, 0.0, 0.4 * float(i)),
            )  # fmt: skip
            leaf = world.spawn(
                Block, shape=physics.BOX, size=wl.vec3(0.1, 0.4, 0.1), position=wl.vec3(8.0, 3.0 * float(i) + 0.7, 1.5),
                density=100.0, motion=physics.DYNAMIC,
            )  # fmt: skip
            world.spawn(
                solid.Joint, a=leaf if i == 1 else post, b=post if i == 1 else leaf, kind=physics.BALL,
                anchor_a=wl.vec3(0.0, -0.45 if i == 1 else 0.25, 0.0),
                anchor_b=wl.vec3(0.0, 0.25 if i == 1 else -0.45, 0.0),
            )  # fmt: skip

    return wl.Definition(
        f"Shop-{mapping}",
        Shop,
        {Block: wl.UpTo(SMALL + 16), **solid.entities(pairs=96, contacts=96, joints=4)},
        reset=(build,),
        step=tuple(solid.step),
    )


@pytest.fixture(scope="module")
def simulations() -> dict[str, wl.Simulation]:
    """Both solvers, after 12 steps, before bodies fall asleep.

    The first world has too many colours, the second 3 substeps, the third no gravity, the fourth 2 sweeps.
    """
    config = {
        "substeps": np.array([4, 3, 4, 4, 4], np.int32),
        "gravity": np.array([[0.0, 0.0, -9.8]] * 2 + [[0.0, 0.0, 0.0]] + [[0.0, 0.0, -9.8]] * 2, np.float32),
        "sweeps": np.array([1, 1, 1, 2, 1], np.int32),
        "crowded": np.array([True, False, False, False, False]),
    }
    made = {m: wl.Simulation(shop(m), WORLDS, "cpu", seed=4, config=config) for m in ("worlds", "colours")}
    for simulation in made.values():
        for _ in range(12):
            simulation.step()
    return made


def test_both_solvers_give_the_same_bits(simulations: dict[str, wl.Simulation]) -> None:
    worlds, colours = simulations["worlds"], simulations["colours"]
    assert not worlds.errors() and not colours.errors()
    for table, names in COLUMNS.items():
        for name in names:
            one, other = (sim[table].rows(name).numpy() for sim in (worlds, colours))
            assert one.tobytes() == other.tobytes(), f"{table}.{name}"


def test_every_way_was_taken(simulations: dict[str, wl.Simulation]) -> None:
    """Contacts of all colours up to the eighth, and worlds that are left to the solver over worlds."""
    colours = simulations["colours"]
    assert colours.world.by_colour.numpy().tolist() == [False, False, False, False, True]
    assert not simulations["worlds"].world.by_colour.numpy().any()
    assert colours.world.contact_colours.numpy()[0] > COLOURS > colours.world.contact_colours.numpy()[4] > 6
    batches = colours["Contact"].rows("batch").numpy()
    assert set(range(7)) <= set(batches.tolist()) and -1 in batches
    contact = {name: colours["Contact"].rows(name).numpy() for name in ("a_id", "b_id", "batch")}
    lone = contact["batch"] == LONE
    first = SMALL + 2  # of the three bodies with one contact
    assert set(contact["b_id"][lone]) >= {first} and set(contact["a_id"][lone]) >= {first + 1, first + 2}


def test_the_interpreter_agrees(simulations: dict[str, wl.Simulation]) -> None:
    compiled, interpreted = (
        wl.Simulation(shop("colours"), 1, device, seed=4, config={"crowded": False}) for device in ("cpu", "python")
    )
    for _ in range(2):
        compiled.step()
        interpreted.step()
    for name in COLUMNS["Block"]:
        assert np.array_equal(compiled[Block].rows(name).numpy(), interpreted[Block].rows(name).numpy()), name


def test_motions_change_and_bodies_fall_asleep(simulations: dict[str, wl.Simulation]) -> None:
    """The last test of this file, since it steps both simulations on."""
    sims = list(simulations.values())
    large, boxes = 1, slice(SMALL + 10, SMALL + 12)  # the large box, and those on the kinematic body
    for step in range(60):
        for sim in sims:
            motion = sim[Block].motion.torch()
            if step in (4, 9):
                motion[:, boxes] = physics.KINEMATIC if step == 4 else physics.DYNAMIC
            if step in (6, 12):
                motion[:, large] = physics.STATIC if step == 6 else physics.DYNAMIC
            sim.step()
        assert not any(sim.errors() for sim in sims)
        test_both_solvers_give_the_same_bits(simulations)
    assert not sims[0][Block].awake.numpy()[0, large + 1 : large + 3].all()
