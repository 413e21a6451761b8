# Annotations are evaluated: systems refer to classes that are local to a function.
"""Ready-made disturbances of a robot, as systems: random pushes, delayed controls and noisy controls."""

from typing import Any

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System, system
from worldloom.core.model.entity import Components, Entity, World
from worldloom.core.model.fields import Array
from worldloom.robots.model import Model


class Pushed(Components):
    """The component of :func:`push_system`."""

    push_in: int
    """Steps until the next push."""


def push_system(
    kind: type[Entity], body: int, min_force: float, max_force: float, min_steps: int, max_steps: int
) -> System:
    """Pushes a body in a random horizontal direction, for one step, at random times. It goes before physics.

    Args:
        kind: The robot, with the components ``xfrc_applied`` and those of :class:`Pushed`.
        body: Index of the body.
        min_force, max_force: Bounds of the force, in newtons.
        min_steps, max_steps: Bounds of the steps between two pushes.
    """
    _require(kind, "push_system", "xfrc_applied", "push_in")
    if not 1 <= min_steps <= max_steps:
        raise InputError(f"pushes come every 1 step or more, not every {min_steps} to {max_steps}")
    choices = max_steps - min_steps + 1

    @system
    def push(robot: kind, world: World) -> None:
        robot.xfrc_applied[body, 0] = 0.0
        robot.xfrc_applied[body, 1] = 0.0
        if robot.push_in == 0:
            robot.push_in = min_steps + world.integer(choices)
        robot.push_in -= 1
        if robot.push_in == 0:
            angle = world.random(0.0, 6.283185307179586)
            force = world.random(min_force, max_force)
            robot.xfrc_applied[body, 0] = force * wp.cos(angle)
            robot.xfrc_applied[body, 1] = force * wp.sin(angle)

    return push


def delayed(model: Model, steps: int) -> type[Components]:
    """The component of :func:`delay_system`: the controls of the last ``steps`` steps."""
    if steps < 1:
        raise InputError(f"controls are delayed by 1 step or more, not by {steps}")
    annotations: dict[str, Any] = {"past_controls": Array(wp.float64, steps, model.nu)}
    return type("Delayed", (Components,), {"__annotations__": annotations, "__module__": __name__})


def delay_system(kind: type[Entity]) -> System:
    """Delays ``ctrl`` by the steps of :func:`delayed`; controls are 0 until then. It goes between control and physics.

    Args:
        kind: The robot, with the components of :func:`delayed`.
    """
    _require(kind, "delay_system", "ctrl", "past_controls")
    steps, size = kind.fields["past_controls"].shape

    @system
    def delay(robot: kind) -> None:
        for i in range(size):
            control = robot.ctrl[i]
            robot.ctrl[i] = robot.past_controls[0, i]
            for k in range(steps - 1):
                robot.past_controls[k, i] = robot.past_controls[k + 1, i]
            robot.past_controls[steps - 1, i] = control

    return delay


def control_noise_system(kind: type[Entity], scale: float) -> System:
    """Adds normal noise of standard deviation ``scale`` to every control. It goes between control and physics."""
    _require(kind, "control_noise_system", "ctrl")
    (size,) = kind.fields["ctrl"].value_shape

    @system
    def add_control_noise(robot: kind, world: World) -> None:
        for i in range(size):
            robot.ctrl[i] += scale * world.normal()

    return add_control_noise


def _require(kind: type[Entity], what: str, *names: str) -> None:
    for name in names:
        if name not in kind.fields:
            raise InputError(f"{what} needs the component '{name}', which '{kind.__name__}' does not have")
