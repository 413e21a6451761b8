"""Queries that systems make: rays and overlaps with the bodies of a world.

``ignore`` is the row of a body to leave out, -1 for none; ``mask`` selects bodies by the bits of their collision group.
"""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.geometry.clipping import Points, set_point
from worldloom.physics.mass import bounding_radius
from worldloom.physics.queries.contact_queries import contact_query
from worldloom.physics.queries.rays import MISS, beyond_reach, clip_ray, ray_shape
from worldloom.physics.queries.simplex import MAX_ITERATIONS, TOLERANCE, core_support, reduce_simplex
from worldloom.physics.shapes import HULL, PLANE, core_radius

UNIT_TOLERANCE = 1e-3  # of the square of a direction's length


@dataclass(frozen=True)
class Queries:
    """Functions of the world that systems call as the right side of an assignment.

    Attributes:
        ray_to: (world, body, origin, direction): distance along a ray to one body, and the normal at the hit.
        ray: (world, origin, direction, length, ignore, mask): row, distance and normal of the nearest hit.
        sees: (world, origin, direction, length, row, ignore, mask): whether the first hit is this row.
        overlaps: (world, body, shape, size, position, rotation): whether a body overlaps a shape that is no body.
        overlap: (world, shape, size, position, rotation, ignore, mask): the first body that overlaps a shape, and how
            many do: (row, number), row -1 for none.
        contact_point: (world, contact): the point where the bodies of a contact touch, world axes; the mean of its
            points, weighted by their impulses.
    """

    ray_to: Any
    ray: Any
    sees: Any
    overlaps: Any
    overlap: Any
    contact_point: Any


def world_queries(World: type, Body: type, Contact: type) -> Queries:
    """The queries of a world class, the kind of its bodies and that of its contacts."""
    point = contact_query(World, Body, Contact)
    return Queries(*ray_queries(World, Body), *overlap_queries(World, Body), point)


def ray_queries(World: type, Body: type) -> tuple[Any, ...]:
    """The functions ``ray_to``, ``ray`` and ``sees``."""

    @wl.function
    def ray_to(world: World, body: Body, origin: wl.vec3, direction: wl.vec3):
        distance, normal = MISS, -direction
        if body.shape == HULL:
            hull = body.hull
            entry, leave = 0.0, MISS
            local_origin = wl.quat_rotate_inv(body.rotation, origin - body.position)
            local_direction = wl.quat_rotate_inv(body.rotation, direction)
            inward = -local_direction
            for f in range(world.hull_counts[hull, 1]):
                face = world.hull_faces[hull, f]
                i, j, k = 3 * (face & 7), 3 * ((face >> 3) & 7), 3 * ((face >> 6) & 7)
                p, q, r = wl.vec3(), wl.vec3(), wl.vec3()
                for c in range(3):
                    p[c] = world.hull_vertices[hull, i + c]
                    q[c] = world.hull_vertices[hull, j + c]
                    r[c] = world.hull_vertices[hull, k + c]
                outward = wl.normalize(wl.cross(q - p, r - p))
                entry, leave, inward = clip_ray(local_origin, local_direction, p, outward, entry, leave, inward)
            if entry <= leave:
                distance = entry
                normal = wl.quat_rotate(body.rotation, inward)
        else:
            distance, normal = ray_shape(origin, direction, body.shape, body.size, body.position, body.rotation)
        return distance, normal

    @wl.function
    def check_direction(world: World, direction: wl.vec3):
        square = wl.length_sq(direction)
        if square > 0.0 and abs(square - 1.0) > UNIT_TOLERANCE:  # a ray without a direction hits nothing
            world.fail("the direction of a ray is not a unit vector: use wl.normalize", 0)

    @wl.function
    def ray(world: World, origin: wl.vec3, direction: wl.vec3, length: float, ignore: int, mask: int):
        check_direction(world, direction)
        row, nearest, normal = -1, length, wl.vec3(0.0, 0.0, 0.0)
        for other in world.all(Body):
            if other.id == ignore or (other.collision_group & mask) == 0:
                continue
            if beyond_reach(origin, direction, nearest, other.position, other.radius):
                continue
            distance, outward = ray_to(world, other, origin, direction)
            if distance < nearest:
                row = other.id
                nearest = distance
                normal = outward
        return row, nearest, normal

    @wl.function
    def sees(world: World, origin: wl.vec3, direction: wl.vec3, length: float, row: int, ignore: int, mask: int):
        check_direction(world, direction)
        target = world.at(Body, row)
        nearest, _normal = ray_to(world, target, origin, direction)
        first = nearest < length and row != ignore and (target.collision_group & mask) != 0
        for other in world.all(Body):
            if not first or other.id == row or other.id == ignore or (other.collision_group & mask) == 0:
                continue
            if beyond_reach(origin, direction, nearest, other.position, other.radius):
                continue
            distance, _normal = ray_to(world, other, origin, direction)
            if distance < nearest or (distance == nearest and other.id < row):
                first = False
        return first

    return ray_to, ray, sees


def overlap_queries(World: type, Body: type) -> tuple[Any, ...]:
    """The functions ``overlaps`` and ``overlap``. The shape is a sphere, capsule, box or wedge."""

    @wl.function
    def overlaps(world: World, body: Body, shape: int, size: wl.vec3, position: wl.vec3, rotation: wl.quat):
        between = body.position - position
        reach = core_radius(body.shape, body.size) + core_radius(shape, size)
        result = False
        if body.shape == PLANE:
            upward = wl.quat_rotate(body.rotation, wl.vec3(0.0, 0.0, 1.0))
            lowest = core_support(shape, size, wl.quat_rotate_inv(rotation, -upward))
            result = wl.dot(wl.quat_rotate(rotation, lowest) - between, upward) <= reach
        elif body.radius == 0.0 or wl.length(between) <= body.radius + bounding_radius(shape, size):
            points, count = Points(), 0
            nearest = between
            square = 1.0e30
            for _ in range(MAX_ITERATIONS):
                towards = wl.quat_rotate_inv(body.rotation, -nearest)
                corner = core_support(body.shape, body.size, towards)
                if body.shape == HULL:
                    farthest = -1.0e30
                    for v in range(world.hull_counts[body.hull, 0]):
                        vertex = wl.vec3()
                        for c in range(3):
                            vertex[c] = world.hull_vertices[body.hull, 3 * v + c]
                        if wl.dot(vertex, towards) > farthest:
                            farthest = wl.dot(vertex, towards)
                            corner = vertex
                other = core_support(shape, size, wl.quat_rotate_inv(rotation, nearest))
                support = between + wl.quat_rotate(body.rotation, corner) - wl.quat_rotate(rotation, other)
                along = wl.dot(nearest, support)
                length_sq = wl.length_sq(nearest)
                if count > 0 and length_sq - along <= TOLERANCE * length_sq:
                    break  # the nearest point of the two sets
                if along > 0.0 and along * along > reach * reach * length_sq:
                    break  # a plane between them, farther than the radii
                points = set_point(points, count, support)
                points, count, nearest = reduce_simplex(points, count + 1)
                closer = wl.length_sq(nearest)
                if closer <= reach * reach or count == 4:
                    result = True
                    break
                if closer >= square:
                    break  # no progress within rounding
                square = closer
        return result

    @wl.function
    def overlap(world: World, shape: int, size: wl.vec3, position: wl.vec3, rotation: wl.quat, ignore: int, mask: int):
        row, number = -1, 0
        for other in world.all(Body):
            if other.id == ignore or (other.collision_group & mask) == 0:
                continue
            touches = overlaps(world, other, shape, size, position, rotation)
            if touches:
                if number == 0:
                    row = other.id
                number += 1
        return row, number

    return overlaps, overlap
