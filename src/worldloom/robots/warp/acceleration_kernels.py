# mypy: ignore-errors
"""Kernels of the residual of the equations of motion in float64."""

from __future__ import annotations

import warp as wp

from worldloom.robots.warp.precision_kernels import widened


@wp.kernel(enable_backward=False)
def inertial_wrenches(
    body_parentid: wp.array(dtype=int), body_rootid: wp.array(dtype=int), body_dofadr: wp.array(dtype=int),
    body_dofnum: wp.array(dtype=int), body_mass: wp.array2d(dtype=float), body_inertia: wp.array2d(dtype=wp.vec3),
    xipos: wp.array2d(dtype=wp.vec3), ximat: wp.array2d(dtype=wp.mat33), subtree_com: wp.array2d(dtype=wp.vec3),
    cdof: wp.array2d(dtype=wp.spatial_vector), qacc: wp.array2d(dtype=float),
    # outputs
    torques: wp.array2d(dtype=wp.vec3d), forces: wp.array2d(dtype=wp.vec3d),
):  # fmt: skip
    """Torque and force that accelerate each body by ``qacc`` from rest; thread (world, body).

    Both are about the center of mass of the body's tree, as ``cdof``. The inertia is that of the body about its own
    center: moments about the tree's center would lose the digits of a short link far away from it.
    """
    world, body = wp.tid()
    angular, linear = wp.vec3d(), wp.vec3d()
    ancestor = int(body)
    while ancestor > 0:
        for k in range(body_dofnum[ancestor]):
            dof = body_dofadr[ancestor] + k
            acceleration = wp.float64(qacc[world, dof])
            angular += acceleration * widened(wp.spatial_top(cdof[world, dof]))
            linear += acceleration * widened(wp.spatial_bottom(cdof[world, dof]))
        ancestor = body_parentid[ancestor]
    arm = widened(xipos[world, body]) - widened(subtree_com[world, body_rootid[body]])
    force = wp.float64(body_mass[world % body_mass.shape[0], body]) * (linear + wp.cross(angular, arm))
    rotation = wp.mat33d(ximat[world, body])
    inertia = widened(body_inertia[world % body_inertia.shape[0], body])
    torques[world, body] = rotation * wp.cw_mul(inertia, wp.transpose(rotation) * angular) + wp.cross(arm, force)
    forces[world, body] = force


@wp.kernel(enable_backward=False)
def motion_residual(
    body_subtreenum: wp.array(dtype=int), dof_bodyid: wp.array(dtype=int), dof_armature: wp.array2d(dtype=float),
    cdof: wp.array2d(dtype=wp.spatial_vector), qacc: wp.array2d(dtype=float), qfrc_smooth: wp.array2d(dtype=float),
    qfrc_constraint: wp.array2d(dtype=float), torques: wp.array2d(dtype=wp.vec3d), forces: wp.array2d(dtype=wp.vec3d),
    # outputs
    residual: wp.array2d(dtype=float),
):  # fmt: skip
    """Generalized forces minus M ``qacc``; thread (world, degree of freedom). M is the mass matrix."""
    world, dof = wp.tid()
    armature = wp.float64(dof_armature[world % dof_armature.shape[0], dof])
    force = wp.float64(qfrc_smooth[world, dof]) + wp.float64(qfrc_constraint[world, dof])
    force -= armature * wp.float64(qacc[world, dof])
    angular = widened(wp.spatial_top(cdof[world, dof]))
    linear = widened(wp.spatial_bottom(cdof[world, dof]))
    first = dof_bodyid[dof]
    for body in range(first, first + body_subtreenum[first]):
        force -= wp.dot(angular, torques[world, body]) + wp.dot(linear, forces[world, body])
    residual[world, dof] = wp.float32(force)


@wp.kernel(enable_backward=False)
def add_correction(
    correction: wp.array2d(dtype=float),
    # outputs
    qacc: wp.array2d(dtype=float),
):  # fmt: skip
    """Add the correction to the accelerations; thread (world, degree of freedom)."""
    world, dof = wp.tid()
    qacc[world, dof] = qacc[world, dof] + correction[world, dof]
