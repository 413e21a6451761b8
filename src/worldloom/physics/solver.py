"""Impulses of one contact manifold.

Arms are vectors from a centre of mass to a contact point, in world axes; normals point from A to B.
"""

import math

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.clipping import Points, manifold_point, set_point

INNER_SWEEPS = 8  # projected Gauss-Seidel sweeps over the points of a manifold


@wl.function
def rotate_anchors(anchors: Points, rotation: wl.quat, skin: wl.vec3) -> Points:
    """Arms of surface points in world axes: anchors of the core, and the vector ``skin`` from core to surface."""
    arms = Points()
    for i in range(4):
        arms = set_point(arms, i, wl.quat_rotate(rotation, manifold_point(anchors, i)) + skin)
    return arms


@wl.function
def moved_arms(arms: Points, by: wl.vec3) -> Points:
    """Arms from another centre to the same points."""
    moved = Points()
    for i in range(4):
        moved = set_point(moved, i, manifold_point(arms, i) + by)
    return moved


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
def accumulated_impulse(normal: wl.vec3, impulses: wl.vec4, tangents: Tangents, i: int) -> wl.vec3:
    """The impulse on B at point ``i``."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    return normal * impulses[i] + first * tangents[2 * i] + second * tangents[2 * i + 1]


@wl.function
def current_separations(normal: wl.vec3, count: int, between: wl.vec3, a_arms: Points, b_arms: Points) -> wl.vec4:
    """Separation of each pair of material points; ``between`` is the vector from A's centre to B's."""
    separations = wl.vec4()
    for i in range(count):
        separations[i] = wl.dot(normal, between + manifold_point(b_arms, i) - manifold_point(a_arms, i))
    return separations


@wl.function
def angular_response(inverse: wl.mat33, arm: wl.vec3, direction: wl.vec3, other_arm: wl.vec3, other: wl.vec3) -> float:
    """Velocity along ``other`` at ``other_arm`` by the rotation from a unit impulse along ``direction`` at ``arm``."""
    return wl.dot(wl.cross(inverse * wl.cross(arm, direction), other_arm), other)


@wl.function
def response(
    mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arm: wl.vec3,
    b_arm: wl.vec3,
    direction: wl.vec3,
    a_other: wl.vec3,
    b_other: wl.vec3,
    other: wl.vec3,
) -> float:
    """Relative velocity along ``other`` at a point, for a unit impulse along ``direction`` at another point."""
    linear = mass * wl.dot(direction, other)
    turned = angular_response(a_inverse, a_arm, direction, a_other, other)
    return linear + turned + angular_response(b_inverse, b_arm, direction, b_other, other)


@wl.function
def normal_response(
    normal: wl.vec3, count: int, a_arms: Points, b_arms: Points, mass: float, a_inverse: wl.mat33, b_inverse: wl.mat33
) -> wl.mat44:
    """The matrix K of a manifold: normal velocity at point i for a unit normal impulse at point j."""
    matrix = wl.mat44()
    for i in range(count):
        for j in range(i + 1):
            value = response(
                mass,
                a_inverse,
                b_inverse,
                manifold_point(a_arms, j),
                manifold_point(b_arms, j),
                normal,
                manifold_point(a_arms, i),
                manifold_point(b_arms, i),
                normal,
            )
            matrix[i, j] = value
            matrix[j, i] = value
    return matrix


@wl.function
def solve_normals(
    matrix: wl.mat44,
    speeds: wl.vec4,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    impulses: wl.vec4,
    count: int,
) -> wl.vec4:
    """Normal impulses x >= 0 of a manifold by projected Gauss-Seidel.

    Args:
        matrix: K; normal velocities change by K times the change of x.
        speeds: normal velocities under the impulses given.
        targets: velocities that the impulses aim for.
        stiffness: factor of the effective mass of each point, 1 for a rigid point.
        relief: share of its impulse that a soft point gives back in each sweep.
        impulses: accumulated so far.
        count: number of points.
    """
    for _ in range(INNER_SWEEPS):
        for i in range(count):
            change = stiffness[i] * (targets[i] - speeds[i]) / matrix[i, i] - relief[i] * impulses[i]
            impulse = max(impulses[i] + change, 0.0)
            change = impulse - impulses[i]
            impulses[i] = impulse
            for j in range(count):
                speeds[j] += matrix[j, i] * change
    return impulses


@wl.function
def clamp_to_disc(x: float, y: float, radius: float):
    """The nearest point within a disc about the origin."""
    length = wl.sqrt(x * x + y * y)
    if length > radius:
        return x * (radius / length), y * (radius / length)
    return x, y


@wl.function
def solve_tangent(
    slip: wl.vec3,
    first: wl.vec3,
    second: wl.vec3,
    a_arm: wl.vec3,
    b_arm: wl.vec3,
    mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    x: float,
    y: float,
    limit: float,
):
    """Tangential impulses (x, y) of a point against its slip, within the friction disc of radius ``limit``.

    A projected step of the length 1 / (largest eigenvalue of the 2 x 2 response): its fixed points are rest within
    the disc, or an impulse on its rim opposite to the slip.
    """
    xx = response(mass, a_inverse, b_inverse, a_arm, b_arm, first, a_arm, b_arm, first)
    xy = response(mass, a_inverse, b_inverse, a_arm, b_arm, first, a_arm, b_arm, second)
    yy = response(mass, a_inverse, b_inverse, a_arm, b_arm, second, a_arm, b_arm, second)
    half = 0.5 * (xx - yy)
    largest = 0.5 * (xx + yy) + wl.sqrt(half * half + xy * xy)
    return clamp_to_disc(x - wl.dot(slip, first) / largest, y - wl.dot(slip, second) / largest, limit)
