"""Passes over the points of one contact.

Each takes the velocity ``v`` of B's centre relative to A's and the spins ``w_a`` and ``w_b``, in world axes, and gives
the impulse on B and the new spins. A gets the opposite impulse at the same points.
"""

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.clipping import Points, manifold_point
from worldloom.physics.solving.solver import Response, clamp_to_disc, solve_normals, tangent


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
def turn(
    w_a: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between: wl.vec3,
    impulse: wl.vec3,
    moment: wl.vec3,
):
    """The spins after an impulse on B with a moment about B's centre, and its opposite on A: (w_a, w_b)."""
    if a_mass > 0.0:
        w_a -= a_inverse * (moment + wl.cross(between, impulse))
    if b_mass > 0.0:
        w_b += b_inverse * moment
    return w_a, w_b


@wl.function
def normal_speeds(v: wl.vec3, w_a: wl.vec3, w_b: wl.vec3, between: wl.vec3, arms: Points, normal: wl.vec3) -> wl.vec4:
    """Relative normal velocity of each point, positive where the bodies separate."""
    centre = wl.dot(normal, v - wl.cross(w_a, between))
    along = wl.cross(normal, w_b - w_a)
    return wl.vec4(
        centre + wl.dot(along, manifold_point(arms, 0)),
        centre + wl.dot(along, manifold_point(arms, 1)),
        centre + wl.dot(along, manifold_point(arms, 2)),
        centre + wl.dot(along, manifold_point(arms, 3)),
    )


@wl.function
def normal_pass(
    v: wl.vec3,
    w_a: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between: wl.vec3,
    arms: Points,
    normal: wl.vec3,
    matrix: Response,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    impulses: wl.vec4,
):
    """Solves the normal impulses of the manifold together: (impulse, w_a, w_b, normal impulses)."""
    speeds = normal_speeds(v, w_a, w_b, between, arms, normal)
    solved = solve_normals(matrix, speeds, targets, stiffness, relief, impulses)
    change = solved - impulses
    lever = manifold_point(arms, 0) * change[0] + manifold_point(arms, 1) * change[1]
    lever += manifold_point(arms, 2) * change[2] + manifold_point(arms, 3) * change[3]
    impulse = normal * (change[0] + change[1] + (change[2] + change[3]))
    w_a, w_b = turn(w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, impulse, wl.cross(lever, normal))
    return impulse, w_a, w_b, solved


@wl.function
def friction_point(
    v: wl.vec2,
    w_a: wl.vec3,
    w_b: wl.vec3,
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
    old: wl.vec2,
):
    """One point of ``friction_pass``; ``v`` is along the two tangents: (v, w_a, w_b, tangential impulses).

    A projected step against the slip within the friction disc, whose length is 1 / (largest eigenvalue of the 2 x 2
    response): its fixed points are rest within the disc, or an impulse on its rim opposite to the slip.
    """
    b_first = wl.cross(arm, first)
    b_second = wl.cross(arm, second)
    slip = v + wl.vec2(wl.dot(w_b, b_first), wl.dot(w_b, b_second))
    a_first = wl.cross(arm + between, first)
    a_second = wl.cross(arm + between, second)
    slip -= wl.vec2(wl.dot(w_a, a_first), wl.dot(w_a, a_second))
    new = clamp_to_disc(old - slip * rate, limit)
    change = new - old
    if a_mass > 0.0:
        w_a -= a_inverse * (a_first * change.x + a_second * change.y)
    if b_mass > 0.0:
        w_b += b_inverse * (b_first * change.x + b_second * change.y)
    return v + change * (a_mass + b_mass), w_a, w_b, new


@wl.function
def friction_pass(
    v: wl.vec3,
    w_a: wl.vec3,
    w_b: wl.vec3,
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
    """Solves the friction of one point after the other: (impulse, w_a, w_b, tangential impulses)."""
    first = tangent(normal)
    second = wl.cross(normal, first)
    u = wl.vec2(wl.dot(v, first), wl.dot(v, second))
    old = wl.vec2(
        tangents[0] + tangents[2] + tangents[4] + tangents[6], tangents[1] + tangents[3] + tangents[5] + tangents[7]
    )
    t0, t1 = wl.vec2(tangents[0], tangents[1]), wl.vec2(tangents[2], tangents[3])
    t2, t3 = wl.vec2(tangents[4], tangents[5]), wl.vec2(tangents[6], tangents[7])
    u, w_a, w_b, t0 = friction_point(
        u, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
        manifold_point(arms, 0), rates[0], friction * impulses[0], t0,
    )  # fmt: skip
    if count > 1:
        u, w_a, w_b, t1 = friction_point(
            u, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
            manifold_point(arms, 1), rates[1], friction * impulses[1], t1,
        )  # fmt: skip
    if count > 2:
        u, w_a, w_b, t2 = friction_point(
            u, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
            manifold_point(arms, 2), rates[2], friction * impulses[2], t2,
        )  # fmt: skip
    if count > 3:
        u, w_a, w_b, t3 = friction_point(
            u, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
            manifold_point(arms, 3), rates[3], friction * impulses[3], t3,
        )  # fmt: skip
    change = t0 + t1 + (t2 + t3) - old
    impulse = first * change.x + second * change.y
    return impulse, w_a, w_b, Tangents(t0.x, t0.y, t1.x, t1.y, t2.x, t2.y, t3.x, t3.y)
