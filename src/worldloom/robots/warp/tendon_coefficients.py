"""Coefficients of fixed tendons per world with MuJoCo Warp, whose ``wrap_prm`` is the same in all worlds.

Each forward pass corrects the moments of actuators that pull at tendons, before it computes their forces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.robots.model import Model
from worldloom.robots.warp.tendon_kernels import scale_moments

_LENGTHS = ("ten_length", "ten_velocity", "actuator_length", "actuator_velocity")


class TendonCoefficients:
    """The actuators of tendons whose coefficients are a column; for ``callback.control`` of MuJoCo Warp.

    Args:
        model: The model. Actuators alone act on its tendons, which are fixed.
        columns: The columns of the world by the name of their array.
        wrap_prm: Coefficients, shape (num_worlds, nwrap).
    """

    def __init__(self, model: Model, columns: Any, wrap_prm: wp.array) -> None:
        mujoco, compiled = model.mujoco, model.mj_model
        forces = ("stiffness", "damping", "limited", "frictionloss", "armature", "actfrclimited")
        acting = any(np.any(getattr(compiled, f"tendon_{name}")) for name in forces)
        if acting or np.any(compiled.wrap_type != mujoco.mjtWrap.mjWRAP_JOINT) or np.any(compiled.eq_type == 3):
            raise InputError(
                "'wrap_prm' has a value per world on a GPU only where tendons are fixed and actuators alone act on them"
            )
        for name in _LENGTHS:
            if name in columns:
                raise InputError(f"'{name}' is unknown on a GPU where 'wrap_prm' has a value per world: leave it out")
        pulls = compiled.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON
        tendons = np.where(pulls, compiled.actuator_trnid[:, 0], -1)
        self.tendons = wp.array(tendons, dtype=wp.int32, device=wrap_prm.device)
        self.wrap_prm = wrap_prm

    def __call__(self, model: Any, data: Any) -> None:
        """Correct the moments of the actuators of all worlds."""
        tendons = [self.tendons, model.tendon_adr, model.tendon_num, model.wrap_objid, model.jnt_dofadr]
        rows = [data.moment_rownnz, data.moment_rowadr, data.moment_colind]
        inputs = [*tendons, model.actuator_gear, self.wrap_prm, *rows, data.actuator_moment]
        dim = (self.wrap_prm.shape[0], self.tendons.shape[0])
        wp.launch(scale_moments, dim=dim, inputs=inputs, record_tape=False)
