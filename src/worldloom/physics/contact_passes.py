"""Passes over the points of one contact: each changes the velocities of its two bodies.

Velocities are ``v_a, w_a, v_b, w_b``, linear and angular, in world axes. ``a_mass`` and ``b_mass`` are inverse masses,
``a_inverse`` and ``b_inverse`` inverse inertias in world axes.
"""

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.clipping import Points, manifold_point
from worldloom.physics.solver import (
    accumulated_impulse,
    normal_response,
    point_velocity,
    solve_normals,
    solve_tangent,
    tangent,
)


@wl.function
def push(v: wl.vec3, w: wl.vec3, impulse: wl.vec3, arm: wl.vec3, inverse_mass: float, inverse_inertia: wl.mat33):
    """Velocities of a body after an impulse: (v, w)."""
    return v + impulse * inverse_mass, w + inverse_inertia * wl.cross(arm, impulse)


@wl.function
def warm_start(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arms: Points,
    b_arms: Points,
    normal: wl.vec3,
    count: int,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Applies the impulses of the previous substep: (v_a, w_a, v_b, w_b)."""
    for i in range(count):
        impulse = accumulated_impulse(normal, impulses, tangents, i)
        v_a, w_a = push(v_a, w_a, -impulse, manifold_point(a_arms, i), a_mass, a_inverse)
        v_b, w_b = push(v_b, w_b, impulse, manifold_point(b_arms, i), b_mass, b_inverse)
    return v_a, w_a, v_b, w_b


@wl.function
def normal_speeds(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_arms: Points,
    b_arms: Points,
    normal: wl.vec3,
    count: int,
) -> wl.vec4:
    """Relative normal velocity of each point, positive where the bodies separate."""
    speeds = wl.vec4()
    for i in range(count):
        relative = point_velocity(v_a, w_a, v_b, w_b, manifold_point(a_arms, i), manifold_point(b_arms, i))
        speeds[i] = wl.dot(relative, normal)
    return speeds


@wl.function
def normal_pass(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arms: Points,
    b_arms: Points,
    normal: wl.vec3,
    count: int,
    speeds: wl.vec4,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    impulses: wl.vec4,
):
    """Solves the normal impulses of the manifold together: (v_a, w_a, v_b, w_b, impulses)."""
    matrix = normal_response(normal, count, a_arms, b_arms, a_mass + b_mass, a_inverse, b_inverse)
    solved = solve_normals(matrix, speeds, targets, stiffness, relief, impulses, count)
    for i in range(count):
        impulse = normal * (solved[i] - impulses[i])
        v_a, w_a = push(v_a, w_a, -impulse, manifold_point(a_arms, i), a_mass, a_inverse)
        v_b, w_b = push(v_b, w_b, impulse, manifold_point(b_arms, i), b_mass, b_inverse)
    return v_a, w_a, v_b, w_b, solved


@wl.function
def friction_pass(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arms: Points,
    b_arms: Points,
    normal: wl.vec3,
    count: int,
    friction: float,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Solves the friction of one point after the other: (v_a, w_a, v_b, w_b, tangential impulses)."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    for i in range(count):
        a_arm = manifold_point(a_arms, i)
        b_arm = manifold_point(b_arms, i)
        slip = point_velocity(v_a, w_a, v_b, w_b, a_arm, b_arm)
        x, y = tangents[2 * i], tangents[2 * i + 1]
        limit = friction * impulses[i]
        mass = a_mass + b_mass
        new_x, new_y = solve_tangent(slip, first, second, a_arm, b_arm, mass, a_inverse, b_inverse, x, y, limit)
        impulse = first * (new_x - x) + second * (new_y - y)
        v_a, w_a = push(v_a, w_a, -impulse, a_arm, a_mass, a_inverse)
        v_b, w_b = push(v_b, w_b, impulse, b_arm, b_mass, b_inverse)
        tangents[2 * i] = new_x
        tangents[2 * i + 1] = new_y
    return v_a, w_a, v_b, w_b, tangents
