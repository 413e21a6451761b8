"""The systems of physics, built for the classes of a world."""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics import bodies
from worldloom.physics.broad_phase import broad_phase_systems
from worldloom.physics.narrow_phase import narrow_phase_systems
from worldloom.physics.substeps import solver_systems


@dataclass(frozen=True)
class PhysicsSystems:
    """Systems and kinds of entities that physics adds to a world.

    Attributes:
        step: systems of a step; those before them set forces, those after them read positions and contacts.
        contact: kind of the contacts, with references ``a`` and ``b`` to their bodies.
        detection: the systems of ``step`` that find contacts.
    """

    step: list[Any]
    contact: type
    detection: list[Any]

    def entities(self, pairs: int, contacts: int, overflow: str = "error") -> dict[type, Any]:
        """The kinds of entities to register, with their capacity per world and overflow policy."""
        return {
            bodies.Pair: wl.UpTo(pairs, overflow=overflow),
            self.contact: wl.UpTo(contacts, overflow=overflow),
        }


def systems(world: type, body: type) -> PhysicsSystems:
    """The systems of physics for a world class and the kind of its bodies."""

    class Contact(wl.Entity, bodies.ContactState):
        a: wl.Ref(body)
        b: wl.Ref(body)

    detection = [*broad_phase_systems(world, body), *narrow_phase_systems(world, body, Contact)]
    return PhysicsSystems([*detection, *solver_systems(world, body, Contact)], Contact, detection)
