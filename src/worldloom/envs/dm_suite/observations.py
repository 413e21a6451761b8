# Annotations are evaluated: systems refer to classes that are parameters.
"""Observations of joint positions and velocities."""

from typing import Any

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.robots import Model


def numbers(*shape: int) -> Any:
    """An observation of float64 numbers; one number without a shape."""
    return wl.Observation(*shape, dtype=wl.float64)


def observe_position_system(kind: type[wl.Entity], model: Model, skipped: int = 0) -> System:
    """Writes ``position``: the joint positions without the first ``skipped``."""
    nq = model.nq

    @wl.system
    def observe_position(robot: kind):
        for i in range(skipped, nq):
            robot.position[i - skipped] = robot.qpos[i]

    return observe_position


def observe_velocity_system(kind: type[wl.Entity], model: Model) -> System:
    """Writes ``velocity``: all joint velocities."""
    nv = model.nv

    @wl.system
    def observe_velocity(robot: kind):
        for i in range(nv):
            robot.velocity[i] = robot.qvel[i]

    return observe_velocity
