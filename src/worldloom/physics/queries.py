"""Queries that systems make: rays and overlaps with the bodies of a world.

``ignore`` is the row of a body to leave out, -1 for none; ``mask`` selects bodies by the bits of their collision group.
"""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.rays import MISS, beyond_reach, clip_ray, ray_shape
from worldloom.physics.shapes import HULL


@dataclass(frozen=True)
class Queries:
    """Functions of the world that systems call as the right side of an assignment.

    Attributes:
        ray_to: (world, body, origin, direction): distance along a ray to one body, and the normal at the hit.
        ray: (world, origin, direction, length, ignore, mask): row, distance and normal of the nearest hit.
        sees: (world, origin, direction, length, row, ignore, mask): whether the first hit is this row.
    """

    ray_to: Any
    ray: Any
    sees: Any


def world_queries(World: type, Body: type) -> Queries:
    """The queries of a world class and the kind of its bodies."""

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
    def ray(world: World, origin: wl.vec3, direction: wl.vec3, length: float, ignore: int, mask: int):
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
        target = world.at(Body, row)
        nearest, _normal = ray_to(world, target, origin, direction)
        first = nearest < length
        for other in world.all(Body):
            if not first or other.id == row or other.id == ignore or (other.collision_group & mask) == 0:
                continue
            if beyond_reach(origin, direction, nearest, other.position, other.radius):
                continue
            distance, _normal = ray_to(world, other, origin, direction)
            if distance < nearest or (distance == nearest and other.id < row):
                first = False
        return first

    return Queries(ray_to, ray, sees)
