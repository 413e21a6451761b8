"""Impulses of one contact manifold.

Arms are vectors from a centre of mass to a contact point, in world axes; normals point from A to B. Impulses act on
both bodies at one point, so the arms of A follow from those of B: ``a_arm = b_arm + between``, where ``between`` is the
vector from A's centre to B's.
"""

import math

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.bodies import Response
from worldloom.physics.geometry.clipping import Points, manifold_point, points_of

# Stages of a substep, each a pass over all joints and contacts.
WARM_START = 0
WITH_BIAS = 1
WITHOUT_BIAS = 2

INNER_SWEEPS = 4  # projected Gauss-Seidel sweeps over the points of a manifold


@wl.function
def softness(frequency: float, damping: float, h: float):
    """A spring as a soft constraint: (velocity per penetration 1/s, factor of the mass, factor of the impulse).

    Substeps of ``h`` seconds resolve a spring of up to a quarter of their rate.
    """
    omega = 2.0 * math.pi * min(frequency, 0.25 / h)
    rate = 2.0 * damping + h * omega
    scaled = h * omega * rate
    return fast_quotient(omega, rate), fast_quotient(scaled, 1.0 + scaled), fast_quotient(1.0, 1.0 + scaled)


@wl.function
def sum_of(impulses: wl.vec4) -> float:
    """The sum of the impulses of four points."""
    return impulses[0] + impulses[1] + impulses[2] + impulses[3]


@wl.function
def tangent(normal: wl.vec3) -> wl.vec3:
    """A unit vector normal to ``normal``, the same for the same bits."""
    if abs(normal.z) < 0.7:
        return wl.normalize(wl.vec3(normal.y, -normal.x, 0.0))
    return wl.normalize(wl.vec3(0.0, normal.z, -normal.y))


@wl.function
def placed_points(
    normal: wl.vec3,
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
    a_origin = normal * a_radius - between
    b_origin = normal * -b_radius
    a0 = a_axes * manifold_point(a_anchors, 0) + a_origin
    a1 = a_axes * manifold_point(a_anchors, 1) + a_origin
    a2 = a_axes * manifold_point(a_anchors, 2) + a_origin
    a3 = a_axes * manifold_point(a_anchors, 3) + a_origin
    b0 = b_axes * manifold_point(b_anchors, 0) + b_origin
    b1 = b_axes * manifold_point(b_anchors, 1) + b_origin
    b2 = b_axes * manifold_point(b_anchors, 2) + b_origin
    b3 = b_axes * manifold_point(b_anchors, 3) + b_origin
    gaps = wl.vec4(wl.dot(normal, b0 - a0), wl.dot(normal, b1 - a1), wl.dot(normal, b2 - a2), wl.dot(normal, b3 - a3))
    if a_radius > 0.0:
        return points_of(a0, a1, a2, a3), gaps
    return points_of(b0, b1, b2, b3), gaps


@wl.function
def angular_response(arms: Points, offset: wl.vec3, normal: wl.vec3, inverse: wl.mat33) -> Response:
    """The share of the rotation of one body in the matrix of a manifold; its arms are ``arms + offset``."""
    x0 = wl.cross(manifold_point(arms, 0) + offset, normal)
    x1 = wl.cross(manifold_point(arms, 1) + offset, normal)
    x2 = wl.cross(manifold_point(arms, 2) + offset, normal)
    x3 = wl.cross(manifold_point(arms, 3) + offset, normal)
    y0, y1, y2, y3 = inverse * x0, inverse * x1, inverse * x2, inverse * x3
    return Response(
        wl.dot(x0, y0),
        wl.dot(x1, y0),
        wl.dot(x1, y1),
        wl.dot(x2, y0),
        wl.dot(x2, y1),
        wl.dot(x2, y2),
        wl.dot(x3, y0),
        wl.dot(x3, y1),
        wl.dot(x3, y2),
        wl.dot(x3, y3),
        0.0,
        0.0,
    )


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
    mass = a_mass + b_mass
    matrix = Response(mass, mass, mass, mass, mass, mass, mass, mass, mass, mass, 0.0, 0.0)
    if a_mass > 0.0:
        matrix += angular_response(arms, between, normal, a_inverse)
    if b_mass > 0.0:
        matrix += angular_response(arms, wl.vec3(0.0, 0.0, 0.0), normal, b_inverse)
    return matrix


@wl.function
def inverse_diagonal(matrix: Response) -> wl.vec4:
    """1 / K_ii."""
    return wl.vec4(
        fast_quotient(1.0, matrix[0]),
        fast_quotient(1.0, matrix[2]),
        fast_quotient(1.0, matrix[5]),
        fast_quotient(1.0, matrix[9]),
    )


@wl.function
def solve_normals(
    matrix: Response,
    inverses: wl.vec4,
    speeds: wl.vec4,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    impulses: wl.vec4,
) -> wl.vec4:
    """Normal impulses x >= 0 of a manifold by projected Gauss-Seidel.

    Point i takes ``x_i = max(c_i + d_i x_i - sum of k_ij x_j over j != i, 0)``, where k_ij is K_ij times its stiffness
    over K_ii. The latest impulse is subtracted last, which keeps the chain of dependent operations short.

    Args:
        matrix: K; normal velocities change by K times the change of x.
        inverses: 1 / K_ii.
        speeds: normal velocities under the impulses given.
        targets: velocities that the impulses aim for.
        stiffness: factor of the effective mass of each point, 1 for a rigid point, 0 to keep its impulse.
        relief: share of its impulse that a soft point gives back in each sweep.
        impulses: accumulated so far.
    """
    f0, f1 = stiffness[0] * inverses[0], stiffness[1] * inverses[1]
    f2, f3 = stiffness[2] * inverses[2], stiffness[3] * inverses[3]
    k01, k02, k03 = f0 * matrix[1], f0 * matrix[3], f0 * matrix[6]
    k10, k12, k13 = f1 * matrix[1], f1 * matrix[4], f1 * matrix[7]
    k20, k21, k23 = f2 * matrix[3], f2 * matrix[4], f2 * matrix[8]
    k30, k31, k32 = f3 * matrix[6], f3 * matrix[7], f3 * matrix[8]
    d0, d1 = 1.0 - relief[0] - stiffness[0], 1.0 - relief[1] - stiffness[1]
    d2, d3 = 1.0 - relief[2] - stiffness[2], 1.0 - relief[3] - stiffness[3]
    x0, x1, x2, x3 = impulses[0], impulses[1], impulses[2], impulses[3]
    c0 = f0 * (targets[0] - speeds[0]) + stiffness[0] * x0 + k01 * x1 + k02 * x2 + k03 * x3
    c1 = f1 * (targets[1] - speeds[1]) + k10 * x0 + stiffness[1] * x1 + k12 * x2 + k13 * x3
    c2 = f2 * (targets[2] - speeds[2]) + k20 * x0 + k21 * x1 + stiffness[2] * x2 + k23 * x3
    c3 = f3 * (targets[3] - speeds[3]) + k30 * x0 + k31 * x1 + k32 * x2 + stiffness[3] * x3
    for _ in range(INNER_SWEEPS):
        x0 = max(c0 + d0 * x0 - k01 * x1 - k02 * x2 - k03 * x3, 0.0)
        x1 = max(c1 + d1 * x1 - k12 * x2 - k13 * x3 - k10 * x0, 0.0)
        x2 = max(c2 + d2 * x2 - k23 * x3 - k20 * x0 - k21 * x1, 0.0)
        x3 = max(c3 + d3 * x3 - k30 * x0 - k31 * x1 - k32 * x2, 0.0)
    return wl.vec4(x0, x1, x2, x3)


@wl.function
def clamp_to_disc(point: wl.vec2, radius: float) -> wl.vec2:
    """The nearest point within a disc about the origin."""
    length_sq = wl.length_sq(point)
    if length_sq > radius * radius:
        return point * fast_quotient(radius, wl.sqrt(length_sq))
    return point


@wl.function
def tangent_response(inverse: wl.mat33, arm: wl.vec3, first: wl.vec3, second: wl.vec3) -> wl.vec3:
    """Entries xx, xy and yy of the 2 x 2 response of a point to tangential impulses, by the rotation of one body."""
    x = wl.cross(arm, first)
    y = wl.cross(arm, second)
    turn = inverse * x
    return wl.vec3(wl.dot(x, turn), wl.dot(y, turn), wl.dot(y, inverse * y))


@wl.function
def slip_rate(
    first: wl.vec3,
    second: wl.vec3,
    between: wl.vec3,
    arm: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
) -> float:
    """Tangential impulse of a point per slip, kg: 1 / (largest eigenvalue of its 2 x 2 response)."""
    entries = wl.vec3(0.0, 0.0, 0.0)
    if a_mass > 0.0:
        entries += tangent_response(a_inverse, arm + between, first, second)
    if b_mass > 0.0:
        entries += tangent_response(b_inverse, arm, first, second)
    half = 0.5 * (entries.x - entries.z)
    root = wl.sqrt(half * half + entries.y * entries.y)
    return 1.0 / (a_mass + b_mass + 0.5 * (entries.x + entries.z) + root)


@wl.function
def slip_rates(
    normal: wl.vec3,
    first: wl.vec3,
    count: int,
    between: wl.vec3,
    arms: Points,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
) -> wl.vec4:
    """The slip rates of all points."""
    second = wl.cross(normal, first)
    rates = wl.vec4()
    for i in wl.unroll(4):
        if i < count:
            rates[i] = slip_rate(first, second, between, manifold_point(arms, i), a_mass, b_mass, a_inverse, b_inverse)
    return rates


@wl.function
def aim(gap: float, soft: bool, rate: float, push_rate: float, max_push: float, soft_mass: float, soft_relief: float):
    """What a point aims for: (target velocity, stiffness, relief).

    A separated point limits the approach, a penetrating one is pushed out as a soft constraint, or not at all.
    """
    if gap > 0.0:
        return -gap * rate, 1.0, 0.0
    if soft:
        return min(-push_rate * gap, max_push), soft_mass, soft_relief
    return 0.0, 1.0, 0.0


@wl.function
def contact_aims(
    gaps: wl.vec4,
    count: int,
    soft: bool,
    rate: float,
    push_rate: float,
    max_push: float,
    soft_mass: float,
    soft_relief: float,
):
    """What the points of a contact aim for: (target velocities, stiffness, relief); unused points keep 0.

    ``rate`` is the inverse of the time of a substep, 1/s.
    """
    targets, stiffness, relief = wl.vec4(), wl.vec4(), wl.vec4()
    for i in wl.unroll(4):
        if i < count:
            targets[i], stiffness[i], relief[i] = aim(gaps[i], soft, rate, push_rate, max_push, soft_mass, soft_relief)
    return targets, stiffness, relief
