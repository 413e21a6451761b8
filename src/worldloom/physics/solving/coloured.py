"""Substeps by systems over contacts of one colour and over bodies, for thousands of worlds on a GPU.

A pass goes through the contacts of the first colour, then those of the second, and so on. Each contact has a thread,
and contacts of a colour have no dynamic body in common, so the order of operations on a body, and with it every bit, is
that of the solver over worlds (:mod:`worldloom.physics.substeps`). The systems run together: a block of threads takes
a few worlds through all of them, with the contacts of their colour from a list. Batches of up to 16,896 worlds keep the
packed state of contacts and bodies in shared memory, as far as it fits.

The number of passes is fixed. Worlds with other settings, with more than COLOURS colours, those in which bodies may
bounce in this step, and worlds without gravity, which check the work of their contacts, are left to the solver over
worlds.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, KINEMATIC
from worldloom.physics.joints.aims import joint_softness
from worldloom.physics.joints.systems import joint_function
from worldloom.physics.motion import turned
from worldloom.physics.solving.body_motion import body_functions, stage_of
from worldloom.physics.solving.colouring import COLOURS, PASSES, SUBSTEPS, SWEEPS
from worldloom.physics.solving.lone_bodies import lone_system
from worldloom.physics.solving.packed_bodies import packed_bodies
from worldloom.physics.solving.packed_contacts import (
    A_ROW,
    B_ROW,
    apart_parts,
    impulse_parts,
    packed_count,
    packed_functions,
    packed_impulses_of,
)
from worldloom.physics.solving.solver import (
    WARM_START,
    contact_aims,
    softness,
    sum_of,
)


@wl.function
def contact_softness(dt: float, frequency: float, damping: float):
    """The soft constraint of a substep: (h in s, velocity per penetration 1/s, factors of mass and impulse)."""
    h = dt / float(SUBSTEPS)
    rate, mass, relief = softness(frequency, damping, h)
    return h, rate, mass, relief


def coloured_systems(World: type, Body: type, Contact: type, Joint: type) -> list[Any]:
    """The systems of all substeps, in order."""
    packed = packed_bodies(World, Body)
    contacts = packed_functions(World, Body, Contact, packed.access)
    pack_contact, states, inertias, motions = contacts.pack, contacts.states, contacts.inertias, contacts.motions
    place_contact = contacts.place
    keep_contact, rate_contact, warm_contact = contacts.keep, contacts.rate, contacts.warm
    follow_contact, solve_contact = contacts.follow, contacts.solve
    pack_body, unpack_body, restart_packed, move_packed = packed.pack, packed.unpack, packed.restart, packed.move
    solve_joint = joint_function(World, Body, Joint, packed.access)

    @wl.function
    def begin(world: World, contact: Contact):
        """The first warm start of a step."""
        a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
        fixed = pack_contact(world, contact, a, b)
        a_row, b_row = states(world, fixed)
        a_state, b_state = world.at(Body, a_row), world.at(Body, b_row)
        a_twist, b_twist = a_state.twist, b_state.twist
        a_inverse, b_inverse = inertias(world, a_state, b_state)
        between, arms, gaps, response = place_contact(world, contact, a, b, fixed, a_inverse, b_inverse)
        v_a, w_a, v_b, w_b = motions(world, a, b, a_twist, b_twist, fixed)
        impulses, tangents, impulse = contact.impulses, contact.tangents, contact.impulse
        contact.packed_impulses = packed_impulses_of(impulses, tangents, contact.peaks)
        warm_contact(world, a, b, fixed, v_a, w_a, v_b, w_b, a_inverse, b_inverse, between, arms, impulses, tangents)
        rate_contact(world, contact, fixed, a_inverse, b_inverse, between, arms)
        keep_contact(world, contact, between, arms, gaps, response, impulse)

    @wl.function
    def relax(world: World, contact: Contact):
        """A pass without bias, after bodies have moved."""
        fixed, old_arms = contact.fixed, contact.packed_arms
        _old_gaps, old_between, impulse = apart_parts(contact.apart)
        impulses, tangents, peaks = impulse_parts(contact.packed_impulses)
        h, rate, mass, relief = contact_softness(world.dt, world.contact_frequency, world.contact_damping)
        a, b = world.at(Body, int(fixed[A_ROW])), world.at(Body, int(fixed[B_ROW]))
        a_row, b_row = states(world, fixed)
        a_state, b_state = world.at(Body, a_row), world.at(Body, b_row)
        a_twist, b_twist = a_state.twist, b_state.twist
        a_pushed, b_pushed = a_state.pushed, b_state.pushed
        a_inverse, b_inverse = inertias(world, a_state, b_state)
        between, arms, gaps, response = place_contact(world, contact, a, b, fixed, a_inverse, b_inverse)
        v_a, w_a, v_b, w_b = motions(world, a, b, a_twist, b_twist, fixed)
        targets, stiffness, reliefs = contact_aims(
            gaps, packed_count(fixed), False, 1.0 / h, rate, world.max_push, mass, relief
        )
        follow_contact(
            world, a, b, fixed, a_pushed, b_pushed, a_inverse, b_inverse, between - old_between, arms - old_arms,
            impulses, tangents,
        )  # fmt: skip
        impulses, tangents = solve_contact(
            world, a, b, fixed, v_a, w_a, v_b, w_b, a_inverse, b_inverse, between, arms, response,
            targets, stiffness, reliefs, impulses, tangents,
        )  # fmt: skip
        contact.packed_impulses = packed_impulses_of(impulses, tangents, wl.max(peaks, impulses))
        keep_contact(world, contact, between, arms, gaps, response, impulse + sum_of(impulses))

    @wl.function
    def press(world: World, contact: Contact):
        """A pass with bias."""
        fixed, arms, response = contact.fixed, contact.packed_arms, contact.packed_response
        gaps, between, _impulse = apart_parts(contact.apart)
        impulses, tangents, peaks = impulse_parts(contact.packed_impulses)
        h, rate, mass, relief = contact_softness(world.dt, world.contact_frequency, world.contact_damping)
        a, b = world.at(Body, int(fixed[A_ROW])), world.at(Body, int(fixed[B_ROW]))
        a_row, b_row = states(world, fixed)
        a_state, b_state = world.at(Body, a_row), world.at(Body, b_row)
        a_inverse, b_inverse = inertias(world, a_state, b_state)
        v_a, w_a, v_b, w_b = motions(world, a, b, a_state.twist, b_state.twist, fixed)
        targets, stiffness, reliefs = contact_aims(
            gaps, packed_count(fixed), True, 1.0 / h, rate, world.max_push, mass, relief
        )
        impulses, tangents = solve_contact(
            world, a, b, fixed, v_a, w_a, v_b, w_b, a_inverse, b_inverse, between, arms, response,
            targets, stiffness, reliefs, impulses, tangents,
        )  # fmt: skip
        contact.packed_impulses = packed_impulses_of(impulses, tangents, peaks)

    @wl.system(where=("batch", range(COLOURS)), disjoint=True, together=True)
    def unpack_contacts(listed: Contact, world: World):
        """After the last substep; the contact has the vector between its bodies."""
        contact = world.at(Contact, listed.id)
        _gaps, between, impulse = apart_parts(contact.apart)
        impulses, tangents, peaks = impulse_parts(contact.packed_impulses)
        contact.impulses, contact.tangents, contact.peaks, contact.impulse = impulses, tangents, peaks, impulse
        contact.between = between

    @wl.system(together=True, concurrent=True)
    def solve_joints(world: World):
        """The next pass over all joints; where bodies repeat the impulses of contacts, the next two.

        Contacts of the first colour have none of their bodies, see colouring.
        """
        if world.by_colour and world.count(Joint) > 0:
            h = world.dt / float(SUBSTEPS)
            rate, mass, relief = joint_softness(world.joint_frequency, world.joint_damping, h)
            number, due = world.joint_passes, True
            while due:
                stage = stage_of(number % PASSES, SWEEPS)
                for _sweep in range(world.joint_sweeps if stage != WARM_START else 1):
                    for joint in world.all(Joint):
                        solve_joint(world, joint, stage, h, rate, mass, relief)
                number += 1
                due = stage == WARM_START and number > PASSES
            world.joint_passes = number

    def stage_systems(pass_contact: Any) -> list[Any]:
        """The systems that take all joints and contacts through a stage."""

        @wl.system(where=("batch", range(COLOURS)), disjoint=True, together=True)
        def solve_colours(listed: Contact, world: World):
            contact = world.at(Contact, listed.id)
            pass_contact(world, contact)

        return [solve_joints, solve_colours]

    @wl.system(separate=True, disjoint=True)
    def sort_bodies(body: Body, world: World):
        """Finds bodies that systems over bodies move: those that are awake, without those of LONE contacts."""
        body.batch = int(world.by_colour and body.awake and body.colours != 1)
        if world.by_colour and body.motion == DYNAMIC and not body.awake:
            sleeper = world.at(Body, body.id)
            sleeper.velocity = wl.vec3(0.0, 0.0, 0.0)
            sleeper.spin = wl.vec3(0.0, 0.0, 0.0)

    # By row, so that a thread loads and stores only what its body needs.

    @wl.system(where=("batch", 1), disjoint=True, together=True)
    def pack_movers(listed: Body, world: World):
        """Before the first substep."""
        body = world.at(Body, listed.id)
        if body.inverse_mass > 0.0:
            pack_body(world, body)

    @wl.system(where=("batch", 1), disjoint=True, together=True)
    def restart_movers(listed: Body, world: World):
        body = world.at(Body, listed.id)
        if body.inverse_mass > 0.0:
            restart_packed(world, body, world.dt / float(SUBSTEPS))

    @wl.system(where=("batch", 1), disjoint=True, together=True)
    def move_bodies(listed: Body, world: World):
        body, h = world.at(Body, listed.id), world.dt / float(SUBSTEPS)
        if body.inverse_mass > 0.0:
            move_packed(world, body, h)
        elif body.motion == KINEMATIC:
            body.position += body.velocity * h
            body.rotation = turned(body.rotation, body.spin, h)

    @wl.system(where=("batch", 1), disjoint=True, together=True)
    def unpack_movers(listed: Body, world: World):
        body = world.at(Body, listed.id)
        if body.inverse_mass > 0.0:
            unpack_body(world, body)

    begun, biased, relaxed = map(stage_systems, (begin, press, relax))
    rest = [*biased, move_bodies, *relaxed]
    first = [pack_movers, restart_movers, *begun, *rest]
    later = [restart_movers, *rest] * (SUBSTEPS - 1)
    lone = lone_system(World, Body, Contact)
    return [sort_bodies, lone, *first, *later, unpack_contacts, unpack_movers]


def release_system(World: type, Body: type) -> Any:
    """The system that ends the forces on bodies of worlds that are solved by colour."""
    release_body = body_functions(World, Body).release

    @wl.system
    def release_bodies(body: Body, world: World):
        if world.by_colour:
            release_body(world, body)

    return release_bodies
