"""Which bodies of a world of many bodies a step moves.

A dynamic body falls asleep after ``sleep_steps`` steps in contact, without forces and slower than ``sleep_speed``. For
others it is then a static body. It wakes if it touches a body faster than ``WAKE_FACTOR`` times that, one with a force
or a kinematic one that moves, if it loses a contact that bore a load, or if a system moves it or gives it a force. Each
body decides on its own, from its contacts.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, KINEMATIC

WAKE_FACTOR = 4.0


def sleep_systems(World: type, Body: type, Contact: type) -> tuple[list[Any], list[Any]]:
    """Systems over bodies that run before the solver, and those that run after it, in order."""

    @wl.system
    def look_around(body: Body, world: World):
        limit = WAKE_FACTOR * world.sleep_speed
        body.touching = body.num_links > 0
        body.disturbed = False
        if not body.awake:
            kept = 0
            for k in range(body.num_links):
                contact = world.at(Contact, body.links[k])
                kept += 1 if contact.last_impulse > 0.0 else 0
                other = world.at(Body, contact.b_id if contact.a_id == body.id else contact.a_id)
                speed_sq = wl.length_sq(other.velocity) + wl.length_sq(other.spin) * other.radius * other.radius
                pushes = wl.length_sq(other.force) + wl.length_sq(other.torque) > 0.0
                if other.motion == KINEMATIC and speed_sq > 0.0:
                    body.disturbed = True
                if other.motion == DYNAMIC and (pushes or speed_sq > limit * limit):
                    body.disturbed = True
            body.disturbed = body.disturbed or kept < body.loaded_links

    @wl.system
    def wake(body: Body):
        if body.motion == DYNAMIC and body.disturbed:
            body.rest = 0
            body.awake = True

    @wl.system
    def count_loads(body: Body, world: World):
        body.loaded_links = 0
        for k in range(body.num_links):
            if world.at(Contact, body.links[k]).impulse > 0.0:
                body.loaded_links += 1

    return [look_around, wake], [count_loads]
