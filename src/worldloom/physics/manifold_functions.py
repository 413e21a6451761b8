"""The function of a world that finds the contact points of two bodies, by the shapes that the world has."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.physics.box_contacts import box_box, plane_box
from worldloom.physics.clipping import Points
from worldloom.physics.manifolds import contact_manifold
from worldloom.physics.shapes import (
    BOX,
    HULL,
    PLANE,
    Edges,
    Faces,
    Vertices,
    place_vertices,
    polytope_counts,
    polytope_edges,
    polytope_faces,
    polytope_vertices,
)


def manifold_function(World: type, Body: type, shapes: Iterable[int]) -> Any:
    """The function (world, a, b, offset from A to B, margin) -> normal, points, separations, count.

    Worlds whose shapes are planes and boxes get a function without the others, which compiles faster.
    """

    @wl.function
    def box_points(world: World, a: Body, b: Body, offset: wl.vec3, margin: float):
        normal = wl.vec3(0.0, 0.0, 1.0)
        points = Points()
        separations = wl.vec4()
        count = 0
        if a.shape == PLANE and b.shape == BOX:
            upward = wl.quat_rotate(a.rotation, normal)
            normal, points, separations, count = plane_box(
                upward, b.size, wl.quat_to_matrix(b.rotation), offset, margin
            )
        elif a.shape == BOX and b.shape == BOX:
            normal, points, separations, count = box_box(
                a.size, wl.quat_to_matrix(a.rotation), b.size, wl.quat_to_matrix(b.rotation), offset, margin
            )
        else:
            world.fail("a body has shape {value}, which physics.systems(shapes=...) of this world lacks", b.shape)
        return normal, points, separations, count

    @wl.function
    def any_points(world: World, a: Body, b: Body, offset: wl.vec3, margin: float):
        normal = wl.vec3(0.0, 0.0, 1.0)
        points = Points()
        separations = wl.vec4()
        count = 0
        if a.shape == PLANE and b.shape == BOX:
            upward = wl.quat_rotate(a.rotation, normal)
            normal, points, separations, count = plane_box(
                upward, b.size, wl.quat_to_matrix(b.rotation), offset, margin
            )
        elif a.shape == BOX and b.shape == BOX:
            normal, points, separations, count = box_box(
                a.size, wl.quat_to_matrix(a.rotation), b.size, wl.quat_to_matrix(b.rotation), offset, margin
            )
        else:
            a_vertices, a_faces, a_edges, a_counts = Vertices(), Faces(), Edges(), wl.vec3i(0, 0, 0)
            b_vertices, b_faces, b_edges, b_counts = Vertices(), Faces(), Edges(), wl.vec3i(0, 0, 0)
            if a.shape == HULL:
                for i in range(3):
                    a_counts[i] = world.hull_counts[a.hull, i]
                for i in range(len(a_vertices)):
                    a_vertices[i] = world.hull_vertices[a.hull, i]
                for i in range(len(a_faces)):
                    a_faces[i] = world.hull_faces[a.hull, i]
                for i in range(len(a_edges)):
                    a_edges[i] = world.hull_edges[a.hull, i]
            elif a.shape >= BOX:
                a_counts = polytope_counts(a.shape)
                a_vertices = polytope_vertices(a.shape, a.size)
                a_faces = polytope_faces(a.shape)
                a_edges = polytope_edges(a.shape)
            if b.shape == HULL:
                for i in range(3):
                    b_counts[i] = world.hull_counts[b.hull, i]
                for i in range(len(b_vertices)):
                    b_vertices[i] = world.hull_vertices[b.hull, i]
                for i in range(len(b_faces)):
                    b_faces[i] = world.hull_faces[b.hull, i]
                for i in range(len(b_edges)):
                    b_edges[i] = world.hull_edges[b.hull, i]
            elif b.shape >= BOX:
                b_counts = polytope_counts(b.shape)
                b_vertices = polytope_vertices(b.shape, b.size)
                b_faces = polytope_faces(b.shape)
                b_edges = polytope_edges(b.shape)
            normal, points, separations, count = contact_manifold(
                a.shape,
                a.size,
                a.rotation,
                place_vertices(a_vertices, a_counts.x, wl.vec3(0.0, 0.0, 0.0), a.rotation),
                a_faces,
                a_edges,
                a_counts,
                b.shape,
                b.size,
                b.rotation,
                place_vertices(b_vertices, b_counts.x, offset, b.rotation),
                b_faces,
                b_edges,
                b_counts,
                offset,
                margin,
            )
        return normal, points, separations, count

    return box_points if set(shapes) <= {PLANE, BOX} else any_points
