"""Functions that take one contact through the stages of a substep; systems over worlds or contacts call them."""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.solving.contact_passes import carried_spins, contact_pass, warm_pass
from worldloom.physics.solving.packed_bodies import twist_of, twist_parts
from worldloom.physics.solving.solver import inverse_diagonal, normal_response, placed_points, slip_rates, sum_of


@dataclass(frozen=True)
class ContactFunctions:
    """Functions of a world, a contact and its two bodies.

    Attributes:
        place: Computes what changes when bodies move: arms, separations and the matrix of the manifold.
        follow: ``place``, and lets what bodies repeat act at the points as they are then.
        rate: Computes the step lengths of friction, once per step.
        warm: Applies the impulses of the previous step.
        solve: Solves the contact once, with targets, stiffness and relief of its points, each of shape (4,).
        note: Adds the normal impulses of a substep to those of the step; of the world and the contact alone.
    """

    place: Any
    follow: Any
    rate: Any
    warm: Any
    solve: Any
    note: Any


def contact_functions(World: type, Body: type, Contact: type) -> ContactFunctions:
    """The functions for the classes of a world."""

    @wl.function
    def place_contact(world: World, contact: Contact, a: Body, b: Body):
        normal, between = contact.normal, b.position - a.position
        arms, gaps = placed_points(
            normal, between, contact.a_anchors, a.rotation, contact.a_radius, contact.b_anchors, b.rotation,
            contact.b_radius,
        )  # fmt: skip
        response = normal_response(
            normal, between, arms, a.inverse_mass, b.inverse_mass, a.world_inverse_inertia, b.world_inverse_inertia
        )
        contact.between = between
        contact.arms = arms
        contact.gaps = gaps
        contact.response = response
        contact.stiffness = inverse_diagonal(response)

    @wl.function
    def follow_contact(world: World, contact: Contact, a: Body, b: Body):
        between, arms = contact.between, contact.arms
        place_contact(world, contact, a, b)
        v_a, w_a = twist_parts(a.pushed)
        v_b, w_b = twist_parts(b.pushed)
        w_a, w_b = carried_spins(
            w_a, w_b, a.inverse_mass, b.inverse_mass, a.world_inverse_inertia, b.world_inverse_inertia,
            contact.between - between, contact.arms - arms, contact.normal, contact.tangent, contact.impulses,
            contact.tangents,
        )  # fmt: skip
        if a.inverse_mass > 0.0:
            a.pushed = twist_of(v_a, w_a)
        if b.inverse_mass > 0.0:
            b.pushed = twist_of(v_b, w_b)

    @wl.function
    def rate_contact(world: World, contact: Contact, a: Body, b: Body):
        contact.slip_rates = slip_rates(
            contact.normal, contact.tangent, contact.num_points, contact.between, contact.arms,
            a.inverse_mass, b.inverse_mass, a.world_inverse_inertia, b.world_inverse_inertia,
        )  # fmt: skip

    @wl.function
    def warm_contact(world: World, contact: Contact, a: Body, b: Body):
        v_a, w_a, v_b, w_b = warm_pass(
            a.velocity, a.spin, b.velocity, b.spin, a.inverse_mass, b.inverse_mass,
            a.world_inverse_inertia, b.world_inverse_inertia, contact.between, contact.arms,
            contact.normal, contact.tangent, contact.impulses, contact.tangents,
        )  # fmt: skip
        if a.inverse_mass > 0.0:
            a.velocity, a.spin = v_a, w_a
        if b.inverse_mass > 0.0:
            b.velocity, b.spin = v_b, w_b

    @wl.function
    def solve_contact(
        world: World, contact: Contact, a: Body, b: Body, targets: wl.vec4, stiffness: wl.vec4, relief: wl.vec4
    ):
        v_a, w_a, v_b, w_b, impulses, tangents = contact_pass(
            a.velocity, a.spin, b.velocity, b.spin, a.inverse_mass, b.inverse_mass,
            a.world_inverse_inertia, b.world_inverse_inertia, contact.between, contact.arms,
            contact.normal, contact.tangent, contact.response, contact.stiffness, targets, stiffness, relief,
            contact.num_points, contact.friction, contact.slip_rates, contact.impulses, contact.tangents,
        )  # fmt: skip
        contact.impulses = impulses
        contact.tangents = tangents
        if a.inverse_mass > 0.0:
            a.velocity, a.spin = v_a, w_a
        if b.inverse_mass > 0.0:
            b.velocity, b.spin = v_b, w_b

    @wl.function
    def note_impulses(world: World, contact: Contact):
        contact.peaks = wl.max(contact.peaks, contact.impulses)
        contact.impulse += sum_of(contact.impulses)

    return ContactFunctions(place_contact, follow_contact, rate_contact, warm_contact, solve_contact, note_impulses)
