"""The systems of physics, built for the classes of a world."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import worldloom as wl
from worldloom.core.base.errors import misuse
from worldloom.physics import bodies
from worldloom.physics.broad_phase import broad_phase_system, prepare_system
from worldloom.physics.joints.systems import joint_systems
from worldloom.physics.many_bodies.components import FoundPair, LargeBody, SplitState
from worldloom.physics.many_bodies.systems import many_body_systems
from worldloom.physics.narrow_phase import narrow_phase_systems
from worldloom.physics.queries.world_queries import Queries, world_queries
from worldloom.physics.settings_check import settings_system
from worldloom.physics.shapes import BOX, CAPSULE, HULL, PLANE, SPHERE, WEDGE
from worldloom.physics.solving.arrangement import arrange_system
from worldloom.physics.solving.coloured import coloured_systems, release_system
from worldloom.physics.solving.energy_limit import energy_limits, energy_measures
from worldloom.physics.solving.sleeping import sides_system
from worldloom.physics.substeps import world_solver, world_solvers

ALL_SHAPES = (PLANE, SPHERE, CAPSULE, BOX, WEDGE, HULL)


Mapping = Literal["auto", "worlds", "colours", "many_bodies"]
COLOURS_FROM = 8192
"""Worlds of a GPU from which they are solved by colour, where it was not measured."""


class NoState(wl.Components):
    """Nothing in addition."""


@dataclass(frozen=True)
class PhysicsSystems(Queries):
    """Systems and kinds of entities that physics adds to a world.

    Attributes:
        step: systems of a step; those before them set forces, those after them read positions and contacts.
        Contact: kind of the contacts, with references ``a`` and ``b`` to their bodies.
        Joint: kind of the joints, with references ``a`` and ``b`` to their bodies.
        detection: the systems of ``step`` that find contacts.
        mapping: how the work is distributed, see :func:`systems`.
    """

    step: list[Any]
    Contact: type
    Joint: type
    detection: list[Any]
    mapping: Mapping = "worlds"

    def entities(
        self, pairs: int, contacts: int, joints: int = 0, overflow: str = "error", large: int = 64
    ) -> dict[type, Any]:
        """The kinds of entities to register, with their capacity per world and overflow policy.

        ``large`` is that of bodies beyond ``grid_reach``, with ``mapping="many_bodies"``.
        """
        kinds = {
            self.Contact: wl.UpTo(contacts, overflow=overflow),
            self.Joint: wl.UpTo(max(joints, 1), overflow=overflow),
        }
        if self.mapping == "many_bodies":
            found = {FoundPair: wl.UpTo(pairs, overflow=overflow), LargeBody: wl.UpTo(large, overflow=overflow)}
            return {**found, **kinds}
        return {bodies.Pair: wl.UpTo(pairs, overflow=overflow), **kinds}


def systems(
    world: type,
    body: type,
    shapes: Iterable[int] = ALL_SHAPES,
    mapping: Mapping = "auto",
    substeps: int = 4,
    sweeps: int = 4,
) -> PhysicsSystems:
    """The systems of physics for a world class and the kind of its bodies.

    Args:
        world: class of the world.
        body: kind of its bodies.
        shapes: those that its bodies have; with fewer of them, worlds compile faster.
        mapping: ``"worlds"`` solves each world in one thread, or in a few of a GPU, for batches of worlds of up to a
            few hundred bodies; ``"colours"`` takes 32 to 128 worlds at once through passes over contacts that have no
            body in common, each in a thread, for thousands of worlds on a GPU, with the same bits in exact mode;
            ``"auto"`` leaves the choice between these two to the simulation, see :class:`worldloom.Alternatives`;
            ``"many_bodies"`` solves every contact in a thread of its own, for a world of thousands of bodies.
        substeps: of a step, with ``mapping="many_bodies"``; that of the world's configuration must be the same.
        sweeps: over all contacts in each half of a substep, with ``mapping="many_bodies"``.
    """
    if mapping not in get_args(Mapping):
        raise misuse(f"mapping cannot be {mapping!r}", f"give one of {', '.join(map(repr, get_args(Mapping)))}")
    shapes = tuple(shapes)
    unknown = next((shape for shape in shapes if shape not in ALL_SHAPES), None)
    if unknown is not None:
        raise misuse(f"shapes has {unknown!r}, which is no shape", "give some of physics.PLANE to physics.HULL")
    for given, base in ((world, bodies.World), (body, bodies.Body)):
        if not (isinstance(given, type) and issubclass(given, base)):
            name = getattr(given, "__name__", repr(given))
            raise misuse(
                f"{name} is not derived from physics.{base.__name__}", f"write class {name}(physics.{base.__name__})"
            )
    extra = {"many_bodies": SplitState, "worlds": NoState}.get(mapping, bodies.PackedState)

    class Contact(wl.Entity, bodies.ContactState, extra):
        a: wl.Ref(body)
        b: wl.Ref(body)

    class Joint(wl.Entity, bodies.JointState):
        a: wl.Ref(body)
        b: wl.Ref(body)

    if mapping == "many_bodies":
        detection, solver = many_body_systems(world, body, Contact, Joint, shapes, substeps, sweeps)
    else:
        found = [prepare_system(world, body, shapes), broad_phase_system(world, body, Joint)]
        detection = [*found, *narrow_phase_systems(world, body, Contact, shapes)]
        solver = [
            sides_system(world, body, Contact, Joint),
            *energy_measures(world, body),
            *joint_systems(world, body, Joint),
            *_solvers(world, body, Contact, Joint, mapping),
            *energy_limits(world, body, Contact, Joint),
        ]
    detection = [settings_system(world), *detection]
    queries = world_queries(world, body, Contact)
    return PhysicsSystems(
        **vars(queries),
        step=[*detection, *solver],
        Contact=Contact,
        Joint=Joint,
        detection=detection,
        mapping=mapping,
    )


def _solvers(world: type, body: type, Contact: type, Joint: type, mapping: Mapping) -> list[Any]:
    """The systems that put contacts in order and solve them, or both options of them."""
    options = {
        "worlds": lambda: [
            arrange_system(world, body, Contact, Joint, False),
            *world_solvers(world, body, Contact, Joint),
        ],
        "colours": lambda: [
            arrange_system(world, body, Contact, Joint, True),
            *coloured_systems(world, body, Contact, Joint),
            world_solver(world, body, Contact, Joint),
            release_system(world, body),
        ],
    }
    if mapping != "auto":
        return options[mapping]()

    def mapping_for(cuda: bool, num_worlds: int) -> str:
        return "colours" if cuda and num_worlds >= COLOURS_FROM else "worlds"

    return [wl.Alternatives("solver", {name: make() for name, make in options.items()}, mapping_for)]
