"""Worlds that name the shapes of their bodies: the same contacts of boxes, and a fault for other shapes."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom import physics


class Crate(physics.Body):
    pass


class Depot(physics.World):
    other: wl.Config = physics.BOX  # shape of the second body


@wl.system
def unload(world: Depot):
    world.spawn(Crate, shape=physics.PLANE, motion=physics.STATIC)
    world.spawn(Crate, size=wl.vec3(0.5, 0.5, 0.5), position=wl.vec3(0.0, 0.0, 0.49))
    world.spawn(Crate, shape=world.other, size=wl.vec3(0.4, 0.4, 0.4), position=wl.vec3(0.1, 0.2, 1.37))


def depot(*shapes: int) -> wl.Definition:
    solid = physics.systems(Depot, Crate, *([shapes] if shapes else []))
    kinds = {Crate: wl.UpTo(3), **solid.entities(pairs=3, contacts=3)}
    return wl.Definition(f"Depot{len(shapes)}-test", Depot, kinds, reset=(unload,), step=tuple(solid.step))


BOXES = depot(physics.PLANE, physics.BOX)


def test_contacts_of_boxes_are_those_of_all_shapes() -> None:
    few, all = (wl.Simulation(definition, 1, "python", seed=0) for definition in (BOXES, depot()))
    for _ in range(3):
        few.step()
        all.step()
    assert few["Contact"].counts.numpy().tolist() == [2]
    for name in ("normal", "a_anchors", "impulses"):
        np.testing.assert_array_equal(few["Contact"].rows(name), all["Contact"].rows(name))


def test_a_body_of_another_shape_is_a_fault() -> None:
    sim = wl.Simulation(BOXES, 1, "python", seed=0, config={"other": physics.SPHERE})
    sim.step()
    assert "shape 1, which physics.systems(shapes=...) of this world lacks" in str(sim.errors()[0])
