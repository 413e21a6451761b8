"""Functions that take one contact through the stages of a substep, for systems over contacts of one colour.

They compute what :mod:`worldloom.physics.solving.contact_systems` computes, in the same order, and move less memory.
The contacts of a colour lie scattered, and a GPU moves memory in sectors of 32 bytes, by instructions of up to 16: each
small component costs a sector and an instruction per contact and pass, and a vector of 64 bytes two and four. What does
not change in a step is therefore packed into one vector, ``fixed``, what changes with the bodies into ``packed_arms``,
``apart`` and ``packed_response``, what changes in a pass into ``packed_impulses``, and
:mod:`worldloom.physics.solving.packed_bodies` has the state of bodies. Nothing else uses these vectors, so that they
can stay in shared memory. Every component is loaded once, and before the first one is stored: a compiler that cannot
know whether two columns overlap keeps loads after the stores before them, and a thread would wait for memory twice.

``fixed`` holds the normal (3), the tangent (3), slip rates (4), friction, the number of points with which bodies
without a mass move (bits MOVING_A and MOVING_B) and whether one of the bodies is round (bit ROUND), the rows of A and
B, and the inverse masses of A and B. Numbers of rows below 2**24 are exact as floats.
"""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Apart, Fixed, Impulses, Response, Tangents, Twist
from worldloom.physics.geometry.clipping import Points
from worldloom.physics.solving.body_access import BodyAccess
from worldloom.physics.solving.contact_passes import carried_spins, contact_pass, warm_pass
from worldloom.physics.solving.packed_bodies import turning_matrix, twist_of, twist_parts
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
POINTS = 7  # bits of COUNT
MOVING_A = 8
MOVING_B = 16
ROUND = 32


@wl.function
def packed_normal(fixed: Fixed) -> wl.vec3:
    """The normal of a contact."""
    return wl.vec3(fixed[NORMAL], fixed[NORMAL + 1], fixed[NORMAL + 2])


@wl.function
def packed_tangent(fixed: Fixed) -> wl.vec3:
    """The unit tangent of a contact."""
    return wl.vec3(fixed[TANGENT], fixed[TANGENT + 1], fixed[TANGENT + 2])


@wl.function
def packed_count(fixed: Fixed) -> int:
    """The number of points of a contact."""
    return int(fixed[COUNT]) & POINTS


@wl.function
def apart_of(gaps: wl.vec4, between: wl.vec3, impulse: float) -> Apart:
    """Separations, the vector between the centres and the impulse of the step as one vector."""
    return Apart(gaps[0], gaps[1], gaps[2], gaps[3], between.x, between.y, between.z, impulse)


@wl.function
def packed_impulses_of(impulses: wl.vec4, tangents: Tangents, peaks: wl.vec4) -> Impulses:
    """Normal and tangential impulses and the largest normal ones as one vector."""
    return Impulses(
        impulses[0], impulses[1], impulses[2], impulses[3], tangents[0], tangents[1], tangents[2], tangents[3],
        tangents[4], tangents[5], tangents[6], tangents[7], peaks[0], peaks[1], peaks[2], peaks[3],
    )  # fmt: skip


@wl.function
def impulse_parts(packed: Impulses):
    """(impulses, tangents, peaks)."""
    return (
        wl.vec4(packed[0], packed[1], packed[2], packed[3]),
        Tangents(packed[4], packed[5], packed[6], packed[7], packed[8], packed[9], packed[10], packed[11]),
        wl.vec4(packed[12], packed[13], packed[14], packed[15]),
    )


@wl.function
def apart_parts(apart: Apart):
    """(separations, between, impulse)."""
    return wl.vec4(apart[0], apart[1], apart[2], apart[3]), wl.vec3(apart[4], apart[5], apart[6]), apart[7]


@wl.function
def moves(velocity: wl.vec3, spin: wl.vec3) -> bool:
    """Whether a velocity or a spin is not 0."""
    return (
        velocity.x != 0.0 or velocity.y != 0.0 or velocity.z != 0.0 or spin.x != 0.0 or spin.y != 0.0 or spin.z != 0.0
    )


@dataclass(frozen=True)
class PackedFunctions:
    """Functions of a world, a contact, its two bodies and values of them.

    Attributes:
        pack: ``fixed`` without slip rates; it is not stored.
        states: The rows of the bodies whose packed state a pass loads for A and B: a body without a mass has none, and
            the other stands for it, so that loads need no branch. What a pass computes with it has no effect.
        inertias: The inverse inertias of both bodies.
        motions: Their velocities and spins by the packed ones: (v_a, w_a, v_b, w_b).
        place: What changes when bodies move: (between, arms, gaps, response).
        keep: Stores it.
        rate: Stores ``fixed`` with the step lengths of friction, once per step.
        warm: Applies the impulses of the previous step.
        follow: Lets what bodies repeat act at the points of the contact, which have moved.
        solve: Solves the contact once, with targets, stiffness and relief of its points, each of shape (4,): (normal
            impulses, tangential impulses).
    """

    pack: Any
    states: Any
    inertias: Any
    motions: Any
    place: Any
    keep: Any
    rate: Any
    warm: Any
    follow: Any
    solve: Any


def packed_functions(World: type, Body: type, Contact: type, access: BodyAccess) -> PackedFunctions:
    """The functions for the classes of a world."""
    place_of, turn_body = access.place, access.turn

    @wl.function
    def pack_contact(world: World, contact: Contact, a: Body, b: Body):
        normal, first = contact.normal, contact.tangent
        a_mass, b_mass = a.inverse_mass, b.inverse_mass
        count = contact.num_points
        if a_mass == 0.0 and moves(a.velocity, a.spin):
            count += MOVING_A
        if b_mass == 0.0 and moves(b.velocity, b.spin):
            count += MOVING_B
        if contact.a_radius + contact.b_radius > 0.0:
            count += ROUND
        fixed = Fixed(
            normal.x, normal.y, normal.z, first.x, first.y, first.z, 0.0, 0.0, 0.0, 0.0, contact.friction,
            float(count), float(contact.a_id), float(contact.b_id), a_mass, b_mass,
        )  # fmt: skip
        return fixed

    @wl.function
    def states(world: World, fixed: Fixed):
        a_row, b_row = int(fixed[A_ROW]), int(fixed[B_ROW])
        a_state, b_state = a_row, b_row
        if fixed[A_MASS] == 0.0:
            a_state = b_row
        if fixed[B_MASS] == 0.0:
            b_state = a_row
        return a_state, b_state

    @wl.function
    def inertias(world: World, a_state: Body, b_state: Body):
        a_inverse, b_inverse = turning_matrix(a_state.turning), turning_matrix(b_state.turning)
        return a_inverse, b_inverse

    @wl.function
    def motion_of(world: World, body: Body, twist: Twist, mass: float, moving: bool):
        velocity, spin = twist_parts(twist)
        if mass == 0.0:
            velocity, spin = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
            if moving:
                velocity, spin = body.velocity, body.spin
        return velocity, spin

    @wl.function
    def motions(world: World, a: Body, b: Body, a_twist: Twist, b_twist: Twist, fixed: Fixed):
        bits = int(fixed[COUNT])
        v_a, w_a = motion_of(world, a, a_twist, fixed[A_MASS], bits & MOVING_A != 0)
        v_b, w_b = motion_of(world, b, b_twist, fixed[B_MASS], bits & MOVING_B != 0)
        return v_a, w_a, v_b, w_b

    @wl.function
    def place_contact(
        world: World, contact: Contact, a: Body, b: Body, fixed: Fixed, a_inverse: wl.mat33, b_inverse: wl.mat33
    ):
        normal = packed_normal(fixed)
        a_position, a_rotation = place_of(world, a, fixed[A_MASS])
        b_position, b_rotation = place_of(world, b, fixed[B_MASS])
        between = b_position - a_position
        a_radius, b_radius = 0.0, 0.0
        if int(fixed[COUNT]) & ROUND != 0:
            a_radius, b_radius = contact.a_radius, contact.b_radius
        arms, gaps = placed_points(
            normal, between, contact.a_anchors, a_rotation, a_radius, contact.b_anchors, b_rotation, b_radius
        )
        response = normal_response(normal, between, arms, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse)
        return between, arms, gaps, response

    @wl.function
    def keep_contact(
        world: World,
        contact: Contact,
        between: wl.vec3,
        arms: Points,
        gaps: wl.vec4,
        response: Response,
        impulse: float,
    ):
        contact.packed_arms = arms
        contact.apart = apart_of(gaps, between, impulse)
        contact.packed_response = response

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
            normal, first, packed_count(fixed), between, arms, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse
        )
        for i in wl.unroll(4):
            fixed[SLIP_RATES + i] = rates[i]
        contact.fixed = fixed

    @wl.function
    def warm_contact(
        world: World,
        a: Body,
        b: Body,
        fixed: Fixed,
        v_a: wl.vec3,
        w_a: wl.vec3,
        v_b: wl.vec3,
        w_b: wl.vec3,
        a_inverse: wl.mat33,
        b_inverse: wl.mat33,
        between: wl.vec3,
        arms: Points,
        impulses: wl.vec4,
        tangents: Tangents,
    ):
        normal = packed_normal(fixed)
        first = packed_tangent(fixed)
        v_a, w_a, v_b, w_b = warm_pass(
            v_a, w_a, v_b, w_b, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse,
            between, arms, normal, first, impulses, tangents,
        )  # fmt: skip
        turn_body(world, a, fixed[A_MASS], v_a, w_a)
        turn_body(world, b, fixed[B_MASS], v_b, w_b)

    @wl.function
    def follow_contact(
        world: World,
        a: Body,
        b: Body,
        fixed: Fixed,
        a_pushed: Twist,
        b_pushed: Twist,
        a_inverse: wl.mat33,
        b_inverse: wl.mat33,
        between_change: wl.vec3,
        arms_change: Points,
        impulses: wl.vec4,
        tangents: Tangents,
    ):
        v_a, w_a = twist_parts(a_pushed)
        v_b, w_b = twist_parts(b_pushed)
        w_a, w_b = carried_spins(
            w_a, w_b, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse, between_change, arms_change,
            packed_normal(fixed), packed_tangent(fixed), impulses, tangents,
        )  # fmt: skip
        if fixed[A_MASS] > 0.0:
            a.pushed = twist_of(v_a, w_a)
        if fixed[B_MASS] > 0.0:
            b.pushed = twist_of(v_b, w_b)

    @wl.function
    def solve_contact(
        world: World,
        a: Body,
        b: Body,
        fixed: Fixed,
        v_a: wl.vec3,
        w_a: wl.vec3,
        v_b: wl.vec3,
        w_b: wl.vec3,
        a_inverse: wl.mat33,
        b_inverse: wl.mat33,
        between: wl.vec3,
        arms: Points,
        response: Response,
        targets: wl.vec4,
        stiffness: wl.vec4,
        relief: wl.vec4,
        impulses: wl.vec4,
        tangents: Tangents,
    ):
        normal = packed_normal(fixed)
        first = packed_tangent(fixed)
        rates = wl.vec4(fixed[SLIP_RATES], fixed[SLIP_RATES + 1], fixed[SLIP_RATES + 2], fixed[SLIP_RATES + 3])
        v_a, w_a, v_b, w_b, impulses, tangents = contact_pass(
            v_a, w_a, v_b, w_b, fixed[A_MASS], fixed[B_MASS], a_inverse, b_inverse,
            between, arms, normal, first, response, inverse_diagonal(response), targets, stiffness, relief,
            packed_count(fixed), fixed[FRICTION], rates, impulses, tangents,
        )  # fmt: skip
        turn_body(world, a, fixed[A_MASS], v_a, w_a)
        turn_body(world, b, fixed[B_MASS], v_b, w_b)
        return impulses, tangents

    return PackedFunctions(
        pack_contact,
        states,
        inertias,
        motions,
        place_contact,
        keep_contact,
        rate_contact,
        warm_contact,
        follow_contact,
        solve_contact,
    )
