"""The function that takes one contact through a stage of a substep."""

from typing import Any

import worldloom as wl
from worldloom.physics.solving.contact_passes import friction_pass, normal_pass, turn, warm_start
from worldloom.physics.solving.solver import (
    RESTITUTION,
    WARM_START,
    WITH_BIAS,
    bounce,
    contact_aims,
    inverse_diagonal,
    normal_response,
    placed_points,
    slip_rates,
)


def contact_function(World: type, Body: type, Contact: type) -> Any:
    """The function that takes one contact through a stage of a substep; a system over the world calls it."""

    @wl.function
    def solve_contact(
        world: World,
        contact: Contact,
        stage: int,
        first: bool,
        integrated: bool,
        finished: bool,
        relaxed: bool,
        h: float,
        push_rate: float,
        soft_mass: float,
        soft_relief: float,
    ):
        """Solves a contact once.

        Args:
            world: its world.
            contact: the contact.
            stage: WARM_START, WITH_BIAS, WITHOUT_BIAS or RESTITUTION.
            first: whether this is the first pass of the step.
            integrated: whether bodies have moved since the last pass.
            finished: whether this is the last regular pass of the substep.
            relaxed: whether this is one of the extra passes after it.
            h: s, of a substep.
            push_rate: velocity per penetration, 1/s.
            soft_mass: stiffness of penetrating points.
            soft_relief: relief of penetrating points.
        """
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        normal = contact.normal
        count = contact.num_points
        between = b.position - a.position
        a_mass, b_mass = a.inverse_mass, b.inverse_mass
        a_inverse, b_inverse = a.world_inverse_inertia, b.world_inverse_inertia
        if first or integrated:
            contact.between = between
            contact.arms, contact.gaps = placed_points(
                normal, between, contact.a_anchors, a.rotation, contact.a_radius,
                contact.b_anchors, b.rotation, contact.b_radius,
            )  # fmt: skip
            contact.response = normal_response(normal, between, contact.arms, a_mass, b_mass, a_inverse, b_inverse)
            contact.stiffness = inverse_diagonal(contact.response)
            if first:
                contact.slip_rates = slip_rates(
                    normal, contact.tangent, count, between, contact.arms, a_mass, b_mass, a_inverse, b_inverse
                )
        arms = contact.arms
        impulses, tangents = contact.impulses, contact.tangents
        w_a, w_b = a.spin, b.spin
        if stage == WARM_START:
            impulse, moment = warm_start(normal, contact.tangent, arms, impulses, tangents)
            w_a, w_b = turn(w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, impulse, moment)
        else:
            targets, stiffness, relief = contact_aims(
                contact.gaps,
                count,
                stage == WITH_BIAS,
                1.0 / h,
                push_rate,
                world.max_push,
                soft_mass,
                soft_relief,
            )
            if stage == RESTITUTION:
                approach = contact.approach
                peaks = contact.peaks
                targets = approach * -contact.restitution
                relief = wl.vec4()
                for i in wl.unroll(4):
                    stiffness[i] = bounce(peaks[i], approach[i], world.bounce_speed)
            v = b.velocity - a.velocity
            impulse, w_a, w_b, impulses = normal_pass(
                v, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, arms, normal,
                contact.response, contact.stiffness, targets, stiffness, relief, impulses,
            )  # fmt: skip
            v += impulse * (a_mass + b_mass)
            drag, w_a, w_b, tangents = friction_pass(
                v, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, arms, normal,
                contact.tangent, count, contact.friction, contact.slip_rates, impulses, tangents,
            )  # fmt: skip
            impulse += drag
            total = impulses[0] + impulses[1] + impulses[2] + impulses[3]
            if relaxed or stage == RESTITUTION:
                before = contact.impulses
                contact.impulse += total - (before[0] + before[1] + before[2] + before[3])
            elif finished:
                contact.peaks = wl.max(contact.peaks, impulses)
                contact.impulse += total
            contact.impulses = impulses
            contact.tangents = tangents
        if a_mass > 0.0:
            a.velocity -= impulse * a_mass
            a.spin = w_a
        if b_mass > 0.0:
            b.velocity += impulse * b_mass
            b.spin = w_b

    return solve_contact
