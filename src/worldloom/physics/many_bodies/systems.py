"""The systems of physics for one world of many bodies."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.core.base.errors import misuse
from worldloom.physics.broad_phase import prepare_system
from worldloom.physics.many_bodies.components import ManyBody
from worldloom.physics.many_bodies.contacts import contact_systems
from worldloom.physics.many_bodies.pairs import pair_systems
from worldloom.physics.many_bodies.sleeping import sleep_systems
from worldloom.physics.many_bodies.solve import many_body_solver


def many_body_systems(
    World: type, Body: type, Contact: type, Joint: type, shapes: Iterable[int], substeps: int, sweeps: int
) -> tuple[list[Any], list[Any]]:
    """Systems that find contacts, and those that solve them, in order."""
    if not issubclass(Body, ManyBody):
        raise misuse(
            f"bodies of mapping='many_bodies' derive from physics.ManyBody, and {Body.__name__} does not",
            f"write 'class {Body.__name__}(physics.ManyBody)'",
        )
    if substeps < 1 or sweeps < 1:
        raise misuse(
            f"substeps and sweeps are at least 1, not {substeps} and {sweeps}",
            "give physics.systems larger numbers, or leave them out",
        )

    @wl.system
    def reject_joints(joint: Joint, world: World):
        world.fail("joint {value}: mapping='many_bodies' of physics.systems has no joints", joint.id)

    prepare = prepare_system(World, Body, shapes)
    detection = [prepare, *pair_systems(World, Body), *contact_systems(World, Body, Contact, shapes)]
    before, after = sleep_systems(World, Body, Contact)
    solver = many_body_solver(World, Body, Contact, substeps, sweeps)
    return detection, [reject_joints, *before, *solver, *after]
