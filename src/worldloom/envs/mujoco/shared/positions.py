# Annotations are evaluated: systems refer to classes that are local to a function.
"""Positions and velocities of robots: components, infos and the reward for forward velocity.

The first numbers of ``qpos`` are the coordinates of a robot.
"""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.robots import Model


class Runner(Components):
    """A robot that moves along the x axis. Positions are in m, velocities in m/s."""

    x_before: wl.float64
    x_position: wl.Info(wl.float64)
    x_velocity: wl.Info(wl.float64)


class PlaneInfos(Components):
    """Position and velocity of a robot that moves in the plane, as infos, in m and m/s."""

    x_position: wl.Info(wl.float64)
    y_position: wl.Info(wl.float64)
    distance_from_origin: wl.Info(wl.float64)
    x_velocity: wl.Info(wl.float64)
    y_velocity: wl.Info(wl.float64)


class ForwardInfos(Components):
    """The terms of the reward of a robot that only moves forward, as infos."""

    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)


def remember_x_system(kind: type[wl.Entity]) -> System:
    """Stores the x coordinate, for before the physics of a step."""

    @wl.system
    def remember_x(runner: kind):
        runner.x_before = runner.qpos[0]

    return remember_x


def forward_reward_system(kind: type[wl.Entity], world: type[wl.World], seconds: wl.float64) -> System:
    """Computes the x velocity, in m/s, the reward for it and the cost of the controls."""

    @wl.system
    def forward_reward(runner: kind, state: world):
        runner.x_velocity = (runner.qpos[0] - runner.x_before) / seconds
        runner.reward_forward = state.forward_reward_weight * runner.x_velocity
        runner.reward_ctrl = -state.ctrl_cost_weight * runner.effort

    return forward_reward


def report_x_system(kind: type[wl.Entity]) -> System:
    """Writes the info ``x_position``, in m."""

    @wl.system
    def report_x(robot: kind):
        robot.x_position = robot.qpos[0]

    return report_x


def report_position_system(kind: type[wl.Entity]) -> System:
    """Writes the infos ``x_position``, ``y_position`` and ``distance_from_origin``, in m."""

    @wl.system
    def report_position(robot: kind):
        robot.x_position = robot.qpos[0]
        robot.y_position = robot.qpos[1]
        robot.distance_from_origin = wl.sqrt(robot.qpos[0] * robot.qpos[0] + robot.qpos[1] * robot.qpos[1])

    return report_position


def report_height_system(kind: type[wl.Entity], model: Model, index: int) -> System:
    """Writes the info ``z_distance_from_origin``: ``qpos[index]``, the height, above its initial value, in m."""
    initial = wl.float64(model.initial("qpos")[index])

    @wl.system
    def report_height(robot: kind):
        robot.z_distance_from_origin = robot.qpos[index] - initial

    return report_height
