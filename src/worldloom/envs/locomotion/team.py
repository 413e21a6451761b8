"""Models with several robots in one world."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from worldloom.robots import Model

FOLDER = Path(__file__).parent


def load_team(file: str, agents: int, spacing: float) -> Model:
    """A model of this folder with ``agents`` robots on a square grid, ``spacing`` metres apart, that may collide.

    The numbers of robot k follow those of robot k - 1 in every array of the state, the controls and the sensors.
    """
    if agents == 1:
        return Model(FOLDER / file)
    import mujoco

    team: Any = mujoco.MjSpec.from_file(str(FOLDER / file))
    side = math.ceil(math.sqrt(agents))
    for k in range(1, agents):
        robot = mujoco.MjSpec.from_file(str(FOLDER / file))
        for part in (*robot.worldbody.geoms, *robot.worldbody.lights, *robot.keys):
            robot.delete(part)
        frame = team.worldbody.add_frame(pos=[spacing * (k % side), spacing * (k // side), 0.0])
        team.attach(robot, prefix=f"robot{k}_", frame=frame)
    return Model(team)
