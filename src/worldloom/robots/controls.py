# Annotations are evaluated: systems refer to classes that are parameters.
"""The controls of a robot that a policy drives."""

from worldloom.core.frontend.system import System, system
from worldloom.core.model.entity import Entity
from worldloom.robots.model import Model


def drive_system(kind: type[Entity], model: Model) -> System:
    """Copies ``action``, one number per actuator, to the controls."""
    nu = model.nu

    @system
    def drive(robot: kind) -> None:
        for i in range(nu):
            robot.ctrl[i] = robot.action[i]

    return drive
