"""Models with several robots in one world."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from worldloom.envs.locomotion.terrain import Terrain
from worldloom.robots import Model
from worldloom.robots.model import import_mujoco

FOLDER = Path(__file__).parent
OBSTACLE = "obstacle"
"""Names of obstacles begin with this."""


def load_team(file: str, agents: int, spacing: float, terrain: Terrain | None = None) -> Model:
    """A model of this folder with ``agents`` robots on a square grid, ``spacing`` metres apart, that may collide.

    The numbers of robot k follow those of robot k - 1 in every array of the state, the controls and the sensors. With
    ``terrain`` there are obstacles on the ground.
    """
    if agents == 1 and terrain is None:
        return Model(FOLDER / file, trusted=True)
    return Model(team_spec(file, agents, spacing, terrain))


def team_spec(file: str, agents: int, spacing: float, terrain: Terrain | None = None) -> Any:
    """The specification of that model, an ``MjSpec``."""
    mujoco = import_mujoco()
    team: Any = mujoco.MjSpec.from_file(str(FOLDER / file))
    side = math.ceil(math.sqrt(agents))
    for k in range(1, agents):
        robot = mujoco.MjSpec.from_file(str(FOLDER / file))
        for part in (*robot.worldbody.geoms, *robot.worldbody.lights, *robot.keys):
            robot.delete(part)
        frame = team.worldbody.add_frame(pos=[spacing * (k % side), spacing * (k // side), 0.0])
        team.attach(robot, prefix=f"robot{k}_", frame=frame)
    if terrain is not None:
        _add_obstacles(team, terrain)
    return team


def _add_obstacles(spec: Any, terrain: Terrain) -> None:
    """Boxes rather than a height field, whose contacts MuJoCo Warp limits to four per geom and MuJoCo does not."""
    import mujoco

    for k, (center, sides, angle, height) in enumerate(terrain.obstacles):
        spec.worldbody.add_geom(
            name=f"{OBSTACLE}{k}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[*center, height / 2],
            quat=[math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)],
            size=[sides[0] / 2, sides[1] / 2, height / 2],
            condim=3,
        )
