"""The speed of a row of falling dominoes in MuJoCo, whose contacts are another model: the reference of a scenario.

python benchmarks/physics_lab/mujoco_dominoes.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import mujoco
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from physics_lab.stacks import DOMINO_FRICTION, dominoes, front_speed
from physics_lab.world import Motion


def model(step: float) -> mujoco.MjModel:
    """The dominoes of the scenario, with stiff contacts."""

    def text(values: Iterable[float]) -> str:
        return " ".join(map(str, values))

    bodies = "".join(
        f'<body pos="{text(stone.position)}" quat="{stone.rotation[3]} {text(stone.rotation[:3])}">'
        f'<freejoint/><geom type="box" size="{text(stone.size)}" mass="1"/></body>'
        for stone in dominoes().bodies[1:]
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" gravity="0 0 -9.8" cone="elliptic" impratio="10"/>'
        f'<default><geom friction="{DOMINO_FRICTION} 0 0" condim="3" solref="{max(0.002, 2 * step)} 1"/></default>'
        f'<worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody></mujoco>'
    )


def mujoco_front_speed(step: float = 1e-4, seconds: float = 2.0) -> float:
    """Speed of the front, m/s, measured as in the scenario."""
    mj_model = model(step)
    data = mujoco.MjData(mj_model)
    poses = []
    for _ in range(round(seconds / step) + 1):
        poses.append(data.qpos.reshape(-1, 7).copy())
        mujoco.mj_step(mj_model, data)
    frames = np.array(poses)[:, [0, *range(len(poses[0]))]]  # the floor comes first in the scenario
    empty = np.zeros((*frames.shape[:2], 3))
    rotation = frames[..., [4, 5, 6, 3]]
    return front_speed([Motion(step, frames[..., :3], rotation, empty, empty, np.zeros(0), np.zeros(0))])


if __name__ == "__main__":
    print(f"{mujoco_front_speed():.3f} m/s")
