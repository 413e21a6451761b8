# Annotations are evaluated: systems refer to a class that is a parameter.
"""Systems of placements: their seeds, and faults of worlds where no placement was found."""

from worldloom.core.frontend.system import System, system
from worldloom.core.model.entity import Components, World

_SEEDS = 2**31 - 1


class PlacementState(Components):
    """The components that an entity with a :class:`Placement` has."""

    placement_seed: int
    placed: bool


def seed_system(kind: type[Components]) -> System:
    """A system that draws the seed of a placement."""

    @system
    def seed_placement(robot: kind, world: World) -> None:
        robot.placement_seed = world.integer(_SEEDS)

    return seed_placement


def report_system(kind: type[Components]) -> System:
    """A system that makes a failed placement a fault of its world."""

    @system
    def report_placement(robot: kind, world: World) -> None:
        if not robot.placed:
            world.fail("no positions without contacts were found: the joint ranges of the model leave too little room")

    return report_placement
