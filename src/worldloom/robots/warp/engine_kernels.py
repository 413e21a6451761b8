# mypy: ignore-errors
"""Kernels around MuJoCo Warp: faults of a step, worlds that begin an episode, and frames of contacts."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.launch_kernels import picked
from worldloom.robots.faults import CONSTRAINTS, CONTACTS, POSITION, VELOCITY

TOO_MANY_CONSTRAINTS = wp.constant(int(CONSTRAINTS))
TOO_MANY_CONTACTS = wp.constant(int(CONTACTS))
BAD_POSITION = wp.constant(int(POSITION))
BAD_VELOCITY = wp.constant(int(VELOCITY))
LIMIT = wp.constant(1.0e10)
"""MuJoCo's limit of positions and velocities."""
PLANE, CAPSULE = wp.constant(0), wp.constant(3)
"""Types of geoms, ``mjtGeom``."""
SMALLEST_TANGENT = wp.constant(1.0e-6)
"""Sine of the angle between the axis of a capsule and the normal of a plane from which on they have a tangent."""


@wp.kernel(enable_backward=False)
def collect_faults(
    overflow: wp.array(dtype=int), constraint_bits: int, contact_bits: int, qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    # outputs
    faults: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Faults of a world's last step, from the bits of overflows and from its state; thread (world). Clears the bits."""
    world = wp.tid()
    bits = int(0)
    if overflow[world] & constraint_bits:
        bits = bits | TOO_MANY_CONSTRAINTS
    if overflow[world] & contact_bits:
        bits = bits | TOO_MANY_CONTACTS
    overflow[world] = 0
    for i in range(qpos.shape[1]):
        if not (wp.abs(qpos[world, i]) < LIMIT):
            bits = bits | BAD_POSITION
    for i in range(qvel.shape[1]):
        if not (wp.abs(qvel[world, i]) < LIMIT):
            bits = bits | BAD_VELOCITY
    faults[world] = bits


@wp.kernel(enable_backward=False)
def clear_faulted(
    faults: wp.array(dtype=wp.int32), initial: wp.array(dtype=float),
    # outputs
    column: wp.array2d(dtype=float),
):  # fmt: skip
    """Write the initial values of an array where a world has a fault; thread (world, number).

    Its numbers may be huge or not finite, and systems compute rewards from them before the world is reset.
    """
    world, k = wp.tid()
    if faults[world] != 0:
        column[world, k] = initial[k]


@wp.kernel(enable_backward=False)
def copy_selected(
    mask: wp.array(dtype=wp.bool), value: bool, source: wp.array2d(dtype=float),
    # outputs
    target: wp.array2d(dtype=float),
):  # fmt: skip
    """Copy the rows of the selected worlds; thread (world, number)."""
    world, k = wp.tid()
    if picked(mask, value, world):
        target[world, k] = source[world, k]


@wp.kernel(enable_backward=False)
def find_selected(
    mask: wp.array(dtype=wp.bool), value: bool,
    # outputs
    found: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Set ``found`` to 1 where any world is selected; thread (world)."""
    if picked(mask, value, wp.tid()):
        found[0] = 1


@wp.kernel(enable_backward=False)
def count_down(count: wp.array(dtype=wp.int32)):
    """Subtract 1; one thread."""
    count[0] = count[0] - 1


@wp.kernel(enable_backward=False)
def align_capsules(
    geom_type: wp.array(dtype=int), geom_xmat: wp.array2d(dtype=wp.mat33), num_contacts: wp.array(dtype=int),
    geoms: wp.array(dtype=wp.vec2i), worlds: wp.array(dtype=int),
    # outputs
    frames: wp.array(dtype=wp.mat33),
):  # fmt: skip
    """Align the first tangent of contacts between planes and capsules with the capsule's axis; thread (contact).

    MuJoCo does so for every capsule, MuJoCo Warp only for those inclined by less than 60 degrees. A pyramid of friction
    depends on the directions of its tangents.
    """
    contact = wp.tid()
    if contact >= num_contacts[0]:
        return
    geom = geoms[contact]
    if geom_type[geom[0]] != PLANE or geom_type[geom[1]] != CAPSULE:
        return
    normal = frames[contact][0]
    axes = geom_xmat[worlds[contact], geom[1]]
    axis = wp.vec3(axes[0, 2], axes[1, 2], axes[2, 2])
    tangent = axis - normal * wp.dot(normal, axis)
    length = wp.length(tangent)
    if length > SMALLEST_TANGENT:
        tangent = tangent / length
        frames[contact] = wp.matrix_from_rows(normal, tangent, wp.cross(normal, tangent))
