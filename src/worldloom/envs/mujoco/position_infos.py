# Annotations are evaluated: systems refer to classes that are local to a function.
"""The position of a robot as infos. The first numbers of ``qpos`` are its coordinates."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.robots import Model


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
