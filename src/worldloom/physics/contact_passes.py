"""Passes over the points of one contact: each gives an impulse on B and its moment about B's centre.

A gets the opposite impulse at the same points. ``slip`` and ``turn`` are the velocity of B relative to A at B's centre
and the relative spin, world axes: the relative velocity at a point is ``slip + turn x arm``.
"""

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.clipping import Points, manifold_point
from worldloom.physics.solver import Response, clamp_to_disc, solve_normals, tangent


@wl.function
def point_impulse(normal: wl.vec3, first: wl.vec3, second: wl.vec3, impulse: float, x: float, y: float) -> wl.vec3:
    """The impulse of a point from its normal and tangential parts."""
    return normal * impulse + first * x + second * y


@wl.function
def warm_start(normal: wl.vec3, arms: Points, impulses: wl.vec4, tangents: Tangents):
    """The impulses of the previous substep: (impulse, moment)."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    p0 = point_impulse(normal, first, second, impulses[0], tangents[0], tangents[1])
    p1 = point_impulse(normal, first, second, impulses[1], tangents[2], tangents[3])
    p2 = point_impulse(normal, first, second, impulses[2], tangents[4], tangents[5])
    p3 = point_impulse(normal, first, second, impulses[3], tangents[6], tangents[7])
    moment = wl.cross(manifold_point(arms, 0), p0) + wl.cross(manifold_point(arms, 1), p1)
    moment += wl.cross(manifold_point(arms, 2), p2) + wl.cross(manifold_point(arms, 3), p3)
    return p0 + p1 + (p2 + p3), moment


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
def friction_point(
    slip: wl.vec3,
    turn: wl.vec3,
    total: wl.vec3,
    moment: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between: wl.vec3,
    first: wl.vec3,
    second: wl.vec3,
    arm: wl.vec3,
    rate: float,
    limit: float,
    x: float,
    y: float,
):
    """One point of ``friction_pass``: (slip, turn, impulse and moment with those of this point, x, y).

    A projected step against the slip within the friction disc, whose length is 1 / (largest eigenvalue of the 2 x 2
    response): its fixed points are rest within the disc, or an impulse on its rim opposite to the slip.
    """
    velocity = slip + wl.cross(turn, arm)
    new_x, new_y = clamp_to_disc(x - wl.dot(velocity, first) * rate, y - wl.dot(velocity, second) * rate, limit)
    impulse = first * (new_x - x) + second * (new_y - y)
    torque = wl.cross(arm, impulse)
    slip += impulse * (a_mass + b_mass)
    if a_mass > 0.0:
        a_turn = a_inverse * (torque + wl.cross(between, impulse))
        slip += wl.cross(a_turn, between)
        turn += a_turn
    if b_mass > 0.0:
        turn += b_inverse * torque
    return slip, turn, total + impulse, moment + torque, new_x, new_y


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
    """Solves the friction of one point after the other: (impulse, moment, tangential impulses)."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    total = wl.vec3(0.0, 0.0, 0.0)
    moment = wl.vec3(0.0, 0.0, 0.0)
    x1, y1, x2, y2, x3, y3 = tangents[2], tangents[3], tangents[4], tangents[5], tangents[6], tangents[7]
    slip, turn, total, moment, x0, y0 = friction_point(
        slip, turn, total, moment, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
        manifold_point(arms, 0), rates[0], friction * impulses[0], tangents[0], tangents[1],
    )  # fmt: skip
    if count > 1:
        slip, turn, total, moment, x1, y1 = friction_point(
            slip, turn, total, moment, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
            manifold_point(arms, 1), rates[1], friction * impulses[1], x1, y1,
        )  # fmt: skip
    if count > 2:
        slip, turn, total, moment, x2, y2 = friction_point(
            slip, turn, total, moment, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
            manifold_point(arms, 2), rates[2], friction * impulses[2], x2, y2,
        )  # fmt: skip
    if count > 3:
        slip, turn, total, moment, x3, y3 = friction_point(
            slip, turn, total, moment, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
            manifold_point(arms, 3), rates[3], friction * impulses[3], x3, y3,
        )  # fmt: skip
    return total, moment, Tangents(x0, y0, x1, y1, x2, y2, x3, y3)
