"""The systems of physics, built for the classes of a world."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics import bodies
from worldloom.physics.broad_phase import broad_phase_systems
from worldloom.physics.joints.systems import joint_systems
from worldloom.physics.narrow_phase import narrow_phase_systems
from worldloom.physics.queries.world_queries import Queries, world_queries
from worldloom.physics.shapes import BOX, CAPSULE, HULL, PLANE, SPHERE, WEDGE
from worldloom.physics.substeps import solver_systems

ALL_SHAPES = (PLANE, SPHERE, CAPSULE, BOX, WEDGE, HULL)


@dataclass(frozen=True)
class PhysicsSystems(Queries):
    """Systems and kinds of entities that physics adds to a world.

    Attributes:
        step: systems of a step; those before them set forces, those after them read positions and contacts.
        Contact: kind of the contacts, with references ``a`` and ``b`` to their bodies.
        Joint: kind of the joints, with references ``a`` and ``b`` to their bodies.
        detection: the systems of ``step`` that find contacts.
    """

    step: list[Any]
    Contact: type
    Joint: type
    detection: list[Any]

    def entities(self, pairs: int, contacts: int, joints: int = 0, overflow: str = "error") -> dict[type, Any]:
        """The kinds of entities to register, with their capacity per world and overflow policy."""
        return {
            bodies.Pair: wl.UpTo(pairs, overflow=overflow),
            self.Contact: wl.UpTo(contacts, overflow=overflow),
            self.Joint: wl.UpTo(max(joints, 1), overflow=overflow),
        }


def systems(world: type, body: type, shapes: Iterable[int] = ALL_SHAPES) -> PhysicsSystems:
    """The systems of physics for a world class and the kind of its bodies.

    ``shapes`` are those that its bodies have; with planes and boxes alone, worlds compile faster.
    """

    class Contact(wl.Entity, bodies.ContactState):
        a: wl.Ref(body)
        b: wl.Ref(body)

    class Joint(wl.Entity, bodies.JointState):
        a: wl.Ref(body)
        b: wl.Ref(body)

    detection = [*broad_phase_systems(world, body), *narrow_phase_systems(world, body, Contact, shapes)]
    solver = [*joint_systems(world, body, Joint), *solver_systems(world, body, Contact, Joint)]
    queries = world_queries(world, body, Contact)
    return PhysicsSystems(
        **vars(queries), step=[*detection, *solver], Contact=Contact, Joint=Joint, detection=detection
    )
