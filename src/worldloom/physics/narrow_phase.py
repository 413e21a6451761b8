"""Systems that turn pairs into contacts."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Pair, Tangents
from worldloom.physics.box_contacts import box_box, plane_box
from worldloom.physics.clipping import Points, manifold_point, points_of
from worldloom.physics.manifolds import contact_manifold
from worldloom.physics.shapes import (
    BOX,
    CAPSULE,
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
from worldloom.physics.solving.contact_passes import normal_speeds


@wl.function
def core_radius(shape: int, size: wl.vec3) -> float:
    """Distance from the core of a shape to its surface: the radius of spheres and capsules."""
    if shape in (SPHERE, CAPSULE):
        return size.x
    return 0.0


@wl.function
def core_anchors(
    points: Points, separations: wl.vec4, centre: wl.vec3, rotation: wl.quat, side: wl.vec3, radius: float
) -> Points:
    """Points of a manifold moved to the core of a body, in its frame; ``side`` is the normal towards that body."""
    axes = wl.transpose(wl.quat_to_matrix(rotation))
    origin = side * radius - centre
    return points_of(
        axes * (manifold_point(points, 0) + side * (0.5 * separations[0]) + origin),
        axes * (manifold_point(points, 1) + side * (0.5 * separations[1]) + origin),
        axes * (manifold_point(points, 2) + side * (0.5 * separations[2]) + origin),
        axes * (manifold_point(points, 3) + side * (0.5 * separations[3]) + origin),
    )


@wl.function
def nearer(
    best: float,
    found: wl.vec3,
    a: wl.vec3,
    b: wl.vec3,
    old_a: wl.vec3,
    old_b: wl.vec3,
    impulse: float,
    x: float,
    y: float,
):
    """The impulses of an old point if it is nearer than ``best`` to a new one, by its anchor on A or on B."""
    distance_sq = min(wl.length_sq(a - old_a), wl.length_sq(b - old_b))
    if distance_sq < best:
        return distance_sq, wl.vec3(impulse, x, y)
    return best, found


@wl.function
def inherited(
    a: wl.vec3,
    b: wl.vec3,
    a_anchors: Points,
    b_anchors: Points,
    count: int,
    impulses: wl.vec4,
    tangents: Tangents,
    reach: float,
) -> wl.vec3:
    """Normal and tangential impulses of the old point nearest to a new one; 0 if none is within reach."""
    best = reach * reach
    found = wl.vec3(0.0, 0.0, 0.0)
    best, found = nearer(
        best, found, a, b, manifold_point(a_anchors, 0), manifold_point(b_anchors, 0),
        impulses[0], tangents[0], tangents[1],
    )  # fmt: skip
    if count > 1:
        best, found = nearer(
            best, found, a, b, manifold_point(a_anchors, 1), manifold_point(b_anchors, 1),
            impulses[1], tangents[2], tangents[3],
        )  # fmt: skip
    if count > 2:
        best, found = nearer(
            best, found, a, b, manifold_point(a_anchors, 2), manifold_point(b_anchors, 2),
            impulses[2], tangents[4], tangents[5],
        )  # fmt: skip
    if count > 3:
        best, found = nearer(
            best, found, a, b, manifold_point(a_anchors, 3), manifold_point(b_anchors, 3),
            impulses[3], tangents[6], tangents[7],
        )  # fmt: skip
    return found


@wl.function
def inherited_impulses(
    a_anchors: Points,
    b_anchors: Points,
    count: int,
    old_a: Points,
    old_b: Points,
    old_count: int,
    impulses: wl.vec4,
    tangents: Tangents,
    reach: float,
):
    """The impulses with which the points of a contact start, those of its predecessor: (normal, tangential)."""
    p0, p1, p2, p3 = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
    p0 = inherited(
        manifold_point(a_anchors, 0), manifold_point(b_anchors, 0), old_a, old_b, old_count, impulses, tangents, reach
    )
    if count > 1:
        p1 = inherited(
            manifold_point(a_anchors, 1),
            manifold_point(b_anchors, 1),
            old_a,
            old_b,
            old_count,
            impulses,
            tangents,
            reach,
        )
    if count > 2:
        p2 = inherited(
            manifold_point(a_anchors, 2),
            manifold_point(b_anchors, 2),
            old_a,
            old_b,
            old_count,
            impulses,
            tangents,
            reach,
        )
    if count > 3:
        p3 = inherited(
            manifold_point(a_anchors, 3),
            manifold_point(b_anchors, 3),
            old_a,
            old_b,
            old_count,
            impulses,
            tangents,
            reach,
        )
    return wl.vec4(p0.x, p1.x, p2.x, p3.x), Tangents(p0.y, p0.z, p1.y, p1.z, p2.y, p2.z, p3.y, p3.z)


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


def narrow_phase_systems(World: type, Body: type, Contact: type, shapes: Iterable[int]) -> list[Any]:
    """Systems over pairs and contacts, in order."""
    touching_points = manifold_function(World, Body, shapes)

    @wl.system
    def narrow_phase(pair: Pair, world: World):
        a = world.at(Body, pair.a)
        b = world.at(Body, pair.b)
        offset = b.position - a.position
        a_spin = a.spin + a.world_inverse_inertia * a.torque * world.dt
        b_spin = b.spin + b.world_inverse_inertia * b.torque * world.dt
        turning = wl.length(a_spin) * a.radius + wl.length(b_spin) * b.radius
        velocity = b.velocity + b.force * (b.inverse_mass * world.dt) - a.velocity
        velocity -= a.force * (a.inverse_mass * world.dt)
        margin = world.margin + world.dt * (wl.length(velocity) + turning)
        normal, points, separations, count = touching_points(world, a, b, offset, margin)
        if count > 0:
            a_radius = core_radius(a.shape, a.size)
            b_radius = core_radius(b.shape, b.size)
            origin = wl.vec3(0.0, 0.0, 0.0)
            a_anchors = core_anchors(points, separations, origin, a.rotation, -normal, a_radius)
            b_anchors = core_anchors(points, separations, offset, b.rotation, normal, b_radius)
            arms = points - points_of(offset, offset, offset, offset)
            approach = normal_speeds(b.velocity - a.velocity, a.spin, b.spin, offset, arms, normal)
            impulses = wl.vec4()
            tangents = Tangents()
            last_impulse = 0.0
            for old in world.all(Contact):
                if old.b == b.ref and old.a == a.ref and old.born < world.step:
                    impulses, tangents = inherited_impulses(
                        a_anchors, b_anchors, count, old.a_anchors, old.b_anchors, old.num_points,
                        old.impulses, old.tangents, world.match_distance,
                    )  # fmt: skip
                    last_impulse = old.impulse
                    old.despawn()
            world.spawn(
                Contact,
                a=a.ref,
                b=b.ref,
                a_id=pair.a,
                b_id=pair.b,
                born=world.step,
                normal=normal,
                num_points=count,
                a_radius=a_radius,
                b_radius=b_radius,
                a_anchors=a_anchors,
                b_anchors=b_anchors,
                separations=separations,
                approach=approach,
                friction=wl.sqrt(a.friction * b.friction),
                restitution=max(a.restitution, b.restitution),
                impulses=impulses,
                tangents=tangents,
                last_impulse=last_impulse,
            )

    @wl.system
    def retire(contact: Contact, world: World):
        """Removes contacts that have no successor; bodies asleep keep theirs until one of them moves."""
        if contact.born < world.step:
            asleep = False
            if contact.a.alive and contact.b.alive:
                a = contact.a.get()
                b = contact.b.get()
                contact.a_id = a.id
                contact.b_id = b.id
                moved = wl.length_sq(b.position - a.position - contact.between) > 0.0
                asleep = not (moved or a.awake or b.awake)
            if asleep:
                contact.last_impulse = contact.impulse
            else:
                contact.despawn()
                if contact.a.alive:
                    contact.a.get().rest = min(contact.a.get().rest, 0)
                if contact.b.alive:
                    contact.b.get().rest = min(contact.b.get().rest, 0)

    return [narrow_phase, retire]
