"""Pairs of geoms that MuJoCo Warp's broad phase passes on: those whose bounding spheres and boxes touch."""

from __future__ import annotations

from typing import Any

import numpy as np


class CandidatePairs:
    """The pairs of geoms of a model that may collide.

    Args:
        mujoco: The module.
        model: An ``MjModel``.
    """

    def __init__(self, mujoco: Any, model: Any) -> None:
        first, second = np.triu_indices(model.ngeom, 1)
        welded = model.body_weldid[model.geom_bodyid]
        parent = model.body_weldid[model.body_parentid[welded]]
        one, other = welded[first], welded[second]
        related = (one != 0) & (other != 0) & ((parent[first] == other) | (parent[second] == one))
        types, affinities = model.geom_contype, model.geom_conaffinity
        allowed = (types[first] & affinities[second]) | (types[second] & affinities[first])
        enabled = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
        kept = (one != other) & ~related & (allowed != 0) & enabled
        first, second = first[kept], second[kept]
        plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        swapped = plane[second]
        self.first, self.second = np.where(swapped, second, first), np.where(swapped, first, second)
        self.plane = plane[self.first]
        margin = np.maximum(model.geom_margin[self.first], model.geom_margin[self.second])
        self.margin, self.centers, self.sizes = margin, model.geom_aabb[:, :3], model.geom_aabb[:, 3:]
        self.reach = np.where(self.plane, 0.0, model.geom_rbound[self.first]) + model.geom_rbound[self.second] + margin

    def touching(self, data: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which pairs touch by their bounding spheres and boxes in the state of an ``MjData``."""
        between = data.geom_xpos[self.second] - data.geom_xpos[self.first]
        normals = data.geom_xmat[self.first][:, 2::3]
        distance = np.where(self.plane, (between * normals).sum(axis=1), np.linalg.norm(between, axis=1))
        touching: np.ndarray[Any, np.dtype[np.bool_]] = distance <= self.reach
        tested = np.nonzero(touching & ~self.plane)[0]
        touching[tested] = self._boxes_touch(data, tested)
        return touching

    def _boxes_touch(self, data: Any, pairs: Any) -> Any:
        """Whether the oriented boxes of ``pairs``, indices, overlap along the normals of all of their faces."""
        frame = data.geom_xmat.reshape(-1, 3, 3)  # the columns are the normals
        centers = data.geom_xpos + np.einsum("gij,gj->gi", frame, self.centers)
        first, second = self.first[pairs], self.second[pairs]
        between = centers[second] - centers[first]
        touching = np.ones(len(pairs), dtype=bool)
        for normals in (frame[first], frame[second]):
            extent = self.margin[pairs][:, None] + sum(
                np.abs(np.einsum("pki,pkj->pij", normals, frame[side]) * self.sizes[side][:, None]).sum(axis=2)
                for side in (first, second)
            )
            touching &= (np.abs(np.einsum("pki,pk->pi", normals, between)) <= extent).all(axis=1)
        return touching
