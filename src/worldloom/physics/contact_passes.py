"""Passes over the points of one contact: each gives an impulse on B and its moment about B's centre.

A gets the opposite impulse at the same points. ``slip`` and ``turn`` are the velocity of B relative to A at B's centre
and the relative spin, world axes: the relative velocity at a point is ``slip + turn x arm``.
"""

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.clipping import Points, manifold_point
from worldloom.physics.solver import Response, clamp_to_disc, solve_normals, tangent


@wl.function
def warm_start(normal: wl.vec3, count: int, arms: Points, impulses: wl.vec4, tangents: Tangents):
    """The impulses of the previous substep: (impulse, moment)."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    total = wl.vec3(0.0, 0.0, 0.0)
    moment = wl.vec3(0.0, 0.0, 0.0)
    for i in range(4):
        if i < count:
            impulse = normal * impulses[i] + first * tangents[2 * i] + second * tangents[2 * i + 1]
            total += impulse
            moment += wl.cross(manifold_point(arms, i), impulse)
    return total, moment


@wl.function
def normal_speeds(slip: wl.vec3, turn: wl.vec3, arms: Points, normal: wl.vec3) -> wl.vec4:
    """Relative normal velocity of each point, positive where the bodies separate."""
    centre = wl.dot(slip, normal)
    along = wl.cross(normal, turn)
    return wl.vec4(
        centre + wl.dot(along, manifold_point(arms, 0)),
        centre + wl.dot(along, manifold_point(arms, 1)),
        centre + wl.dot(along, manifold_point(arms, 2)),
        centre + wl.dot(along, manifold_point(arms, 3)),
    )


@wl.function
def normal_pass(
    slip: wl.vec3,
    turn: wl.vec3,
    arms: Points,
    normal: wl.vec3,
    matrix: Response,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    impulses: wl.vec4,
):
    """Solves the normal impulses of the manifold together: (impulse, moment, normal impulses)."""
    speeds = normal_speeds(slip, turn, arms, normal)
    solved = solve_normals(matrix, speeds, targets, stiffness, relief, impulses)
    change = solved - impulses
    lever = manifold_point(arms, 0) * change[0] + manifold_point(arms, 1) * change[1]
    lever += manifold_point(arms, 2) * change[2] + manifold_point(arms, 3) * change[3]
    return normal * (change[0] + change[1] + change[2] + change[3]), wl.cross(lever, normal), solved


@wl.function
def friction_pass(
    slip: wl.vec3,
    turn: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between: wl.vec3,
    arms: Points,
    normal: wl.vec3,
    count: int,
    friction: float,
    rates: wl.vec4,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Solves the friction of one point after the other: (impulse, moment, tangential impulses).

    A point takes a projected step of the length 1 / (largest eigenvalue of its 2 x 2 response) against its slip, within
    the friction disc: its fixed points are rest within the disc, or an impulse on its rim opposite to the slip.
    """
    first = tangent(normal)
    second = wl.cross(normal, first)
    total = wl.vec3(0.0, 0.0, 0.0)
    moment = wl.vec3(0.0, 0.0, 0.0)
    for i in range(4):
        if i < count:
            arm = manifold_point(arms, i)
            velocity = slip + wl.cross(turn, arm)
            x = tangents[2 * i]
            y = tangents[2 * i + 1]
            new_x, new_y = clamp_to_disc(
                x - wl.dot(velocity, first) * rates[i], y - wl.dot(velocity, second) * rates[i], friction * impulses[i]
            )
            tangents[2 * i] = new_x
            tangents[2 * i + 1] = new_y
            impulse = first * (new_x - x) + second * (new_y - y)
            torque = wl.cross(arm, impulse)
            total += impulse
            moment += torque
            slip += impulse * (a_mass + b_mass)
            if a_mass > 0.0:
                a_turn = a_inverse * (torque + wl.cross(between, impulse))
                slip += wl.cross(a_turn, between)
                turn += a_turn
            if b_mass > 0.0:
                turn += b_inverse * torque
    return total, moment, tangents
