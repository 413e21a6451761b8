"""The camera of an image: one of the model, or a free one that follows the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.robots.model import Model

Camera = tuple[int, int, tuple[float, float, float], float]
"""A camera of the model by index, or -1 for a free one; the body that the free one follows, or -1; the point that it
shows otherwise; and its distance in metres."""
DISTANCE = 3.5
"""Distance of a free camera, in radii of the robot."""


def choose_camera(model: Model, name: str | int | None = None) -> Camera:
    """The camera of a name or index; by default the first of the model that tracks a body.

    Without one, a free camera follows the root, the body of the first free joint. A model without a free joint stays
    where it is: its first camera shows it, or a free camera that does not move.

    Raises:
        InputError: Where the model has no camera of that name.
    """
    mujoco, mj_model = model.mujoco, model.mj_model
    if name is not None:
        return _fixed(name if isinstance(name, int) else model.id("camera", name))
    for index, mode in enumerate(mj_model.cam_mode):
        if mode != mujoco.mjtCamLight.mjCAMLIGHT_FIXED:
            return _fixed(index)
    free = np.flatnonzero(mj_model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    if mj_model.ncam and not len(free):
        return _fixed(0)
    root = int(mj_model.jnt_bodyid[free[0]]) if len(free) else -1
    center, radius = _extent(mujoco, mj_model, root)
    return (-1, root, center, DISTANCE * radius)


def _fixed(index: int) -> Camera:
    return (index, -1, (0.0, 0.0, 0.0), 0.0)


def _extent(mujoco: Any, mj_model: Any, root: int) -> tuple[tuple[float, float, float], float]:
    """Centre and radius of the robot of ``root`` in the default pose; of all that moves where it is -1."""
    data = mujoco.MjData(mj_model)
    mujoco.mj_fwdPosition(mj_model, data)
    bodies = mj_model.geom_bodyid
    roots = mj_model.body_rootid[mj_model.jnt_bodyid] if root < 0 else [root]
    part = np.isin(mj_model.body_rootid[bodies], roots)
    if not part.any():
        return tuple(mj_model.stat.center.tolist()), float(mj_model.stat.extent)
    center = data.geom_xpos[part].mean(axis=0)
    distances = np.linalg.norm(data.geom_xpos[part] - center, axis=1)
    return tuple(center.tolist()), float((distances + mj_model.geom_rbound[part]).max())
