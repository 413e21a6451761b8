"""Which bodies of a world a step moves.

A dynamic body is at rest while it is slower than ``sleep_speed``, in contact and without forces. After ``sleep_steps``
steps at rest it falls asleep: it keeps its place and its contacts, which are neither detected nor solved, until a
body that is awake touches it, one of its contacts is lost, or a system gives it a velocity or a force. Bodies in
contact sleep together, and bodies of joints stay awake.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC


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
                a = world.at(Body, contact.a_id)
                b = world.at(Body, contact.b_id)
                a.touching, b.touching = True, True
                if a.awake and not b.awake and b.motion == DYNAMIC:
                    b.awake = True
                    spreading = True
                if b.awake and not a.awake and a.motion == DYNAMIC:
                    a.awake = True
                    spreading = True
                if a.awake and b.awake and a.motion == DYNAMIC and b.motion == DYNAMIC:
                    a.rest, b.rest = min(a.rest, b.rest), min(a.rest, b.rest)  # none sleeps beside one that moves
                contact.solved = a.awake or b.awake
                if contact.solved:
                    contact.impulse = 0.0
                    contact.peaks = wl.vec4()

    return wake_neighbours
