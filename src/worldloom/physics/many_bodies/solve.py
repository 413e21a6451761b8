"""Substeps of a world of many bodies, each of a few kernels over contacts and bodies.

**Mass splitting.** A body with n contacts is n bodies of the mass m / n, one for each contact, which a pass solves
independently of the others. Their mean velocity afterwards is that of the body under the sum of all impulses. A pass is
therefore a kernel over contacts, which computes impulses with masses divided by numbers of contacts, and a kernel over
bodies, which adds them up in the order of its contacts. It converges for any number of contacts (R. Tonge, F.
Benevolenski and A. Voroshilov, Mass splitting for jitter-free parallel rigid body simulation, 2012), and no sum depends
on the order of threads.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.solving.body_motion import body_functions
from worldloom.physics.solving.contact_passes import friction_pass, normal_pass, warm_start
from worldloom.physics.solving.solver import (
    WITH_BIAS,
    WITHOUT_BIAS,
    contact_aims,
    inverse_diagonal,
    normal_response,
    placed_points,
    slip_rates,
    softness,
)

RESTITUTION = 3  # a stage after the last substep


@wl.function
def bounce(peak: float, approach: float, bounce_speed: float) -> float:
    """Stiffness of a point in the restitution pass: 1 if it carried an impulse and approached fast."""
    if peak > 0.0 and approach < -bounce_speed:
        return 1.0
    return 0.0


def contact_pass(World: type, Body: type, Contact: type, stage: int) -> Any:
    """The system that computes the impulses of all contacts once, in a stage of a substep."""

    @wl.system
    def pass_contact(contact: Contact, world: World):
        if not contact.solved:
            return
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        count = contact.num_points
        h = world.dt / float(world.substeps)
        push_rate, soft_mass, soft_relief = softness(world.contact_frequency, world.contact_damping, h)
        targets, stiffness, relief = contact_aims(
            contact.gaps, count, stage == WITH_BIAS, 1.0 / h, push_rate, world.max_push, soft_mass, soft_relief
        )
        if stage == RESTITUTION:
            approach, peaks = contact.approach, contact.peaks
            targets = approach * -contact.restitution
            relief = wl.vec4()
            speed = world.bounce_speed if contact.restitution > 0.0 else 1.0e30
            for i in wl.unroll(4):
                stiffness[i] = bounce(peaks[i], approach[i], speed)
        a_mass, a_inverse = a.inverse_mass * contact.a_shares, a.world_inverse_inertia * contact.a_shares
        b_mass, b_inverse = b.inverse_mass * contact.b_shares, b.world_inverse_inertia * contact.b_shares
        v = b.velocity - a.velocity
        impulse, a_spin, b_spin, impulses = normal_pass(
            v, a.spin, b.spin, a_mass, b_mass, a_inverse, b_inverse, contact.between, contact.arms, contact.normal,
            contact.response, contact.stiffness, targets, stiffness, relief, contact.impulses,
        )  # fmt: skip
        v += impulse * (a_mass + b_mass)
        drag, a_spin, b_spin, tangents = friction_pass(
            v, a_spin, b_spin, a_mass, b_mass, a_inverse, b_inverse, contact.between, contact.arms, contact.normal,
            contact.tangent, count, contact.friction, contact.slip_rates, impulses, contact.tangents,
        )  # fmt: skip
        contact.push = impulse + drag
        contact.a_turn = (a_spin - a.spin) / max(contact.a_shares, 1.0)
        contact.b_turn = (b_spin - b.spin) / max(contact.b_shares, 1.0)
        if stage == RESTITUTION:
            before = contact.impulses
            contact.impulse += impulses[0] + impulses[1] + (impulses[2] + impulses[3])
            contact.impulse -= before[0] + before[1] + (before[2] + before[3])
        contact.impulses = impulses
        contact.tangents = tangents

    return pass_contact


def many_body_solver(World: type, Body: type, Contact: type, substeps: int, sweeps: int) -> list[Any]:
    """Systems over contacts and bodies for a fixed number of substeps and of sweeps in each half of one, in order."""
    bodies = body_functions(World, Body)
    push_body, move_body, release_body = bodies.push, bodies.move, bodies.release

    @wl.system
    def check_settings(world: World):
        if world.substeps != substeps:
            world.fail("substeps is {value}, which is not that of physics.systems(substeps=...)", world.substeps)

    @wl.system
    def begin_contact(contact: Contact, world: World):
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        contact.a_shares = float(a.num_links) if a.awake else 0.0
        contact.b_shares = float(b.num_links) if b.awake else 0.0
        contact.solved = contact.a_shares + contact.b_shares > 0.0
        contact.impulse = 0.0
        contact.peaks = wl.vec4()

    @wl.system
    def place_contact(contact: Contact, world: World):
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        contact.between = b.position - a.position
        contact.arms, contact.gaps = placed_points(
            contact.normal, contact.between, contact.a_anchors, a.rotation, contact.a_radius,
            contact.b_anchors, b.rotation, contact.b_radius,
        )  # fmt: skip
        contact.response = normal_response(
            contact.normal, contact.between, contact.arms,
            a.inverse_mass * contact.a_shares, b.inverse_mass * contact.b_shares,
            a.world_inverse_inertia * contact.a_shares, b.world_inverse_inertia * contact.b_shares,
        )  # fmt: skip
        contact.stiffness = inverse_diagonal(contact.response)

    @wl.system
    def rate_slips(contact: Contact, world: World):
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        contact.slip_rates = slip_rates(
            contact.normal, contact.tangent, contact.num_points, contact.between, contact.arms,
            a.inverse_mass * contact.a_shares, b.inverse_mass * contact.b_shares,
            a.world_inverse_inertia * contact.a_shares, b.world_inverse_inertia * contact.b_shares,
        )  # fmt: skip

    @wl.system
    def warm_contact(contact: Contact, world: World):
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        impulse, moment = warm_start(contact.normal, contact.tangent, contact.arms, contact.impulses, contact.tangents)
        contact.push = impulse
        contact.a_turn = a.world_inverse_inertia * -(moment + wl.cross(contact.between, impulse))
        contact.b_turn = b.world_inverse_inertia * moment

    @wl.system
    def apply_forces(body: Body, world: World):
        h = world.dt / float(world.substeps)
        push_body(world, body, h)

    @wl.system
    def add_impulses(body: Body, world: World):
        push = wl.vec3(0.0, 0.0, 0.0)
        turn = wl.vec3(0.0, 0.0, 0.0)
        for k in range(body.num_links):
            contact = world.at(Contact, body.links[k])
            if contact.a_id == body.id:
                push -= contact.push
                turn += contact.a_turn
            else:
                push += contact.push
                turn += contact.b_turn
        if body.awake:
            body.velocity += push * body.inverse_mass
            body.spin += turn

    @wl.system
    def move(body: Body, world: World):
        h = world.dt / float(world.substeps)
        move_body(world, body, h)

    @wl.system
    def sum_impulses(contact: Contact):
        contact.peaks = wl.max(contact.peaks, contact.impulses)
        contact.impulse += contact.impulses[0] + contact.impulses[1] + (contact.impulses[2] + contact.impulses[3])

    @wl.system
    def clear_forces(body: Body, world: World):
        release_body(world, body)

    biased, unbiased, bouncing = (
        contact_pass(World, Body, Contact, stage) for stage in (WITH_BIAS, WITHOUT_BIAS, RESTITUTION)
    )
    substep = [warm_contact, apply_forces, add_impulses, *[biased, add_impulses] * sweeps]
    substep += [move, place_contact, *[unbiased, add_impulses] * sweeps, sum_impulses]
    first = [check_settings, begin_contact, place_contact, rate_slips]
    return [*first, *substep * substeps, bouncing, add_impulses, clear_forces]
