"""Models with several robots in one world."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from worldloom.envs.locomotion.terrain import Terrain
from worldloom.robots import Model

FOLDER = Path(__file__).parent
BASE = 0.5
"""Thickness of the ground below a height field, in metres."""


def load_team(file: str, agents: int, spacing: float, terrain: Terrain | None = None) -> Model:
    """A model of this folder with ``agents`` robots on a square grid, ``spacing`` metres apart, that may collide.

    The numbers of robot k follow those of robot k - 1 in every array of the state, the controls and the sensors. With
    ``terrain`` the ground is a height field.
    """
    if agents == 1 and terrain is None:
        return Model(FOLDER / file)
    return Model(team_spec(file, agents, spacing, terrain))


def team_spec(file: str, agents: int, spacing: float, terrain: Terrain | None = None) -> Any:
    """The specification of that model, an ``MjSpec``."""
    import mujoco

    team: Any = mujoco.MjSpec.from_file(str(FOLDER / file))
    side = math.ceil(math.sqrt(agents))
    for k in range(1, agents):
        robot = mujoco.MjSpec.from_file(str(FOLDER / file))
        for part in (*robot.worldbody.geoms, *robot.worldbody.lights, *robot.keys):
            robot.delete(part)
        frame = team.worldbody.add_frame(pos=[spacing * (k % side), spacing * (k // side), 0.0])
        team.attach(robot, prefix=f"robot{k}_", frame=frame)
    if terrain is not None:
        _replace_ground(team, terrain)
    return team


def _replace_ground(spec: Any, terrain: Terrain) -> None:
    import mujoco

    heights = terrain.heights
    top = float(heights.max())
    spec.add_hfield(
        name="terrain",
        nrow=terrain.cells,
        ncol=terrain.cells,
        size=[terrain.half_size, terrain.half_size, top, BASE],
        userdata=(heights / top).astype(float).reshape(-1).tolist(),
    )
    ground = spec.geom("ground")
    ground.type, ground.hfieldname = mujoco.mjtGeom.mjGEOM_HFIELD, "terrain"
