"""Which bodies of a world a step moves.

A dynamic body is at rest while it is slower than ``sleep_speed``, in contact and without forces. After ``sleep_steps``
steps at rest it falls asleep: it keeps its place and its contacts, which are neither detected nor solved, until a
body that is awake touches it, one of its contacts is lost, or a system gives it a velocity or a force. Bodies in
contact sleep together, and bodies of joints stay awake.

One thread goes through the contacts of a world in order. What does not depend on the order, ``note_sides`` computes
before, with a thread per contact: most contacts are with a static body, and wake nothing.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, UNLIMITED
from worldloom.physics.solving.loads import load_function

A_MOVES = 1  # bits of the sides of a contact: which of its bodies have a mass
B_MOVES = 2
BOTH_MOVE = A_MOVES | B_MOVES
WAKES = 4  # neither body is inert, so that one may wake the other
KEPT = 8  # it is of an earlier step
ELASTIC = 16  # it has a restitution
LOADED = 32  # a light body bears a heavy load


def sides_system(World: type, Body: type, Contact: type, Joint: type) -> Any:
    """The system over contacts that prepares what :func:`wake_function` and the colouring read."""
    is_loaded = load_function(World, Body, Contact, Joint)

    @wl.system
    def note_sides(contact: Contact, world: World):
        a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
        a_wakes, b_wakes = a.awake | (a.motion == DYNAMIC), b.awake | (b.motion == DYNAMIC)
        loaded = False
        if world.heavy_load < UNLIMITED:
            loaded = is_loaded(world, contact.id)  # it loads what only these worlds need
        contact.sides = (
            (A_MOVES if a.inverse_mass > 0.0 else 0)
            | (B_MOVES if b.inverse_mass > 0.0 else 0)
            | (WAKES if a_wakes & b_wakes else 0)
            | (KEPT if contact.born < world.step else 0)
            | (ELASTIC if contact.restitution > 0.0 else 0)
            | (LOADED if loaded else 0)
        )
        contact.colour, contact.batch = -1, -1
        deepest = 0.0
        for i in wl.unroll(4):
            deepest = min(deepest, contact.separations[i])
        sinks = False
        if world.max_depth < UNLIMITED:
            sinks = world.at(Contact, contact.id).sinking != 0
        if sinks or deepest < -world.margin:  # bodies do not sleep deep in each other
            a.rest = min(a.rest, 0)
            b.rest = min(b.rest, 0)
        a.touching |= True
        b.touching |= True

    return note_sides


def wake_function(World: type, Body: type, Contact: type, Joint: type) -> Any:
    """The function that wakes all bodies connected to one that is awake; a system over the world calls it."""

    @wl.function
    def wake_neighbours(world: World):
        for joint in world.all(Joint):
            a = world.at(Body, joint.a_id)
            b = world.at(Body, joint.b_id)
            a.rest, b.rest = 0, 0
            a.awake = a.awake or a.motion == DYNAMIC
            b.awake = b.awake or b.motion == DYNAMIC
        spreading = True
        while spreading:
            spreading = False
            for contact in world.all(Contact):
                if (contact.sides & WAKES) != 0:
                    a = world.at(Body, contact.a_id)
                    b = world.at(Body, contact.b_id)
                    if a.awake and not b.awake and b.motion == DYNAMIC:
                        b.awake = True
                        spreading = True
                    if b.awake and not a.awake and a.motion == DYNAMIC:
                        a.awake = True
                        spreading = True
                    if a.awake and b.awake and a.motion == DYNAMIC and b.motion == DYNAMIC:
                        a.rest, b.rest = min(a.rest, b.rest), min(a.rest, b.rest)  # none sleeps beside one that moves

    return wake_neighbours
