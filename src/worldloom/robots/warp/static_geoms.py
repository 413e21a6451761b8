"""Poses that MuJoCo Warp computes only once, where a column has their memory or a parameter per world moves them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import warp as wp

from worldloom.robots.warp.static_geom_kernels import place_static_geoms, set_world_frame

_DEPEND = ("body_pos", "body_quat", "geom_pos", "geom_xpos", "geom_xmat")


class StaticPoses:
    """The frame of the world and the poses of geoms that do not move with a joint.

    Args:
        compiled: The ``MjModel``.
        columns: The names of the world's columns.
        device: The device.
    """

    def __init__(self, compiled: Any, columns: Collection[str], device: wp.Device) -> None:
        self.frame = "xquat" in columns
        bodies = compiled.geom_bodyid
        fixed = (compiled.body_weldid[bodies] == 0) & (compiled.body_mocapid[compiled.body_rootid[bodies]] == -1)
        moving = any(name in columns for name in _DEPEND)
        geoms = np.nonzero(fixed)[0] if moving else np.zeros(0)
        self.geoms = wp.array(geoms, dtype=wp.int32, device=device)

    def write(self, model: Any, data: Any) -> None:
        """Write them to ``data`` of MuJoCo Warp for all worlds, before it computes other poses."""
        if self.frame:
            wp.launch(set_world_frame, dim=data.nworld, inputs=[data.xquat], record_tape=False)
        if self.geoms.size:
            bodies = [model.geom_bodyid, model.body_parentid]
            inputs = [self.geoms, *bodies, model.geom_pos, model.geom_quat, model.body_pos, model.body_quat]
            dim, outputs = (data.nworld, self.geoms.size), [data.geom_xpos, data.geom_xmat]
            wp.launch(place_static_geoms, dim=dim, inputs=inputs, outputs=outputs, record_tape=False)
