"""Joints: kinds, frames and errors.

A joint has up to six equations in a frame of unit vectors t0, t1, t2: relative velocity of the bodies at its anchor
along each, and relative spin about each. t0 is the axis of a hinge or slider, and the direction of a distance joint.
The motion along or about t0 that these kinds leave free is the *coordinate*, which motors drive and limits bound.
"""

import math

import worldloom as wl
from worldloom.physics.bodies import DISTANCE, FIXED, HINGE, SLIDER
from worldloom.physics.solving.solver import tangent


@wl.function
def linear_rows(kind: int) -> wl.vec3:
    """1 for each direction of the frame along which anchors cannot move apart, else 0."""
    if kind == DISTANCE:
        return wl.vec3(0.0, 0.0, 0.0)
    if kind == SLIDER:
        return wl.vec3(0.0, 1.0, 1.0)
    return wl.vec3(1.0, 1.0, 1.0)


@wl.function
def angular_rows(kind: int) -> wl.vec3:
    """1 for each direction of the frame about which bodies cannot turn against each other, else 0."""
    if kind in (FIXED, SLIDER):
        return wl.vec3(1.0, 1.0, 1.0)
    if kind == HINGE:
        return wl.vec3(0.0, 1.0, 1.0)
    return wl.vec3(0.0, 0.0, 0.0)


@wl.function
def joint_frame(kind: int, axis: wl.vec3, a_rotation: wl.quat, between: wl.vec3) -> wl.mat33:
    """The frame of a joint: t0, t1, t2 as rows, world axes; ``between`` is the vector from anchor A to anchor B."""
    t0 = wl.quat_rotate(a_rotation, axis)
    t1 = wl.quat_rotate(a_rotation, tangent(axis))
    if kind == DISTANCE:
        t0 = wl.normalize(between)
        t1 = tangent(t0)
    t2 = wl.cross(t0, t1)
    return wl.mat33(t0.x, t0.y, t0.z, t1.x, t1.y, t1.z, t2.x, t2.y, t2.z)


@wl.function
def error_vector(rotation: wl.quat) -> wl.vec3:
    """Twice the vector part of a quaternion: axis times angle for small angles."""
    sign = -2.0 if rotation[3] < 0.0 else 2.0
    return wl.vec3(rotation[0], rotation[1], rotation[2]) * sign


@wl.function
def angular_error(kind: int, axis: wl.vec3, rest: wl.quat, a_rotation: wl.quat, b_rotation: wl.quat) -> wl.vec3:
    """How far B is turned from where a joint allows, as a rotation vector in world axes.

    For a hinge, the component about its axis has no meaning.
    """
    if kind == HINGE:
        on_a = wl.quat_rotate(a_rotation, axis)
        on_b = wl.quat_rotate(b_rotation, wl.quat_rotate_inv(rest, axis))
        return wl.cross(on_a, on_b)
    return error_vector(b_rotation * wl.quat_inverse(a_rotation * rest))


@wl.function
def joint_coordinate(
    kind: int, axis: wl.vec3, rest: wl.quat, a_rotation: wl.quat, b_rotation: wl.quat, between: wl.vec3
) -> float:
    """Angle of a hinge, rad, -π to π; offset of a slider along its axis, m; distance of anchors, m; 0 for others."""
    if kind == HINGE:
        turn = wl.quat_inverse(a_rotation) * b_rotation * wl.quat_inverse(rest)
        twist = wl.dot(wl.vec3(turn[0], turn[1], turn[2]), axis)
        angle = 2.0 * wl.atan2(twist, turn[3])
        if angle > math.pi:
            angle -= 2.0 * math.pi
        elif angle < -math.pi:
            angle += 2.0 * math.pi
        return angle
    if kind == SLIDER:
        return wl.dot(between, wl.quat_rotate(a_rotation, axis))
    return wl.length(between) if kind == DISTANCE else 0.0


@wl.function
def swing_response(inverse: wl.mat33, arm: wl.vec3) -> float:
    """The trace of an inverse inertia without the direction of an arm, about which no force at its end turns a body."""
    return wl.trace(inverse) - wl.dot(arm, inverse * arm) / max(wl.length_sq(arm), 1.0e-30)


@wl.function
def stiffened_inertia(inverse: wl.mat33, load: float, response: float) -> wl.mat33:
    """Inverse inertia of a body under a load that would turn it back and forth within a few substeps.

    A force f at an arm r is a spring of the rotation, with the stiffness |f| |r|. Explicit steps h of it are stable if
    h² |f| |r| is below 4 times the smallest moment of inertia; a larger load counts as additional inertia.

    Args:
        inverse: inverse inertia.
        load: h² |f| |r|, kg m².
        response: 1 / (kg m²), the trace of the inverse inertia, or ``swing_response``.
    """
    if 0.5 * load * response <= 1.0:
        return inverse
    added = 0.5 * load - 1.0 / response
    return inverse * wl.inverse(wl.diag(wl.vec3(1.0, 1.0, 1.0)) + inverse * added)
