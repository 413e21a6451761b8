"""Substeps by kernels over contacts of one colour and over bodies, for thousands of worlds on a GPU.

All worlds go through a stage together: contacts of the first colour in any world, then those of the second, and so on.
Each contact has a thread, and contacts of a colour have no dynamic body in common, so the order of operations on a
body, and with it every bit, is that of the solver over worlds (:mod:`worldloom.physics.substeps`). Contacts of later
colours than the first COLOURS follow in one thread: few worlds have them.

The number of kernels is fixed. Worlds with other settings, and worlds without gravity, which check the work of their
contacts, are left to the solver over worlds.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.joints.systems import joint_function
from worldloom.physics.solving.body_motion import body_functions
from worldloom.physics.solving.colouring import COLOURS, LATER, SUBSTEPS
from worldloom.physics.solving.contact_systems import contact_functions
from worldloom.physics.solving.solver import (
    RESTITUTION,
    WARM_START,
    WITH_BIAS,
    WITHOUT_BIAS,
    bounce_aims,
    contact_aims,
    softness,
    sum_of,
)


@wl.function
def contact_softness(dt: float, frequency: float, damping: float):
    """The soft constraint of a substep: (h in s, velocity per penetration 1/s, factors of mass and impulse)."""
    h = dt / float(SUBSTEPS)
    rate, mass, relief = softness(min(frequency, 0.25 / h), damping, h)
    return h, rate, mass, relief


def coloured_systems(World: type, Body: type, Contact: type, Joint: type) -> list[Any]:
    """The systems of all substeps, in order."""
    contacts, bodies = contact_functions(World, Body, Contact), body_functions(World, Body)
    place_contact, rate_contact, warm_contact = contacts.place, contacts.rate, contacts.warm
    solve_contact, note_impulses = contacts.solve, contacts.note
    push_body, move_body, release_body = bodies.push, bodies.move, bodies.release
    solve_joint = joint_function(World, Body, Joint)

    @wl.function
    def begin(world: World, contact: Contact, a: Body, b: Body):
        """The first warm start of a step."""
        place_contact(world, contact, a, b)
        rate_contact(world, contact, a, b)
        warm_contact(world, contact, a, b)

    @wl.function
    def relax(world: World, contact: Contact, a: Body, b: Body):
        """A pass without bias, after bodies have moved."""
        h, rate, mass, relief = contact_softness(world.dt, world.contact_frequency, world.contact_damping)
        place_contact(world, contact, a, b)
        targets, stiffness, reliefs = contact_aims(
            contact.gaps, contact.num_points, False, 1.0 / h, rate, world.max_push, mass, relief
        )
        solve_contact(world, contact, a, b, targets, stiffness, reliefs)
        note_impulses(world, contact)

    @wl.function
    def press(world: World, contact: Contact, a: Body, b: Body):
        """A pass with bias."""
        h, rate, mass, relief = contact_softness(world.dt, world.contact_frequency, world.contact_damping)
        targets, stiffness, reliefs = contact_aims(
            contact.gaps, contact.num_points, True, 1.0 / h, rate, world.max_push, mass, relief
        )
        solve_contact(world, contact, a, b, targets, stiffness, reliefs)

    @wl.function
    def bounce(world: World, contact: Contact, a: Body, b: Body):
        """The pass with restitution."""
        if contact.restitution != 0.0:
            targets, stiffness, reliefs = bounce_aims(
                contact.peaks, contact.approach, contact.restitution, world.bounce_speed
            )
            before = sum_of(contact.impulses)
            solve_contact(world, contact, a, b, targets, stiffness, reliefs)
            contact.impulse += sum_of(contact.impulses) - before

    def stage_systems(stage: int, pass_contact: Any) -> list[Any]:
        """The systems that take all joints and contacts through a stage."""

        @wl.system(separate=True)
        def solve_joints(world: World):
            if world.by_colour and world.count(Joint) > 0:
                h, rate, mass, relief = contact_softness(world.dt, world.joint_frequency, world.joint_damping)
                for joint in world.all(Joint):
                    solve_joint(world, joint, stage, h, rate, mass, relief)

        @wl.system(where=("batch", range(COLOURS)), disjoint=True)
        def solve_colours(contact: Contact, world: World):
            a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
            pass_contact(world, contact, a, b)

        @wl.system(where=("batch", LATER), disjoint=True)
        def solve_later(first: Contact, world: World):
            start = world.first_solved
            end = world.at(Contact, start + world.contact_colours - 1).colour_end
            for k in range(world.at(Contact, start + COLOURS - 1).colour_end, end):
                contact = world.at(Contact, world.at(Contact, start + k).order)
                a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
                pass_contact(world, contact, a, b)

        return [solve_joints, solve_colours, solve_later]

    @wl.system(separate=True)
    def push_bodies(body: Body, world: World):
        """The first push of a step; those asleep stop."""
        if world.by_colour:
            h = world.dt / float(SUBSTEPS)
            push_body(world, body, h)

    @wl.system(where=("batch", 1))
    def push_movers(body: Body, world: World):
        h = world.dt / float(SUBSTEPS)
        push_body(world, body, h)

    @wl.system(where=("batch", 1))
    def move_bodies(body: Body, world: World):
        h = world.dt / float(SUBSTEPS)
        move_body(world, body, h)

    @wl.system
    def release_bodies(body: Body, world: World):
        if world.by_colour:
            release_body(world, body)

    begun, warm, biased, relaxed, bounced = (
        stage_systems(stage, pass_contact)
        for stage, pass_contact in (
            (WARM_START, begin), (WARM_START, warm_contact), (WITH_BIAS, press), (WITHOUT_BIAS, relax),
            (RESTITUTION, bounce),
        )
    )  # fmt: skip
    rest = [*biased, move_bodies, *relaxed]
    later = [push_movers, *warm, *rest] * (SUBSTEPS - 1)
    return [push_bodies, *begun, *rest, *later, *bounced, release_bodies]
