"""Pairs of bodies from the grid of the engine.

Bodies whose bounding box reaches no farther than ``world.grid_reach`` from their centre are compared with those nearby;
planes, larger and faster bodies with all. The body with the lower row finds a pair; a small body finds its pairs with
large ones. Every body lists the bodies that found it, so that it can collect its contacts without atomic operations.
Both bodies of a pair therefore compute whether it exists, with the same bits: conditions are comparisons of components,
and distances of differences that change their sign alone. The search in the grid is wider than the conditions.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC
from worldloom.physics.broad_phase import boxes_overlap
from worldloom.physics.many_bodies.components import MAX_LINKS, FoundPair, LargeBody
from worldloom.physics.shapes import PLANE

SEARCH_FACTOR = 1.001  # of radii in the grid, above what rounding takes off the bounds of bodies


@wl.function
def may_touch(
    a_motion: int,
    a_group: int,
    a_mask: int,
    a_lower: wl.vec3,
    a_upper: wl.vec3,
    b_motion: int,
    b_group: int,
    b_mask: int,
    b_lower: wl.vec3,
    b_upper: wl.vec3,
) -> bool:
    """Whether two bodies may touch in this step."""
    if a_motion != DYNAMIC and b_motion != DYNAMIC:
        return False
    if (a_group & b_mask) == 0 or (b_group & a_mask) == 0:
        return False
    return boxes_overlap(a_lower, a_upper, b_lower, b_upper)


@wl.function
def finder_row(a: int, a_large: bool, b: int, b_large: bool) -> int:
    """The row of the body that finds the pair of the bodies in rows ``a`` and ``b``."""
    if a_large != b_large:
        return b if a_large else a
    return min(a, b)


def pair_systems(World: type, Body: type) -> list[Any]:
    """Systems over bodies, in order."""

    @wl.function
    def touches(world: World, body: Body, other: Body):
        possible = may_touch(
            body.motion, body.collision_group, body.collision_mask, body.lower, body.upper,
            other.motion, other.collision_group, other.collision_mask, other.lower, other.upper,
        )  # fmt: skip
        return possible

    @wl.function
    def spheres_touch(world: World, body: Body, other: Body):
        """Whether the bounding spheres of two small bodies may touch in this step."""
        speed = wl.length(body.pushed_velocity - other.pushed_velocity)
        falls = body.motion != other.motion  # gravity moves one of them
        reach = body.radius + other.radius + world.margin + speed * world.dt
        reach += wl.length(world.gravity) * world.dt * world.dt if falls else 0.0
        possible = wl.length_sq(body.position - other.position) <= reach * reach
        return possible

    @wl.function
    def find_pair(world: World, body: Body, other: Body):
        if body.shape <= other.shape:
            world.spawn(FoundPair, a=body.id, b=other.id, finder=body.id)
        else:
            world.spawn(FoundPair, a=other.id, b=body.id, finder=body.id)

    @wl.function
    def add_partner(world: World, body: Body, row: int):
        if body.motion == DYNAMIC:
            if body.num_partners < MAX_LINKS:
                body.partners[body.num_partners] = row
                body.num_partners += 1
            else:
                world.fail("body {value} may touch more bodies than physics.many_bodies allows", body.id)

    @wl.system
    def clear_reach(world: World):
        world.largest_reach = 0.0

    @wl.system
    def bound_bodies(body: Body, world: World):
        half = (body.upper - body.lower) * 0.5
        body.bound = wl.length(half) + wl.length((body.upper + body.lower) * 0.5 - body.position)
        body.pushed_velocity = body.velocity + body.force * (body.inverse_mass * world.dt)
        body.large = body.shape == PLANE or not body.bound <= world.grid_reach
        body.num_partners = 0
        if body.large:
            world.spawn(LargeBody, row=body.id)
        else:
            world.largest_reach = max(world.largest_reach, body.bound)

    @wl.system
    def find_pairs(body: Body, world: World):
        for one in world.all(LargeBody):
            other = world.at(Body, one.row)
            if other.id > body.id or not body.large:
                touching = touches(world, body, other)
                if touching:
                    find_pair(world, body, other)
            elif other.id < body.id:
                touching = touches(world, body, other)
                if touching:
                    add_partner(world, body, other.id)
        if body.large and body.motion == DYNAMIC:
            for other in world.all(Body):
                if not other.large:
                    touching = touches(world, body, other)
                    if touching:
                        add_partner(world, body, other.id)
        if not body.large:
            for other in world.near(Body, body.position, (body.bound + world.largest_reach) * SEARCH_FACTOR):
                if other.id != body.id and not other.large:
                    touching = touches(world, body, other)
                    close = spheres_touch(world, body, other)
                    if touching and close:
                        if other.id > body.id:
                            find_pair(world, body, other)
                        else:
                            add_partner(world, body, other.id)

    return [clear_reach, bound_bodies, find_pairs]
