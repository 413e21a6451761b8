"""Impulses of one contact manifold.

Arms are vectors from a centre of mass to a contact point, in world axes; normals point from A to B. Impulses act on
both bodies at one point, so the arms of A follow from those of B: ``a_arm = b_arm + between``, where ``between`` is the
vector from A's centre to B's.
"""

import math

import worldloom as wl
from worldloom.physics.bodies import Response, Tangents
from worldloom.physics.clipping import Points, manifold_point, set_point

# Stages of a substep, each a pass over all joints and contacts.
WARM_START = 0
WITH_BIAS = 1
WITHOUT_BIAS = 2
RESTITUTION = 3

INNER_SWEEPS = 4  # projected Gauss-Seidel sweeps over the points of a manifold


@wl.function
def softness(frequency: float, damping: float, h: float):
    """A spring as a soft constraint: (velocity per penetration 1/s, factor of the mass, factor of the impulse)."""
    omega = 2.0 * math.pi * frequency
    rate = 2.0 * damping + h * omega
    scaled = h * omega * rate
    return omega / rate, scaled / (1.0 + scaled), 1.0 / (1.0 + scaled)


@wl.function
def tangent(normal: wl.vec3) -> wl.vec3:
    """A unit vector normal to ``normal``, the same for the same bits."""
    if abs(normal.z) < 0.7:
        return wl.normalize(wl.vec3(normal.y, -normal.x, 0.0))
    return wl.normalize(wl.vec3(0.0, normal.z, -normal.y))


@wl.function
def point_velocity(v_a: wl.vec3, w_a: wl.vec3, v_b: wl.vec3, w_b: wl.vec3, a_arm: wl.vec3, b_arm: wl.vec3) -> wl.vec3:
    """Velocity of B relative to A at a contact point."""
    return v_b + wl.cross(w_b, b_arm) - v_a - wl.cross(w_a, a_arm)


@wl.function
def placed_points(
    normal: wl.vec3,
    count: int,
    between: wl.vec3,
    a_anchors: Points,
    a_rotation: wl.quat,
    a_radius: float,
    b_anchors: Points,
    b_rotation: wl.quat,
    b_radius: float,
):
    """Where the points of a contact are now: (arms of B, separations of the material points)."""
    a_axes = wl.quat_to_matrix(a_rotation)
    b_axes = wl.quat_to_matrix(b_rotation)
    arms = Points()
    separations = wl.vec4()
    for i in range(4):
        if i < count:
            on_a = a_axes * manifold_point(a_anchors, i) + normal * a_radius - between
            on_b = b_axes * manifold_point(b_anchors, i) - normal * b_radius
            separations[i] = wl.dot(normal, on_b - on_a)
            arms = set_point(arms, i, on_a if a_radius > 0.0 else on_b)
    return arms, separations


@wl.function
def matrix_entry(i: int, j: int) -> int:
    """The index of the entry (i, j) of a symmetric 4 x 4 matrix in its lower triangle, by rows."""
    if i < j:
        return (j * (j + 1)) // 2 + i
    return (i * (i + 1)) // 2 + j


@wl.function
def add_angular_response(matrix: Response, arms: Points, offset: wl.vec3, normal: wl.vec3, inverse: wl.mat33):
    """Adds the share of the rotation of one body to the matrix of a manifold; its arms are ``arms + offset``."""
    for j in range(4):
        lever = wl.cross(manifold_point(arms, j) + offset, normal)
        turn = inverse * lever
        for i in range(4):
            if i >= j:
                matrix[(i * (i + 1)) // 2 + j] += wl.dot(wl.cross(manifold_point(arms, i) + offset, normal), turn)
    return matrix


@wl.function
def normal_response(
    normal: wl.vec3,
    between: wl.vec3,
    arms: Points,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
) -> Response:
    """The matrix K of a manifold: normal velocity at point i for a unit normal impulse at point j."""
    matrix = Response()
    for i in range(10):
        matrix[i] = a_mass + b_mass
    if a_mass > 0.0:
        matrix = add_angular_response(matrix, arms, between, normal, a_inverse)
    if b_mass > 0.0:
        matrix = add_angular_response(matrix, arms, wl.vec3(0.0, 0.0, 0.0), normal, b_inverse)
    return matrix


@wl.function
def solve_normals(
    matrix: Response, speeds: wl.vec4, targets: wl.vec4, stiffness: wl.vec4, relief: wl.vec4, impulses: wl.vec4
) -> wl.vec4:
    """Normal impulses x >= 0 of a manifold by projected Gauss-Seidel.

    Each point takes ``x_i = max(c_i + d_i x_i - sum over j != i of K_ij f_i x_j, 0)``, where f is the stiffness over K_ii.

    Args:
        matrix: K; normal velocities change by K times the change of x.
        speeds: normal velocities under the impulses given.
        targets: velocities that the impulses aim for.
        stiffness: factor of the effective mass of each point, 1 for a rigid point, 0 to keep its impulse.
        relief: share of its impulse that a soft point gives back in each sweep.
        impulses: accumulated so far.
    """
    f = wl.vec4(stiffness[0] / matrix[0], stiffness[1] / matrix[2], stiffness[2] / matrix[5], stiffness[3] / matrix[9])
    k10, k20, k30 = matrix[1], matrix[3], matrix[6]
    k21, k31, k32 = matrix[4], matrix[7], matrix[8]
    d0, d1 = 1.0 - relief[0] - stiffness[0], 1.0 - relief[1] - stiffness[1]
    d2, d3 = 1.0 - relief[2] - stiffness[2], 1.0 - relief[3] - stiffness[3]
    x0, x1, x2, x3 = impulses[0], impulses[1], impulses[2], impulses[3]
    c0 = f[0] * (targets[0] - speeds[0] + k10 * x1 + k20 * x2 + k30 * x3) + stiffness[0] * x0
    c1 = f[1] * (targets[1] - speeds[1] + k10 * x0 + k21 * x2 + k31 * x3) + stiffness[1] * x1
    c2 = f[2] * (targets[2] - speeds[2] + k20 * x0 + k21 * x1 + k32 * x3) + stiffness[2] * x2
    c3 = f[3] * (targets[3] - speeds[3] + k30 * x0 + k31 * x1 + k32 * x2) + stiffness[3] * x3
    for _ in range(INNER_SWEEPS):
        x0 = max(c0 + d0 * x0 - f[0] * (k30 * x3 + k20 * x2 + k10 * x1), 0.0)
        x1 = max(c1 + d1 * x1 - f[1] * (k31 * x3 + k21 * x2 + k10 * x0), 0.0)
        x2 = max(c2 + d2 * x2 - f[2] * (k32 * x3 + k20 * x0 + k21 * x1), 0.0)
        x3 = max(c3 + d3 * x3 - f[3] * (k30 * x0 + k31 * x1 + k32 * x2), 0.0)
    return wl.vec4(x0, x1, x2, x3)


@wl.function
def clamp_to_disc(x: float, y: float, radius: float):
    """The nearest point within a disc about the origin."""
    length_sq = x * x + y * y
    if length_sq > radius * radius:
        scale = radius / wl.sqrt(length_sq)
        return x * scale, y * scale
    return x, y


@wl.function
def tangent_response(inverse: wl.mat33, arm: wl.vec3, first: wl.vec3, second: wl.vec3) -> wl.vec3:
    """Entries xx, xy and yy of the 2 x 2 response of a point to tangential impulses, by the rotation of one body."""
    x = wl.cross(arm, first)
    y = wl.cross(arm, second)
    turn = inverse * x
    return wl.vec3(wl.dot(x, turn), wl.dot(y, turn), wl.dot(y, inverse * y))


@wl.function
def slip_rates(
    normal: wl.vec3,
    count: int,
    between: wl.vec3,
    arms: Points,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
) -> wl.vec4:
    """Tangential impulse of each point per slip, kg: 1 / (largest eigenvalue of its 2 x 2 response)."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    rates = wl.vec4()
    for i in range(4):
        if i < count:
            arm = manifold_point(arms, i)
            entries = wl.vec3(0.0, 0.0, 0.0)
            if a_mass > 0.0:
                entries += tangent_response(a_inverse, arm + between, first, second)
            if b_mass > 0.0:
                entries += tangent_response(b_inverse, arm, first, second)
            half = 0.5 * (entries.x - entries.z)
            root = wl.sqrt(half * half + entries.y * entries.y)
            rates[i] = 1.0 / (a_mass + b_mass + 0.5 * (entries.x + entries.z) + root)
    return rates
