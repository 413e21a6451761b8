"""Passes over the points of one contact.

Each takes the velocity ``v`` of B's centre relative to A's and the spins ``w_a`` and ``w_b``, in world axes, and gives
the impulse on B and the new spins. A gets the opposite impulse at the same points.
"""

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.geometry.clipping import Points, manifold_point
from worldloom.physics.solving.solver import Response, clamp_to_disc, solve_normals


@wl.function
def warm_start(normal: wl.vec3, first: wl.vec3, arms: Points, impulses: wl.vec4, tangents: Tangents):
    """The impulses of the previous substep: (impulse, moment); ``first`` is a unit tangent."""
    second = wl.cross(normal, first)
    total, moment = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
    for i in wl.unroll(4):
        impulse = normal * impulses[i] + first * tangents[2 * i] + second * tangents[2 * i + 1]
        total += impulse
        moment += wl.cross(manifold_point(arms, i), impulse)
    return total, moment


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
def carried_spins(
    free_a: wl.vec3,
    free_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between_change: wl.vec3,
    arms_change: Points,
    normal: wl.vec3,
    first: wl.vec3,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Spins without the impulses of contacts after the points of a contact have moved: (of A, of B).

    What bodies repeat is the difference to their spins, see ``pushed_again``: the impulses so far are to act at the
    points as they are now.
    """
    impulse, moment = warm_start(normal, first, arms_change, impulses, tangents)
    return turn(free_a, free_b, a_mass, b_mass, a_inverse, b_inverse, between_change, -impulse, -moment)


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
    inverses: wl.vec4,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    impulses: wl.vec4,
):
    """Solves the normal impulses of the manifold together: (impulse, w_a, w_b, normal impulses)."""
    speeds = normal_speeds(v, w_a, w_b, between, arms, normal)
    solved = solve_normals(matrix, inverses, speeds, targets, stiffness, relief, impulses)
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
    a_arm = arm + between
    drift = wl.cross(w_b, arm) - wl.cross(w_a, a_arm)
    slip = v + wl.vec2(wl.dot(drift, first), wl.dot(drift, second))
    new = clamp_to_disc(old - slip * rate, limit)
    change = new - old
    push = first * change.x + second * change.y
    if a_mass > 0.0:
        w_a -= a_inverse * wl.cross(a_arm, push)
    if b_mass > 0.0:
        w_b += b_inverse * wl.cross(arm, push)
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
    first: wl.vec3,
    count: int,
    friction: float,
    rates: wl.vec4,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Solves the friction of one point after the other: (impulse, w_a, w_b, tangential impulses)."""
    second = wl.cross(normal, first)
    u = wl.vec2(wl.dot(v, first), wl.dot(v, second))
    total = wl.vec2(0.0, 0.0)
    for i in wl.unroll(4):
        if i < count:
            old = wl.vec2(tangents[2 * i], tangents[2 * i + 1])
            u, w_a, w_b, new = friction_point(
                u, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, first, second,
                manifold_point(arms, i), rates[i], friction * impulses[i], old,
            )  # fmt: skip
            total += new - old
            tangents[2 * i], tangents[2 * i + 1] = new.x, new.y
    return first * total.x + second * total.y, w_a, w_b, tangents


@wl.function
def warm_pass(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between: wl.vec3,
    arms: Points,
    normal: wl.vec3,
    first: wl.vec3,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Velocities of both bodies after the impulses of the previous substep: (v_a, w_a, v_b, w_b)."""
    impulse, moment = warm_start(normal, first, arms, impulses, tangents)
    w_a, w_b = turn(w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, impulse, moment)
    return v_a - impulse * a_mass, w_a, v_b + impulse * b_mass, w_b


@wl.function
def contact_pass(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    between: wl.vec3,
    arms: Points,
    normal: wl.vec3,
    first: wl.vec3,
    matrix: Response,
    inverses: wl.vec4,
    targets: wl.vec4,
    stiffness: wl.vec4,
    relief: wl.vec4,
    count: int,
    friction: float,
    rates: wl.vec4,
    impulses: wl.vec4,
    tangents: Tangents,
):
    """Solves a contact once, normal impulses before friction: (v_a, w_a, v_b, w_b, impulses, tangents)."""
    v = v_b - v_a
    impulse, w_a, w_b, impulses = normal_pass(
        v, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, arms, normal,
        matrix, inverses, targets, stiffness, relief, impulses,
    )  # fmt: skip
    v += impulse * (a_mass + b_mass)
    drag, w_a, w_b, tangents = friction_pass(
        v, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, arms, normal,
        first, count, friction, rates, impulses, tangents,
    )  # fmt: skip
    impulse += drag
    return v_a - impulse * a_mass, w_a, v_b + impulse * b_mass, w_b, impulses, tangents
