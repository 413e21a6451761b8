# Annotations are evaluated: systems refer to classes that are parameters.
"""The terrain of the quadruped's escape: a bowl with random bumps, drawn for each episode."""

from typing import Any

import numpy as np

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.robots import Model

BUMP_SIZE = 2.0
"""Metres per bump."""
SMOOTHNESS = 0.15
"""The lowest bump, relative to the highest."""
FLAT_RADIUS = 0.04
"""Radius of the flat centre, relative to the terrain's."""


def num_bumps(model: Model) -> int:
    """Bumps along each side of the terrain."""
    return int(2.0 * model.mj_model.hfield_size[0, 0] / BUMP_SIZE)


def terrain_of(model: Model) -> type[Components]:
    """The components of a robot with its own terrain: the heights, the bumps, and the bumps spread along one axis."""
    count = num_bumps(model)

    class Terrain(model.State):
        hfield_data: model.hfield_data
        bumps: wl.Array(wl.float64, count, count)
        ridges: wl.Array(wl.float64, int(model.mj_model.hfield_nrow[0]), count)

    return Terrain


def terrain_world(model: Model) -> type[wl.World]:
    """A world with the shape of the bowl, and the weights that spread bumps over the grid."""
    size = int(model.mj_model.hfield_nrow[0])
    if size != model.mj_model.hfield_ncol[0] or model.nhfielddata != size * size:
        raise InputError("the terrain of the quadruped is one square height field: use dm_control's model")

    class TerrainWorld(wl.World):
        bowl: wl.Config = _bowl(size)
        weights: wl.Config = _zoom_weights(size, num_bumps(model))

    return TerrainWorld


def terrain_systems(kind: type[wl.Entity], world: type[wl.World], model: Model) -> list[System]:
    """Systems that draw ``bumps``, and write the terrain to ``hfield_data``."""
    size, bumps = int(model.mj_model.hfield_nrow[0]), num_bumps(model)

    @wl.system
    def draw_bumps(robot: kind, state: world):
        for i in range(bumps):
            for j in range(bumps):
                robot.bumps[i, j] = state.random(SMOOTHNESS, 1.0)

    @wl.system
    def spread_rows(robot: kind, state: world):
        for row in range(size):
            for j in range(bumps):
                sum = wl.float64(0.0)
                for i in range(bumps):
                    sum += state.weights[row, i] * robot.bumps[i, j]
                robot.ridges[row, j] = sum

    @wl.system
    def shape_terrain(robot: kind, state: world):
        for row in range(size):
            for column in range(size):
                sum = wl.float64(0.0)
                for j in range(bumps):
                    sum += state.weights[column, j] * robot.ridges[row, j]
                robot.hfield_data[size * row + column] = float(state.bowl[row, column] * sum)

    return [draw_bumps, spread_rows, shape_terrain]


def _bowl(size: int) -> Any:
    """The height of the bowl without bumps, shape (size, size)."""
    axis = np.linspace(-1.0, 1.0, size)
    radius = np.clip(np.hypot(axis[:, None], axis[None, :]), FLAT_RADIUS, 1.0)
    return 0.5 - np.cos(2.0 * np.pi * radius) / 2.0


def _zoom_weights(size: int, bumps: int) -> Any:
    """The matrix of SciPy's cubic ``zoom`` from ``bumps`` to ``size`` points, shape (size, bumps)."""
    try:
        from scipy import ndimage
    except ImportError:
        raise InputError("the terrain needs SciPy: pip install scipy") from None
    return np.stack([ndimage.zoom(unit, size / bumps) for unit in np.eye(bumps)], axis=1)
