# Annotations are evaluated: systems refer to classes that are local to a function.
"""Systems on the state of a robot: noise at the start of episodes, the effort of its motors, and observations."""

from collections.abc import Sequence

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.robots import Model

VELOCITY_BOUND = 10.0
"""Bound of observed velocities and constraint forces, in tasks that clip them."""


def effort_system(kind: type[wl.Entity], model: Model) -> System:
    """Computes ``effort``, the sum of the squared controls."""
    nu = model.nu

    @wl.system
    def measure_effort(robot: kind):
        robot.effort = 0.0
        for i in range(nu):
            robot.effort += robot.ctrl[i] * robot.ctrl[i]

    return measure_effort


def add_noise_systems(
    kind: type[wl.Entity], world: type[wl.World], model: Model, normal_velocity: bool
) -> Sequence[System]:
    """Adds uniform noise of ``world.reset_noise_scale`` to the positions, and uniform or normal noise to velocities."""
    nq, nv = model.nq, model.nv

    @wl.system
    def add_position_noise(robot: kind, state: world):
        for i in range(nq):
            robot.qpos[i] += state.reset_noise_scale * (2.0 * state.random() - 1.0)

    @wl.system
    def add_uniform_velocity(robot: kind, state: world):
        for i in range(nv):
            robot.qvel[i] += state.reset_noise_scale * (2.0 * state.random() - 1.0)

    @wl.system
    def add_normal_velocity(robot: kind, state: world):
        for i in range(nv):
            robot.qvel[i] += state.reset_noise_scale * state.normal()

    return add_position_noise, add_normal_velocity if normal_velocity else add_uniform_velocity


def observe_state_system(kind: type[wl.Entity], model: Model, skipped: int, bound: float = 0.0) -> System:
    """Writes positions without the first ``skipped``, then velocities, clipped to ``bound`` where it is not 0."""
    nq, nv = model.nq, model.nv
    first = nq - skipped

    @wl.system
    def observe_state(robot: kind):
        for i in range(skipped, nq):
            robot.observation[i - skipped] = robot.qpos[i]
        for i in range(nv):
            robot.observation[first + i] = robot.qvel[i]

    @wl.system
    def observe_clipped_state(robot: kind):
        for i in range(skipped, nq):
            robot.observation[i - skipped] = robot.qpos[i]
        for i in range(nv):
            robot.observation[first + i] = min(max(robot.qvel[i], -bound), bound)

    return observe_clipped_state if bound else observe_state
