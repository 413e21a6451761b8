"""Accelerations of models with an ill-conditioned mass matrix M, such as long chains of light links.

MuJoCo Warp solves M a = f in float32. With a large condition number of M, the rounding of M alone changes the
accelerations by more than 1e-4. One step of iterative refinement computes f - M a in float64, without M, and solves for
the correction with the factor of M in float32.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import warp as wp

from worldloom.robots.model import import_mujoco_warp
from worldloom.robots.warp.acceleration_kernels import add_correction, inertial_wrenches, motion_residual

LARGEST_CONDITION = 3e4
"""Condition number of M, scaled to a diagonal of 1, from which on accelerations are refined."""
_DAMPING = ("dof_damping", "dof_dampingpoly", "actuator_damping", "actuator_dampingpoly")
_ARMATURE = ("tendon_armature", "actuator_armature")


def needs_refinement(mujoco: Any, compiled: Any, columns: Collection[str]) -> bool:
    """Whether M of a model is ill-conditioned in the default pose, and its step is a plain Euler step.

    With damping, or with an implicit integrator, MuJoCo Warp solves another system than M a = f. Armature of tendons
    and actuators is not part of the residual here.

    Args:
        mujoco: The package.
        compiled: The ``MjModel``.
        columns: The names of the world's columns.
    """
    options, integrators = compiled.opt, mujoco.mjtIntegrator
    other = [name for name in (*_DAMPING, *_ARMATURE) if name in columns or np.any(getattr(compiled, name, 0.0))]
    sleeps = options.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    silent = options.disableflags & int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    if not compiled.nv or other or sleeps or silent or options.integrator != int(integrators.mjINT_EULER):
        return False
    return _condition(mujoco, compiled) > LARGEST_CONDITION


def _condition(mujoco: Any, compiled: Any) -> float:
    """Condition number of M in the default pose, scaled to a diagonal of 1."""
    data, columns = mujoco.MjData(compiled), np.eye(compiled.nv)
    mujoco.mj_forward(compiled, data)
    matrix = np.zeros((compiled.nv, compiled.nv))
    for row, column in zip(matrix, columns, strict=True):
        mujoco.mj_mulM(compiled, data, row, column)
    scale = 1.0 / np.sqrt(np.diag(matrix))
    return float(np.linalg.cond(matrix * scale[:, None] * scale))


class AccelerationRefinement:
    """Refines ``qacc`` of all worlds after the constraint solver; for ``callback.sensor`` of MuJoCo Warp.

    Constraint forces keep their values.

    Args:
        model: The model of MuJoCo Warp.
        num_worlds: Number of worlds.
        device: The device.
    """

    def __init__(self, model: Any, num_worlds: int, device: wp.Device) -> None:
        self.mjw = import_mujoco_warp()
        # Without damping, the implicit damping of the Euler step only solves M a = f once more.
        model.opt.disableflags |= int(self.mjw.DisableBit.EULERDAMP)
        self.torques = wp.zeros((num_worlds, model.nbody), dtype=wp.vec3d, device=device)
        self.forces = wp.zeros_like(self.torques)
        self.residual = wp.zeros((num_worlds, model.nv), dtype=float, device=device)
        self.correction = wp.zeros_like(self.residual)

    def __call__(self, model: Any, data: Any, stage: Any) -> None:
        """Refine the accelerations, after the stage that computed them."""
        if stage.name != "ACC":
            return
        bodies = [model.body_parentid, model.body_rootid, model.body_dofadr, model.body_dofnum]
        poses = [data.xipos, data.ximat, data.subtree_com, data.cdof]
        inputs = [*bodies, model.body_mass, model.body_inertia, *poses, data.qacc]
        outputs = [self.torques, self.forces]
        wp.launch(inertial_wrenches, dim=self.torques.shape, inputs=inputs, outputs=outputs, record_tape=False)
        dofs = [model.body_subtreenum, model.dof_bodyid, model.dof_armature, data.cdof]
        inputs = [*dofs, data.qacc, data.qfrc_smooth, data.qfrc_constraint, *outputs]
        wp.launch(motion_residual, dim=self.residual.shape, inputs=inputs, outputs=[self.residual], record_tape=False)
        self.mjw.solve_m(model, data, self.correction, self.residual)
        dim = self.correction.shape
        wp.launch(add_correction, dim=dim, inputs=[self.correction], outputs=[data.qacc], record_tape=False)
