"""Impacts with restitution, within substeps.

Before the contacts of a substep are solved, bodies that would meet in it collide, one pair after the other, until no
pair approaches: a row of balls passes an impulse on. Two bodies move to where they meet, get the impulses of the
impact there, and move back by their new velocities: the rest of the substep moves them as if they had met in time. The
normal of two spheres is that of their place then. Impacts change the motion that a body has without contacts
(``body.pushed``), so that later substeps do not repeat them.

**Energy.** A substep moves a body by v h, where v is the velocity halfway through it: at the time t of an impact the
relative velocity along the normal is ``s + c``, with ``c = a (t - h / 2)`` and the relative acceleration a of the
substep, and the impact leaves ``-e (s + c) - c``. A bounce with restitution 1 therefore keeps its height. The
acceleration is that by gravity, forces and the contacts that hold a body. Where the impulses P of an impact, whose
points share it and slide, would do positive work P.u + P.d / 2 on the relative velocities u, which they change by d,
all of them are reduced to those that do none. Kinematic bodies that move may do work.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Tangents
from worldloom.physics.geometry.clipping import points_of
from worldloom.physics.motion import spin_momentum
from worldloom.physics.shapes import SPHERE
from worldloom.physics.solving.contact_passes import contact_pass, normal_speeds
from worldloom.physics.solving.packed_bodies import twist_of, twist_parts
from worldloom.physics.solving.solver import inverse_diagonal, normal_response, placed_points, sum_of, tangent

MAX_SWEEPS = 32  # over all contacts in a substep, so that a row of as many balls passes an impulse on
PASSES = 4  # over the points of an impact
NEVER = 1.0e30  # s


@wl.function
def meeting_time(offset: wl.vec3, velocity: wl.vec3, reach: float) -> float:
    """Seconds until two spheres meet, 0 where they overlap, NEVER if they do not.

    Args:
        offset: vector between the centres.
        velocity: its rate.
        reach: the sum of the radii.
    """
    approach = -wl.dot(offset, velocity)
    apart = wl.length_sq(offset) - reach * reach
    root = approach * approach - wl.length_sq(velocity) * apart
    if approach <= 0.0 or root < 0.0:
        return NEVER
    return max(apart, 0.0) / (approach + wl.sqrt(root))


@wl.function
def impact_aims(
    ends: wl.vec4,
    speeds: wl.vec4,
    count: int,
    change: float,
    restitution: float,
    bounce_speed: float,
):
    """What the points of a contact aim for in an impact: (target velocities, stiffness).

    Args:
        ends: separations at the end of the substep without an impact.
        speeds: relative normal velocities of the substep.
        count: number of points.
        change: what is added to a velocity of the substep at the time of the impact, c above.
        restitution: of the pair.
        bounce_speed: m/s, below which there is no impact.
    """
    targets, stiffness = wl.vec4(), wl.vec4()
    for i in wl.unroll(4):
        approach = speeds[i] + change
        if i < count and approach < -bounce_speed and ends[i] < 0.0:
            targets[i], stiffness[i] = max(-restitution * approach - change, 0.0), 1.0
    return targets, stiffness


def impact_functions(World: type, Body: type, Contact: type) -> tuple[Any, Any, Any]:
    """Functions of a world, in order.

    ``may_bounce``: whether a contact may have an impact in this step. ``collide``: computes the impacts of a substep,
    and returns whether there were any. ``let_pass``: the stiffness of the points of a contact for other passes, which
    do not limit the approach of bodies that are to have an impact in a later substep.
    """

    @wl.function
    def may_bounce(world: World, contact: Contact):
        """Whether the bodies approach faster than ``bounce_speed``, or may do so by gravity and forces."""
        a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
        gain = wl.length(world.gravity) + wl.length(a.force) * a.inverse_mass + wl.length(b.force) * b.inverse_mass
        fastest = 0.0
        for i in wl.unroll(4):
            if i < contact.num_points:
                fastest = min(fastest, contact.approach[i])
        bounces = fastest - gain * world.dt < -world.bounce_speed
        return bounces

    @wl.function
    def gained(world: World, body: Body, h: float):
        """The change of the velocity of a body in this substep, without impacts: by gravity, forces and contacts."""
        change = wl.vec3(0.0, 0.0, 0.0)
        if body.inverse_mass > 0.0:
            free_velocity, _free_spin = twist_parts(body.pushed)
            change = (world.gravity + body.force * body.inverse_mass) * h + (body.velocity - free_velocity)
        return change

    @wl.function
    def knock(world: World, body: Body, time: float, velocity: wl.vec3, spin: wl.vec3):
        """Gives a body the velocity and spin after an impact at a time of the substep."""
        if body.inverse_mass > 0.0:
            free_velocity, free_spin = twist_parts(body.pushed)
            change = velocity - body.velocity
            body.position -= change * time
            body.pushed = twist_of(free_velocity + change, free_spin + (spin - body.spin))
            body.velocity, body.spin = velocity, spin

    @wl.function
    def does_no_work(world: World, body: Body) -> bool:
        """Whether a body has a mass, or does not move."""
        return body.inverse_mass > 0.0 or wl.length_sq(body.velocity) + wl.length_sq(body.spin) == 0.0

    @wl.function
    def work_of(world: World, body: Body, velocity: wl.vec3, spin: wl.vec3, gain: wl.vec3):
        """Work of the change to a velocity and a spin: (by the motion before it, twice that by the change alone), J."""
        along, square = 0.0, 0.0
        if body.inverse_mass > 0.0:
            change, turn = velocity - body.velocity, spin - body.spin
            momentum = spin_momentum(body.rotation, body.inertia, turn)
            along = body.mass * wl.dot(change, body.velocity + gain) + wl.dot(momentum, body.spin)
            square = body.mass * wl.length_sq(change) + wl.dot(momentum, turn)
        return along, square

    @wl.function
    def strike(world: World, contact: Contact, a: Body, b: Body, h: float):
        """The impact of two bodies in the substep of ``h`` seconds; ``contact.struck`` says whether there is one."""
        contact.struck = False
        v_a, w_a, v_b, w_b = a.velocity, a.spin, b.velocity, b.spin
        normal, count = contact.normal, contact.num_points
        a_radius, b_radius = contact.a_radius, contact.b_radius
        between, v, time = b.position - a.position, v_b - v_a, 0.0
        spheres = a.shape == SPHERE and b.shape == SPHERE
        if spheres:
            time = meeting_time(between, v, a_radius + b_radius)
            if time < h:
                between += v * time
                normal = wl.normalize(between)
        if time < h:
            arms, gaps = placed_points(
                normal, between, contact.a_anchors, a.rotation, a_radius, contact.b_anchors, b.rotation, b_radius
            )
            speeds = normal_speeds(v, w_a, w_b, between, arms, normal)
            ends = gaps + speeds * (h - time)
            if not spheres:
                time = h
                for i in wl.unroll(4):
                    if i < count and ends[i] < 0.0 and speeds[i] < 0.0:
                        time = min(time, max(gaps[i], 0.0) / -speeds[i])
                shift = v * time
                between += shift
                if a_radius > 0.0:
                    arms -= points_of(shift, shift, shift, shift)
                speeds = normal_speeds(v, w_a, w_b, between, arms, normal)
            a_gain = gained(world, a, h)
            b_gain = gained(world, b, h)
            change = wl.dot(normal, b_gain - a_gain) * (time / h - 0.5)
            targets, stiffness = impact_aims(ends, speeds, count, change, contact.restitution, world.bounce_speed)
            if sum_of(stiffness) > 0.0:
                response = normal_response(
                    normal, between, arms, a.inverse_mass, b.inverse_mass, a.world_inverse_inertia,
                    b.world_inverse_inertia,
                )  # fmt: skip
                first, impulses, tangents = tangent(normal), wl.vec4(), Tangents()
                for _ in range(PASSES):
                    v_a, w_a, v_b, w_b, impulses, tangents = contact_pass(
                        v_a, w_a, v_b, w_b, a.inverse_mass, b.inverse_mass, a.world_inverse_inertia,
                        b.world_inverse_inertia, between, arms, normal, first, response, inverse_diagonal(response),
                        targets, stiffness, wl.vec4(), count, contact.friction, contact.slip_rates, impulses, tangents,
                    )  # fmt: skip
                a_passive = does_no_work(world, a)
                b_passive = does_no_work(world, b)
                if contact.restitution <= 1.0 and a_passive and b_passive:  # points solved in turn may add energy
                    a_along, a_square = work_of(world, a, v_a, w_a, a_gain * (time / h - 0.5))
                    b_along, b_square = work_of(world, b, v_b, w_b, b_gain * (time / h - 0.5))
                    if a_along + b_along + 0.5 * (a_square + b_square) > 0.0:
                        share = max(-2.0 * (a_along + b_along) / (a_square + b_square), 0.0)
                        v_a, w_a = a.velocity + (v_a - a.velocity) * share, a.spin + (w_a - a.spin) * share
                        v_b, w_b = b.velocity + (v_b - b.velocity) * share, b.spin + (w_b - b.spin) * share
                        impulses *= share
                knock(world, a, time, v_a, w_a)
                knock(world, b, time, v_b, w_b)
                contact.peaks = wl.max(contact.peaks, impulses)
                contact.impulse += sum_of(impulses)
                contact.struck = True

    @wl.function
    def collide(world: World, h: float):
        struck = False
        for _ in range(MAX_SWEEPS):
            start, strikes = 0, False
            for colour in range(world.contact_colours):
                end = world.at(Contact, world.first_solved + colour).colour_end
                for k in wl.share(end - start, disjoint=True):
                    contact = world.at(Contact, world.at(Contact, world.first_solved + start + k).order)
                    if contact.restitution > 0.0:
                        a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
                        strike(world, contact, a, b, h)
                start = end
            for k in range(start):
                contact = world.at(Contact, world.at(Contact, world.first_solved + k).order)
                strikes = strikes or (contact.restitution > 0.0 and contact.struck)
            if not strikes:
                break
            struck = True
        return struck

    @wl.function
    def let_pass(world: World, contact: Contact, a: Body, b: Body, stiffness: wl.vec4):
        speeds = normal_speeds(b.velocity - a.velocity, a.spin, b.spin, contact.between, contact.arms, contact.normal)
        for i in wl.unroll(4):
            if contact.gaps[i] > 0.0 and speeds[i] < -world.bounce_speed:
                stiffness[i] = 0.0
        return stiffness

    return may_bounce, collide, let_pass
