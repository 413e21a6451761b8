# Annotations are evaluated: the system refers to a class that is local to a function.
"""Faults of physics: MuJoCo's warnings as faults of their worlds."""

from worldloom.core.frontend.system import System, system
from worldloom.core.model.entity import Components, World

CONTACTS, CONSTRAINTS = 1 << 1, 1 << 2
POSITION, VELOCITY, ACCELERATION, CONTROL = 1 << 3, 1 << 4, 1 << 5, 1 << 6
"""Bits of ``physics_faults``, in the order of ``mjtWarning``."""
UNSTABLE = POSITION | VELOCITY | ACCELERATION
MEMORY_TEXT = "physics has too little memory for its contacts: raise 'memory' in <size> of the model"
"""What the systems below report; MuJoCo Warp has another memory, see :func:`warp_memory_text`."""


def warp_memory_text(contacts: int, constraints: int) -> str:
    """The fault of a world whose contacts or constraints exceed those that MuJoCo Warp has memory for, per world."""
    return (
        f"physics needs more than {contacts} contacts or {constraints} constraints: give robots.Physics larger sizes, "
        "measured by `worldloom robots size`"
    )


def fault_system(kind: type[Components]) -> System:
    """A system that makes the faults of the last step of physics faults of their world, which is then reset."""
    if issubclass(kind, World):

        @system
        def report_world(world: kind) -> None:
            if (world.physics_faults & UNSTABLE) != 0:
                world.fail("physics is unstable: a position, velocity or acceleration is NaN or huge")
            if (world.physics_faults & CONTROL) != 0:
                world.fail("a control is NaN or huge")
            if (world.physics_faults & (CONTACTS | CONSTRAINTS)) != 0:
                world.fail("physics has too little memory for its contacts: raise 'memory' in <size> of the model")

        return report_world

    @system
    def report_faults(robot: kind, world: World) -> None:
        if (robot.physics_faults & UNSTABLE) != 0:
            world.fail("physics is unstable: a position, velocity or acceleration is NaN or huge")
        if (robot.physics_faults & CONTROL) != 0:
            world.fail("a control is NaN or huge")
        if (robot.physics_faults & (CONTACTS | CONSTRAINTS)) != 0:
            world.fail("physics has too little memory for its contacts: raise 'memory' in <size> of the model")

    return report_faults
