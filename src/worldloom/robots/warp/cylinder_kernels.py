# mypy: ignore-errors
"""Kernel of contacts between capsules and cylinders."""

from __future__ import annotations

import warp as wp

from worldloom.robots.warp.precision_kernels import frame_of, widened

CAPSULE, CYLINDER = wp.constant(3), wp.constant(5)
"""Types of geoms, ``mjtGeom``."""
PARALLEL = wp.constant(wp.float64(1.0 - 1.0e-6))
"""Cosine of the angle between two lines from which on they count as parallel."""
ROUNDING = wp.constant(wp.float64(1.0e-6))
"""Differences between distances below are due to rounding."""
BISECTIONS = wp.constant(50)
"""They find a point of a segment to 2**-50 of its length."""
ZERO, HALF, TWO = (wp.constant(wp.float64(x)) for x in (0.0, 0.5, 2.0))


@wp.func
def closest_point(point: wp.vec3d, radius: wp.float64, half_length: wp.float64) -> wp.vec3d:
    """The point of a cylinder that is closest to a point, in the frame of the cylinder."""
    from_axis = wp.sqrt(point[0] * point[0] + point[1] * point[1])
    scale = wp.float64(1.0)
    if from_axis > radius:
        scale = radius / from_axis
    return wp.vec3d(scale * point[0], scale * point[1], wp.clamp(point[2], -half_length, half_length))


@wp.func
def closest_along(
    middle: wp.vec3d, direction: wp.vec3d, half_segment: wp.float64, radius: wp.float64, half_length: wp.float64
) -> wp.float64:
    """Where a segment is closest to a cylinder, from its middle. The distance is convex: its slope has one root."""
    low, high = -half_segment, half_segment
    for _ in range(BISECTIONS):
        along = HALF * (low + high)
        point = middle + along * direction
        if wp.dot(direction, point - closest_point(point, radius, half_length)) > ZERO:
            high = along
        else:
            low = along
    return HALF * (low + high)


@wp.kernel(enable_backward=False)
def refine_cylinders(
    geom_type: wp.array(dtype=int), geom_size: wp.array2d(dtype=wp.vec3), geom_xpos: wp.array2d(dtype=wp.vec3),
    geom_xmat: wp.array2d(dtype=wp.mat33), num_contacts: wp.array(dtype=int), geoms: wp.array(dtype=wp.vec2i),
    worlds: wp.array(dtype=int),
    # outputs
    distances: wp.array(dtype=float), positions: wp.array(dtype=wp.vec3), frames: wp.array(dtype=wp.mat33),
):  # fmt: skip
    """Distance, position and frame of contacts of capsules with cylinders; thread (contact).

    On a face, both engines clip the capsule to a polygon inside the face. Where one contact is left, MuJoCo Warp has
    the position of the clipped capsule, but the distance of the whole one. The position is halfway between both geoms.
    Elsewhere, MuJoCo Warp finds the contact by iterations in float32. Here, it is found in float64, unless the segment
    of the capsule is parallel to the cylinder, or inside it.
    """
    contact = wp.tid()
    if contact >= num_contacts[0]:
        return
    geom, world = geoms[contact], worlds[contact]
    if geom_type[geom[0]] != CAPSULE or geom_type[geom[1]] != CYLINDER:
        return
    capsule = geom_size[world % geom_size.shape[0], geom[0]]
    cylinder = widened(geom_size[world % geom_size.shape[0], geom[1]])
    radius, half_length = cylinder[0], cylinder[1]
    rotation = wp.mat33d(geom_xmat[world, geom[1]])
    origin = widened(geom_xpos[world, geom[1]])
    cosine = (wp.transpose(rotation) * widened(frames[contact][0]))[2]
    if wp.abs(cosine) > PARALLEL:
        height = -wp.sign(cosine) * (wp.transpose(rotation) * (widened(positions[contact]) - origin))[2]
        distance = TWO * (height - half_length)
        if wp.abs(distance - wp.float64(distances[contact])) > ROUNDING:
            distances[contact] = wp.float32(distance)
        return
    axes = geom_xmat[world, geom[0]]
    direction = wp.transpose(rotation) * widened(wp.vec3(axes[0, 2], axes[1, 2], axes[2, 2]))
    if wp.abs(direction[2]) > PARALLEL:
        return
    middle = wp.transpose(rotation) * (widened(geom_xpos[world, geom[0]]) - origin)
    along = closest_along(middle, direction, wp.float64(capsule[1]), radius, half_length)
    point = middle + along * direction
    closest = closest_point(point, radius, half_length)
    gap = wp.length(point - closest)
    if gap < ROUNDING:
        return
    normal = (point - closest) / gap
    distance = gap - wp.float64(capsule[0])
    distances[contact] = wp.float32(distance)
    positions[contact] = wp.vec3(origin + rotation * (closest + HALF * distance * normal))
    frames[contact] = frame_of(wp.vec3(-(rotation * normal)))
