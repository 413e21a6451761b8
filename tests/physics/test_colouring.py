"""The order of contacts: no two contacts of a colour have a dynamic body in common, and every contact appears once."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom import physics
from worldloom.physics.solving.colouring import MAX_SHARED_COLOURS

CUBES = 34


class Cube(physics.Body):
    pass


class Plate(physics.World):
    pass


SOLID = physics.systems(Plate, Cube, shapes=(physics.BOX,))


@wl.system
def lay(world: Plate):
    """Cubes on one dynamic plate, in touching pairs: each has a contact with the plate and with its neighbour."""
    world.spawn(Cube, size=wl.vec3(20.0, 20.0, 0.5))
    for i in range(CUBES - 1):
        place = wl.vec3(float(i % 6) + 0.5 * float((i % 6) // 2), 1.5 * float(i // 6), 0.99)
        world.spawn(Cube, position=place)


PLATE = wl.Definition(
    "Plate-test",
    Plate,
    {Cube: wl.UpTo(CUBES), **SOLID.entities(pairs=80, contacts=80)},
    reset=(lay,),
    step=tuple(SOLID.step),
)


def test_contacts_of_a_colour_are_independent() -> None:
    sim = wl.Simulation(PLATE, 1, "python", seed=0, config={"substeps": 1})
    sim.step()
    contact = {name: sim["Contact"].rows(name).numpy() for name in ("a_id", "b_id", "colour", "order", "colour_end")}
    colours, total = int(sim.world.contact_colours.numpy().ravel()[0]), len(contact["order"])
    assert total > CUBES and colours > MAX_SHARED_COLOURS  # the plate has more contacts than shared colours
    assert sorted(contact["order"]) == list(range(total))
    ends = contact["colour_end"][:colours]
    assert ends[-1] == total and (np.diff(ends) > 0).all()
    for first, end in zip([0, *ends], ends, strict=False):
        rows = contact["order"][first:end]
        bodies = [*contact["a_id"][rows], *contact["b_id"][rows]]
        assert len(bodies) == len(set(bodies))


def test_bodies_with_a_joint_have_no_contact_of_the_first_colour() -> None:
    """These are solved beside joints."""

    @wl.system
    def place(world: Plate):
        for i in range(3):
            world.spawn(Cube, position=wl.vec3(2.0 * float(i), 0.0, 0.99))
        world.spawn(Cube, size=wl.vec3(20.0, 20.0, 0.5), motion=physics.STATIC)

    @wl.system
    def join(world: Plate):
        a, b = world.at(Cube, 0), world.at(Cube, 1)
        world.spawn(SOLID.Joint, a=a.ref, b=b.ref, anchor_a=wl.vec3(2.0, 0.0, 0.0))

    entities = {Cube: wl.UpTo(4), **SOLID.entities(pairs=8, contacts=8, joints=1)}
    definition = wl.Definition("Joined-test", Plate, entities, reset=(place, join), step=tuple(SOLID.step))
    sim = wl.Simulation(definition, 1, "python", seed=0)
    sim.step()
    rows = {name: sim["Contact"].rows(name).numpy() for name in ("a_id", "b_id", "colour", "colour_end")}
    colours = {int(min(a, b)): int(c) for a, b, c in zip(rows["a_id"], rows["b_id"], rows["colour"], strict=True)}
    assert colours == {0: 1, 1: 1, 2: 0} and int(sim.world.contact_colours.numpy().ravel()[0]) == 2
    assert list(rows["colour_end"][:2]) == [1, 3] and sim.errors() == []
