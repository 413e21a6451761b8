"""Corrections of the contacts that MuJoCo Warp finds, for its ``callback.contactfilter``."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from worldloom.robots.warp.cylinder_kernels import CYLINDER, refine_cylinders
from worldloom.robots.warp.ellipsoid_kernels import ELLIPSOID, refine_ellipsoids
from worldloom.robots.warp.engine_kernels import align_capsules


class ContactCorrections:
    """Contacts as MuJoCo has them: called between the detection of contacts and their constraints.

    Args:
        compiled: The ``MjModel``.
    """

    def __init__(self, compiled: Any) -> None:
        self.ellipsoids = bool(np.any(compiled.geom_type == ELLIPSOID))
        self.cylinders = bool(np.any(compiled.geom_type == CYLINDER))

    def __call__(self, model: Any, data: Any) -> None:
        """Correct the contacts of all worlds."""
        contact = data.contact
        found = [data.nacon, contact.geom, contact.worldid]
        inputs = [model.geom_type, data.geom_xmat, *found]
        wp.launch(align_capsules, dim=data.naconmax, inputs=inputs, outputs=[contact.frame], record_tape=False)
        inputs = [model.geom_type, model.geom_size, data.geom_xpos, data.geom_xmat, *found]
        outputs = [contact.dist, contact.pos, contact.frame]
        if self.cylinders:
            wp.launch(refine_cylinders, dim=data.naconmax, inputs=inputs, outputs=outputs, record_tape=False)
        if self.ellipsoids:
            wp.launch(refine_ellipsoids, dim=data.naconmax, inputs=inputs, outputs=outputs, record_tape=False)
