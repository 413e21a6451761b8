"""Functions of two bodies that find their manifold, one for each class of pairs.

Each is a function (world, A, B, margin) -> normal, points, separations, count, see ``geometry.manifolds``; the kind of
shape of A is not above that of B, and points are relative to the centre of A.
"""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.physics.geometry.box_contacts import box_box, plane_box
from worldloom.physics.geometry.clipping import Points
from worldloom.physics.geometry.manifolds import (
    capsule_end,
    contact_manifold,
    meeting_offset,
    plane_round,
    round_round,
    single_point,
)
from worldloom.physics.geometry.solid_contacts import plane_solid, solid_solid
from worldloom.physics.pair_classes import (
    BOX_BOX,
    PLANE_BOX,
    PLANE_WEDGE,
    POLYTOPES,
    ROUND,
    SOLIDS,
    classes_of,
    pair_class,
)
from worldloom.physics.shapes import (
    BOX,
    HULL,
    PLANE,
    SPHERE,
    Edges,
    Faces,
    Vertices,
    place_vertices,
    polytope_counts,
    polytope_edges,
    polytope_faces,
    polytope_vertices,
)


@wl.function
def upward(rotation: wl.quat) -> wl.vec3:
    """The normal of a plane."""
    return wl.quat_rotate(rotation, wl.vec3(0.0, 0.0, 1.0))


def closed_forms(World: type, Body: type) -> dict[int, Any]:
    """Functions for pairs of planes, boxes and wedges, by class."""

    @wl.function
    def plane_box_points(world: World, a: Body, b: Body, margin: float):
        normal, points, separations, count = plane_box(
            upward(a.rotation), b.size, wl.quat_to_matrix(b.rotation), b.position - a.position, margin
        )
        return normal, points, separations, count

    @wl.function
    def box_box_points(world: World, a: Body, b: Body, margin: float):
        a_axes, b_axes = wl.quat_to_matrix(a.rotation), wl.quat_to_matrix(b.rotation)
        normal, points, separations, count = box_box(a.size, a_axes, b.size, b_axes, b.position - a.position, margin)
        return normal, points, separations, count

    @wl.function
    def plane_wedge_points(world: World, a: Body, b: Body, margin: float):
        normal, points, separations, count = plane_solid(
            upward(a.rotation), b.shape, b.size, wl.quat_to_matrix(b.rotation), b.position - a.position, margin
        )
        return normal, points, separations, count

    @wl.function
    def solid_points(world: World, a: Body, b: Body, margin: float):
        a_axes, b_axes = wl.quat_to_matrix(a.rotation), wl.quat_to_matrix(b.rotation)
        normal, points, separations, count = solid_solid(
            a.shape, a.size, a_axes, b.shape, b.size, b_axes, b.position - a.position, margin
        )
        return normal, points, separations, count

    return {
        PLANE_BOX: plane_box_points,
        BOX_BOX: box_box_points,
        PLANE_WEDGE: plane_wedge_points,
        SOLIDS: solid_points,
    }


def general_forms(World: type, Body: type) -> dict[int, Any]:
    """Functions for pairs with spheres, capsules and hulls, by class."""

    @wl.function
    def round_points(world: World, a: Body, b: Body, margin: float):
        origin = wl.vec3(0.0, 0.0, 0.0)
        offset = b.position - a.position
        normal = origin
        points = Points()
        separations = wl.vec4()
        count = 0
        r = capsule_end(b.shape, b.size, offset, b.rotation, -1.0)
        s = capsule_end(b.shape, b.size, offset, b.rotation, 1.0)
        if a.shape == PLANE:
            normal, points, separations, count = plane_round(origin, upward(a.rotation), r, s, b.size.x, margin)
        else:
            p = capsule_end(a.shape, a.size, origin, a.rotation, -1.0)
            q = capsule_end(a.shape, a.size, origin, a.rotation, 1.0)
            normal, points, separations, count = round_round(p, q, a.size.x, r, s, b.size.x, margin)
            if a.shape == SPHERE and b.shape == SPHERE and separations[0] > 0.0:
                way = meeting_offset(offset, b.velocity - a.velocity, a.size.x + b.size.x, world.dt)
                normal = wl.normalize(way)
                normal, points, separations, count = single_point(
                    normal * a.size.x, offset - normal * b.size.x, normal, margin
                )
        return normal, points, separations, count

    @wl.function
    def polytope_of(world: World, body: Body):
        """The vertices, faces, edges and their numbers of a body, in its frame; none for planes and round shapes."""
        vertices, faces, edges, counts = Vertices(), Faces(), Edges(), wl.vec3i(0, 0, 0)
        if body.shape == HULL:
            for i in range(3):
                counts[i] = world.hull_counts[body.hull, i]
            for i in range(len(vertices)):
                vertices[i] = world.hull_vertices[body.hull, i]
            for i in range(len(faces)):
                faces[i] = world.hull_faces[body.hull, i]
            for i in range(len(edges)):
                edges[i] = world.hull_edges[body.hull, i]
        elif body.shape >= BOX:
            counts = polytope_counts(body.shape)
            vertices = polytope_vertices(body.shape, body.size)
            faces = polytope_faces(body.shape)
            edges = polytope_edges(body.shape)
        return vertices, faces, edges, counts

    @wl.function
    def polytope_points(world: World, a: Body, b: Body, margin: float):
        offset = b.position - a.position
        a_vertices, a_faces, a_edges, a_counts = polytope_of(world, a)
        b_vertices, b_faces, b_edges, b_counts = polytope_of(world, b)
        a_placed = place_vertices(a_vertices, a_counts.x, wl.vec3(0.0, 0.0, 0.0), a.rotation)
        b_placed = place_vertices(b_vertices, b_counts.x, offset, b.rotation)
        normal, points, separations, count = contact_manifold(
            a.shape, a.size, a.rotation, a_placed, a_faces, a_edges, a_counts,
            b.shape, b.size, b.rotation, b_placed, b_faces, b_edges, b_counts,
            offset, margin,
        )  # fmt: skip
        return normal, points, separations, count

    return {ROUND: round_points, POLYTOPES: polytope_points}


def manifold_functions(World: type, Body: type) -> dict[int, Any]:
    """The function of every class of pairs."""
    return {**closed_forms(World, Body), **general_forms(World, Body)}


def manifold_function(World: type, Body: type, shapes: Iterable[int]) -> Any:
    """One function for the pairs of all classes that bodies with these shapes form; without them, no points."""
    known = manifold_functions(World, Body)

    @wl.function
    def no_points(world: World, a: Body, b: Body, margin: float):
        return wl.vec3(0.0, 0.0, 1.0), Points(), wl.vec4(), 0

    def extended(kind: int, one: Any, others: Any) -> Any:
        """The function that calls ``one`` for pairs of this class, and ``others`` for the rest."""

        @wl.function
        def pair_points(world: World, a: Body, b: Body, margin: float):
            normal = wl.vec3(0.0, 0.0, 1.0)
            points = Points()
            separations = wl.vec4()
            count = 0
            if pair_class(a.shape, b.shape) == kind:
                normal, points, separations, count = one(world, a, b, margin)
            else:
                normal, points, separations, count = others(world, a, b, margin)
            return normal, points, separations, count

        return pair_points

    chosen: Any = no_points
    for kind in sorted(classes_of(shapes), reverse=True):
        chosen = extended(kind, known[kind], chosen)
    return chosen
