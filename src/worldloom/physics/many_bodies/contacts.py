"""Contacts of a world of many bodies, and the contacts of each body."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC
from worldloom.physics.many_bodies.components import MAX_LINKS, FoundPair
from worldloom.physics.many_bodies.pairs import finder_row
from worldloom.physics.narrow_phase import margin_function
from worldloom.physics.pair_manifolds import manifold_function
from worldloom.physics.shapes import HULL
from worldloom.physics.touching import sinking_function, starting_functions

NONE = 1 << 30  # above the row of any contact


def contact_systems(World: type, Body: type, Contact: type, shapes: Iterable[int]) -> list[Any]:
    """Systems over pairs, contacts and bodies, in order."""
    touching_margin = margin_function(World, Body)
    touching_points = manifold_function(World, Body, shapes)
    contact_start, spawn_contact = starting_functions(World, Body, Contact)
    sinking_steps = sinking_function(World, Body, Contact, HULL in set(shapes))

    @wl.system
    def find_contacts(pair: FoundPair, world: World):
        a = world.at(Body, pair.a)
        b = world.at(Body, pair.b)
        margin = touching_margin(world, a, b)
        normal, points, separations, count = touching_points(world, a, b, margin)
        if count > 0:
            previous = -1
            finder = world.at(Body, pair.finder)
            last = min(finder.first_contact + finder.num_contacts, world.count(Contact))
            for row in range(finder.first_contact, last):
                old = world.at(Contact, row)
                if old.b == b.ref and old.a == a.ref:
                    previous = row
            a_anchors, b_anchors, approach, impulses, tangents, last_impulse = contact_start(
                world, a, b, normal, points, separations, count, previous
            )
            sinking = sinking_steps(world, a, b, separations, previous)
            if previous >= 0:
                world.at(Contact, previous).despawn()
            spawn_contact(
                world, a, b, normal, separations, count, a_anchors, b_anchors, approach, impulses, tangents,
                last_impulse, sinking,
            )  # fmt: skip

    @wl.system
    def remove_old(contact: Contact, world: World):
        if contact.born < world.step:
            contact.despawn()

    @wl.system
    def clear_links(body: Body):
        body.first_contact = NONE
        body.num_contacts = 0

    @wl.system
    def count_contacts(contact: Contact, world: World):
        a = world.at(Body, contact.a_id)
        b = world.at(Body, contact.b_id)
        row = finder_row(contact.a_id, a.large, contact.b_id, b.large)
        finder = world.at(Body, row)
        finder.first_contact = min(finder.first_contact, contact.id)
        finder.num_contacts += 1

    @wl.function
    def add_link(world: World, body: Body, row: int):
        if body.num_links < MAX_LINKS:
            body.links[body.num_links] = row
            body.num_links += 1
        else:
            world.fail("body {value} touches more bodies than physics.many_bodies allows", body.id)

    @wl.system
    def collect_links(body: Body, world: World):
        body.num_links = 0
        if body.motion == DYNAMIC:
            for row in range(body.first_contact, body.first_contact + body.num_contacts):
                add_link(world, body, row)
            for k in range(body.num_partners):
                partner = world.at(Body, body.partners[k])
                for row in range(partner.first_contact, partner.first_contact + partner.num_contacts):
                    contact = world.at(Contact, row)
                    if contact.a_id == body.id or contact.b_id == body.id:
                        add_link(world, body, row)

    return [find_contacts, remove_old, clear_links, count_contacts, collect_links]
