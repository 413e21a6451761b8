# mypy: ignore-errors
"""Kernel of contacts between ellipsoids and spheres or capsules."""

from __future__ import annotations

import warp as wp

from worldloom.robots.warp.precision_kernels import frame_of, widened

SPHERE, CAPSULE, ELLIPSOID = wp.constant(2), wp.constant(3), wp.constant(4)
"""Types of geoms, ``mjtGeom``."""
ITERATIONS = wp.constant(30)
"""Newton steps at most. They converge quadratically: about 5 are taken."""
CONVERGED = wp.constant(wp.float64(1.0e-12))
"""Length of the last Newton step, relative to the ellipsoid."""
HALF, ONE, TWO = (wp.constant(wp.float64(x)) for x in (0.5, 1.0, 2.0))


@wp.func
def multiplier_of(point: wp.vec3d, squares: wp.vec3d) -> wp.float64:
    """Lagrange multiplier t of the point of an ellipsoid that is closest to a point outside.

    That point is squares * point / (t + squares). Its level, a convex function of t, is 1: Newton's method from t = 0
    increases t up to the solution.

    Args:
        point: In the frame of the ellipsoid.
        squares: Squares of the semi-axes.
    """
    t = wp.float64(0.0)
    for _ in range(ITERATIONS):
        level, slope = wp.float64(-1.0), wp.float64(0.0)
        for i in range(3):
            inverse = ONE / (t + squares[i])
            term = squares[i] * point[i] * point[i] * inverse * inverse
            level += term
            slope -= TWO * term * inverse
        step = -level / slope
        t += step
        if step < CONVERGED * squares[0]:
            break
    return t


@wp.kernel(enable_backward=False)
def refine_ellipsoids(
    geom_type: wp.array(dtype=int), geom_size: wp.array2d(dtype=wp.vec3), geom_xpos: wp.array2d(dtype=wp.vec3),
    geom_xmat: wp.array2d(dtype=wp.mat33), num_contacts: wp.array(dtype=int), geoms: wp.array(dtype=wp.vec2i),
    worlds: wp.array(dtype=int),
    # outputs
    distances: wp.array(dtype=float), positions: wp.array(dtype=wp.vec3), frames: wp.array(dtype=wp.mat33),
):  # fmt: skip
    """Distance, position and frame of contacts of ellipsoids with spheres and capsules; thread (contact).

    MuJoCo Warp finds them by iterations in float32 that end with normals accurate to 1e-3. Here, Newton's method finds
    the point of the capsule's segment that is closest to the ellipsoid, from the contact as MuJoCo Warp found it. A
    contact with the segment's point inside the ellipsoid is not changed.
    """
    contact = wp.tid()
    if contact >= num_contacts[0]:
        return
    geom, world = geoms[contact], worlds[contact]
    kind = geom_type[geom[0]]
    if geom_type[geom[1]] != ELLIPSOID or (kind != SPHERE and kind != CAPSULE):
        return
    size = geom_size[world % geom_size.shape[0], geom[0]]
    semiaxes = widened(geom_size[world % geom_size.shape[0], geom[1]])
    squares = wp.cw_mul(semiaxes, semiaxes)
    rotation = wp.mat33d(geom_xmat[world, geom[1]])
    center = widened(geom_xpos[world, geom[0]])
    origin = widened(geom_xpos[world, geom[1]])
    capsule = geom_xmat[world, geom[0]]
    axis = widened(wp.vec3(capsule[0, 2], capsule[1, 2], capsule[2, 2]))
    middle = wp.transpose(rotation) * (center - origin)
    direction = wp.transpose(rotation) * axis
    half_length, along = wp.float64(0.0), wp.float64(0.0)
    if kind == CAPSULE:
        half_length = wp.float64(size[1])
        along = wp.clamp(wp.dot(widened(positions[contact]) - center, axis), -half_length, half_length)

    # Newton's method for the minimum of the distance, a convex function of ``along``, between points with slopes of
    # different signs.
    is_found = bool(False)
    low, high = -half_length - ONE, half_length + ONE
    point, scaled, derivative = wp.vec3d(), wp.vec3d(), wp.vec3d()
    for _ in range(ITERATIONS):
        point = middle + along * direction
        if wp.length_sq(wp.cw_div(point, semiaxes)) <= ONE:
            return
        t = multiplier_of(point, squares)
        level_along, level_t = wp.float64(0.0), wp.float64(0.0)
        for i in range(3):
            inverse = ONE / (t + squares[i])
            scaled[i] = point[i] * inverse
            level_along += squares[i] * scaled[i] * direction[i] * inverse
            level_t -= squares[i] * scaled[i] * scaled[i] * inverse
        for i in range(3):
            derivative[i] = (direction[i] + scaled[i] * level_along / level_t) / (t + squares[i])
        slope = wp.dot(direction, scaled)
        curvature = wp.dot(direction, derivative) - slope * wp.dot(scaled, derivative) / wp.length_sq(scaled)
        next = wp.clamp(along - slope / curvature, -half_length, half_length)
        if wp.abs(next - along) <= CONVERGED * semiaxes[0]:
            is_found = True
            break
        if slope > wp.float64(0.0):
            high = along
        else:
            low = along
        if next <= low or next >= high:
            next = HALF * (low + high)
        along = next
    if not is_found:
        return
    closest = wp.cw_mul(squares, scaled)
    normal = wp.normalize(scaled)
    distance = wp.dot(point - closest, normal) - wp.float64(size[0])
    distances[contact] = wp.float32(distance)
    positions[contact] = wp.vec3(origin + rotation * (closest + HALF * distance * normal))
    frames[contact] = frame_of(wp.vec3(-(rotation * normal)))
