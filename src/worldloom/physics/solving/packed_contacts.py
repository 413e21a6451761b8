"""Functions that take one contact through the stages of a substep, for kernels over contacts of one colour.

They compute what :mod:`worldloom.physics.solving.contact_systems` computes, in the same order, and move less memory.
The contacts of a kernel lie scattered, and a GPU moves memory in sectors of 32 bytes: each small component costs a
sector per contact and pass, and a vector of 64 bytes costs two. What does not change in a step is therefore packed into
one vector, ``fixed``; every component is loaded once; and the inertia of bodies that are not dynamic is not loaded.
Everything is loaded before the first component is stored: a compiler that cannot know whether two columns overlap keeps
loads after the stores before them, and a thread would wait for memory twice.

``fixed`` holds the normal (3), the tangent (3), slip rates (4), friction, the number of points, the rows of A and B,
and the inverse masses of A and B. Numbers of rows below 2**24 are exact as floats.
"""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Fixed, Response
from worldloom.physics.geometry.clipping import Points
from worldloom.physics.solving.contact_passes import contact_pass, warm_pass
from worldloom.physics.solving.solver import inverse_diagonal, normal_response, placed_points, slip_rates

NORMAL = 0
TANGENT = 3
SLIP_RATES = 6
FRICTION = 10
COUNT = 11
A_ROW = 12
B_ROW = 13
A_MASS = 14
B_MASS = 15


@wl.function
def packed_normal(fixed: Fixed) -> wl.vec3:
    """The normal of a contact."""
    return wl.vec3(fixed[NORMAL], fixed[NORMAL + 1], fixed[NORMAL + 2])


@wl.function
def packed_tangent(fixed: Fixed) -> wl.vec3:
    """The unit tangent of a contact."""
    return wl.vec3(fixed[TANGENT], fixed[TANGENT + 1], fixed[TANGENT + 2])


@dataclass(frozen=True)
class PackedFunctions:
    """Functions of a world, a contact, its two bodies and values of them.

    Attributes:
        pack: ``fixed`` without slip rates; it is not stored.
        inertias: The inverse inertias of both bodies, 0 for one that is not dynamic.
        place: What changes when bodies move: (between, arms, gaps, response).
        keep: Stores it.
        rate: Stores ``fixed`` with the step lengths of friction, once per step.
        warm: Applies the impulses of the previous substep.
        solve: Solves the contact once, with targets, stiffness and relief of its points, each of shape (4,): its normal
            impulses.
    """

    pack: Any
    inertias: Any
    place: Any
    keep: Any
    rate: Any
    warm: Any
    solve: Any


def packed_functions(World: type, Body: type, Contact: type) -> PackedFunctions:
    """The functions for the classes of a world."""

    @wl.function
    def pack_contact(world: World, contact: Contact, a: Body, b: Body):
        normal, first = contact.normal, contact.tangent
        fixed = Fixed(
            normal.x, normal.y, normal.z, first.x, first.y, first.z, 0.0, 0.0, 0.0, 0.0, contact.friction,
            float(contact.num_points), float(contact.a_id), float(contact.b_id), a.inverse_mass, b.inverse_mass,
        )  # fmt: skip
        return fixed

    @wl.function
    def inertias(world: World, a: Body, b: Body, fixed: Fixed):
        a_inverse, b_inverse = wl.mat33(), wl.mat33()
        if fixed[A_MASS] > 0.0:
            a_inverse = a.world_inverse_inertia
        if fixed[B_MASS] > 0.0:
            b_inverse = b.world_inverse_inertia
        return a_inverse, b_inverse

    @wl.function
    def place_contact(
        world: World, contact: Contact, a: Body, b: Body, fixed: Fixed, a_inverse: wl.mat33, b_inverse: wl.mat33
    ):
        normal = packed_normal(fixed)
        between = b.position - a.position
        arms, gaps = placed_points(
            normal, between, contact.a_anchors, a.rotation, contact.a_radius, contact.b_anchors, b.rotation,
            contact.b_radius,
        )  # fmt: skip
        response = normal_response(normal, between, arms, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse)
        return between, arms, gaps, response

    @wl.function
    def keep_contact(world: World, contact: Contact, between: wl.vec3, arms: Points, gaps: wl.vec4, response: Response):
        contact.between = between
        contact.arms = arms
        contact.gaps = gaps
        contact.response = response

    @wl.function
    def rate_contact(
        world: World,
        contact: Contact,
        fixed: Fixed,
        a_inverse: wl.mat33,
        b_inverse: wl.mat33,
        between: wl.vec3,
        arms: Points,
    ):
        normal = packed_normal(fixed)
        first = packed_tangent(fixed)
        rates = slip_rates(
            normal, first, int(fixed[COUNT]), between, arms, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse
        )
        for i in wl.unroll(4):
            fixed[SLIP_RATES + i] = rates[i]
        contact.fixed = fixed

    @wl.function
    def warm_contact(
        world: World,
        contact: Contact,
        a: Body,
        b: Body,
        fixed: Fixed,
        a_inverse: wl.mat33,
        b_inverse: wl.mat33,
        between: wl.vec3,
        arms: Points,
    ):
        normal = packed_normal(fixed)
        first = packed_tangent(fixed)
        v_a, w_a, v_b, w_b = warm_pass(
            a.velocity, a.spin, b.velocity, b.spin, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse,
            between, arms, normal, first, contact.impulses, contact.tangents,
        )  # fmt: skip
        if fixed[A_MASS] > 0.0:
            a.velocity, a.spin = v_a, w_a
        if fixed[B_MASS] > 0.0:
            b.velocity, b.spin = v_b, w_b

    @wl.function
    def solve_contact(
        world: World,
        contact: Contact,
        a: Body,
        b: Body,
        fixed: Fixed,
        a_inverse: wl.mat33,
        b_inverse: wl.mat33,
        between: wl.vec3,
        arms: Points,
        response: Response,
        targets: wl.vec4,
        stiffness: wl.vec4,
        relief: wl.vec4,
    ):
        normal = packed_normal(fixed)
        first = packed_tangent(fixed)
        rates = wl.vec4(fixed[SLIP_RATES], fixed[SLIP_RATES + 1], fixed[SLIP_RATES + 2], fixed[SLIP_RATES + 3])
        v_a, w_a, v_b, w_b, impulses, tangents = contact_pass(
            a.velocity, a.spin, b.velocity, b.spin, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse,
            between, arms, normal, first, response, inverse_diagonal(response), targets, stiffness, relief,
            int(fixed[COUNT]), fixed[FRICTION], rates, contact.impulses, contact.tangents,
        )  # fmt: skip
        contact.impulses = impulses
        contact.tangents = tangents
        if fixed[A_MASS] > 0.0:
            a.velocity, a.spin = v_a, w_a
        if fixed[B_MASS] > 0.0:
            b.velocity, b.spin = v_b, w_b
        return impulses

    return PackedFunctions(
        pack_contact, inertias, place_contact, keep_contact, rate_contact, warm_contact, solve_contact
    )
