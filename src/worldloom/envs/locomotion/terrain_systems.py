# Annotations are evaluated: systems refer to classes that are arguments of a function.
"""Systems of robots on terrain: the ground below them, and their height maps."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.locomotion.robot import Robot
from worldloom.envs.locomotion.terrain import Terrain

MAP = (15, 11)
"""Points of a height map, ahead and sideways."""
REACH = (2.5, 1.5)
"""Distance of its outermost points, in metres."""
DENSITY = 1.5
"""Points lie at this power of their number: they are denser near the robot."""


@wl.function
def raster_index(place: wl.float64, half_size: wl.float64, cell: wl.float64, cells: int) -> int:
    """The nearest index of a raster."""
    return wl.clamp(int((place + half_size) / cell + 0.5), 0, cells - 1)


def measure_ground(kind: type[wl.Entity], world: type[wl.World], robot: Robot, terrain: Terrain) -> System:
    """The height of the ground below each torso."""
    positions, cells = robot.positions, terrain.cells
    half_size, cell = wl.float64(terrain.half_size), wl.float64(terrain.cell)

    @wl.system
    def measure_ground_of(runner: kind, ground: world):
        column = raster_index(ground.qpos[positions * runner.id], half_size, cell, cells)
        row = raster_index(ground.qpos[positions * runner.id + 1], half_size, cell, cells)
        runner.ground_height = ground.heights[row, column]

    return measure_ground_of


def scan_heights(kind: type[wl.Entity], world: type[wl.World], robot: Robot, terrain: Terrain) -> System:
    """The height of the ground around each torso relative to it, on a grid that turns with the robot.

    It comes after the system ``orient``.
    """
    positions, cells, (rows, columns) = robot.positions, terrain.cells, MAP
    half_size, cell = wl.float64(terrain.half_size), wl.float64(terrain.cell)
    reach_ahead, reach_aside, density = wl.float64(REACH[0]), wl.float64(REACH[1]), wl.float64(DENSITY)

    @wl.system
    def scan_heights_of(runner: kind, ground: world):
        first = positions * runner.id
        cosine, sine = wl.cos(runner.yaw), wl.sin(runner.yaw)
        for i in range(rows):
            u = wl.float64(2 * i) / (rows - 1) - 1.0
            ahead = reach_ahead * wl.sign(u) * wl.abs(u) ** density
            for j in range(columns):
                v = wl.float64(2 * j) / (columns - 1) - 1.0
                aside = reach_aside * wl.sign(v) * wl.abs(v) ** density
                column = raster_index(ground.qpos[first] + ahead * cosine - aside * sine, half_size, cell, cells)
                row = raster_index(ground.qpos[first + 1] + ahead * sine + aside * cosine, half_size, cell, cells)
                runner.height_map[i, j] = ground.heights[row, column] - ground.qpos[first + 2]

    return scan_heights_of
