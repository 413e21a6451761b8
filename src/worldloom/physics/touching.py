"""Systems that turn manifolds of pairs into contacts, and remove contacts that have ended."""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import UNLIMITED, Pair, Tangents
from worldloom.physics.geometry.clipping import Points, manifold_point, points_of
from worldloom.physics.mass import thickness
from worldloom.physics.shapes import HULL, SPHERE, Vertices, core_radius, face_normal, face_vertex
from worldloom.physics.solving.contact_passes import normal_speeds
from worldloom.physics.solving.solver import tangent

SINKING_STEPS = 4  # in which bodies that met get too deep in each other, and are not pushed out
SPAWNED_STEPS = 30  # in a row in which bodies that were spawned so are not pushed out
RISING = 0.999  # of the depth of the last step: bodies at most this deep are being pushed out


@wl.function
def core_anchors(
    points: Points, separations: wl.vec4, centre: wl.vec3, rotation: wl.quat, side: wl.vec3, radius: float
) -> Points:
    """Points of a manifold moved to the core of a body, in its frame; ``side`` is the normal towards that body."""
    axes = wl.transpose(wl.quat_to_matrix(rotation))
    origin = side * radius - centre
    for i in wl.unroll(4):
        anchor = axes * (manifold_point(points, i) + side * (0.5 * separations[i]) + origin)
        points[3 * i], points[3 * i + 1], points[3 * i + 2] = anchor.x, anchor.y, anchor.z
    return points


@wl.function
def inherited_impulses(
    a_anchors: Points,
    b_anchors: Points,
    count: int,
    old_a: Points,
    old_b: Points,
    old_count: int,
    old_impulses: wl.vec4,
    old_tangents: Tangents,
    reach: float,
):
    """The impulses with which the points of a contact start: (normal, tangential).

    A point takes those of the point of its predecessor that is nearest by its anchor on A or on B, if within reach.
    """
    impulses = wl.vec4()
    tangents = Tangents()
    for i in wl.unroll(4):
        if i < count:
            best = reach * reach
            for k in wl.unroll(4):
                on_a = wl.length_sq(manifold_point(a_anchors, i) - manifold_point(old_a, k))
                distance_sq = min(on_a, wl.length_sq(manifold_point(b_anchors, i) - manifold_point(old_b, k)))
                if k < old_count and distance_sq < best:
                    best = distance_sq
                    impulses[i] = old_impulses[k]
                    tangents[2 * i], tangents[2 * i + 1] = old_tangents[2 * k], old_tangents[2 * k + 1]
    return impulses, tangents


@wl.function
def depth_of(separations: wl.vec4) -> float:
    """The depth of the deepest point of a contact, 0 where none is below the surface."""
    return max(max(-separations[0], -separations[1]), max(max(-separations[2], -separations[3]), 0.0))


def sinking_function(World: type, Body: type, Contact: type, with_hulls: bool) -> Any:
    """The function that counts the steps for which two bodies are too deep in each other, and fails."""

    @wl.function
    def thickness_of(world: World, body: Body):
        thick = thickness(body.shape, body.size)
        if with_hulls and body.shape == HULL:
            vertices = Vertices()
            for i in range(len(vertices)):
                vertices[i] = world.hull_vertices[body.hull, i]
            thick = UNLIMITED
            for i in range(world.hull_counts[body.hull, 1]):
                face = world.hull_faces[body.hull, i]
                thick = min(thick, 2.0 * wl.dot(face_normal(vertices, face), face_vertex(vertices, face, 0)))
        return thick

    @wl.function
    def sinking_steps(world: World, a: Body, b: Body, separations: wl.vec4, previous: int):
        """0 for bodies that are not too deep; negative for those that were spawned so, until they are pushed out."""
        sinking, depth = 0, depth_of(separations)
        if depth > 0.0:
            a_thickness = thickness_of(world, a)
            b_thickness = thickness_of(world, b)
            limit = world.max_depth * min(a_thickness, b_thickness)
            if depth > limit and previous < 0:
                sinking = -SPAWNED_STEPS
            elif depth > limit:
                old = world.at(Contact, previous)
                sinking = old.sinking
                if sinking != 0 and depth < RISING * depth_of(old.separations):
                    sinking = 1 if sinking > 0 else -SPAWNED_STEPS
                else:
                    sinking += 1
                    if sinking == 0 or sinking >= SINKING_STEPS:
                        world.fail(
                            "body {value} sinks into another: give more substeps or sweeps, or a larger max_depth", b.id
                        )
        return sinking

    return sinking_steps


def starting_functions(World: type, Body: type, Contact: type) -> tuple[Any, Any]:
    """Functions of the world for the contact of two bodies: (its points and impulses from a manifold, its spawn)."""

    @wl.function
    def contact_start(
        world: World, a: Body, b: Body, normal: wl.vec3, points: Points, separations: wl.vec4, count: int, previous: int
    ):
        """The state in which a contact begins a step: (a_anchors, b_anchors, approach, impulses, tangents, impulse).

        It has the impulses of the contact of these bodies in the last step, which is in row ``previous``; -1 where
        there was none. The last result is the impulse of that whole step.
        """
        offset = b.position - a.position
        origin = wl.vec3(0.0, 0.0, 0.0)
        a_anchors = core_anchors(points, separations, origin, a.rotation, -normal, core_radius(a.shape, a.size))
        b_anchors = core_anchors(points, separations, offset, b.rotation, normal, core_radius(b.shape, b.size))
        if a.shape == SPHERE:  # spheres may have the normal of a later time, which leads past their centres now
            a_anchors = Points()
        if b.shape == SPHERE:
            b_anchors = Points()
        arms = points - points_of(offset, offset, offset, offset)
        approach = normal_speeds(b.velocity - a.velocity, a.spin, b.spin, offset, arms, normal)
        if not (a.friction >= 0.0 and b.friction >= 0.0):
            world.fail("body {value} or what it touches has a friction that is not 0 or more", b.id)
        impulses = wl.vec4()
        tangents = Tangents()
        last_impulse = 0.0
        if previous >= 0:
            old = world.at(Contact, previous)
            impulses, tangents = inherited_impulses(
                a_anchors, b_anchors, count, old.a_anchors, old.b_anchors, old.num_points,
                old.impulses, old.tangents, world.match_distance,
            )  # fmt: skip
            last_impulse = old.impulse
        return a_anchors, b_anchors, approach, impulses, tangents, last_impulse

    @wl.function
    def spawn_contact(
        world: World,
        a: Body,
        b: Body,
        normal: wl.vec3,
        separations: wl.vec4,
        count: int,
        a_anchors: Points,
        b_anchors: Points,
        approach: wl.vec4,
        impulses: wl.vec4,
        tangents: Tangents,
        last_impulse: float,
        sinking: int,
    ):
        world.spawn(
            Contact,
            a=a.ref,
            b=b.ref,
            a_id=a.id,
            b_id=b.id,
            born=world.step,
            normal=normal,
            tangent=tangent(normal),
            num_points=count,
            a_radius=core_radius(a.shape, a.size),
            b_radius=core_radius(b.shape, b.size),
            a_anchors=a_anchors,
            b_anchors=b_anchors,
            separations=separations,
            approach=approach,
            friction=wl.sqrt(a.friction * b.friction),
            restitution=max(a.restitution, b.restitution),
            impulses=impulses,
            tangents=tangents,
            last_impulse=last_impulse,
            sinking=sinking,
        )

    return contact_start, spawn_contact


def touching_systems(World: type, Body: type, Contact: type, with_hulls: bool) -> list[Any]:
    """Systems over pairs and contacts, in order."""
    contact_start, spawn_contact = starting_functions(World, Body, Contact)
    sinking_steps = sinking_function(World, Body, Contact, with_hulls)

    @wl.system(where=("touches", 1), disjoint=True)
    def touch(pair: Pair, world: World):
        """A contact for every pair with points: that of the last step, in its row, or a new one."""
        a = world.at(Body, pair.a)
        b = world.at(Body, pair.b)
        previous = -1
        for old in world.all(Contact):
            if (old.b == b.ref) & (old.a == a.ref):  # both are loaded, without a branch
                previous = old.id
        normal, separations, count = pair.normal, pair.separations, pair.num_points
        a_anchors, b_anchors, approach, impulses, tangents, last_impulse = contact_start(
            world, a, b, normal, pair.points, separations, count, previous
        )
        sinking = 0
        if world.max_depth < UNLIMITED:
            sinking = sinking_steps(world, a, b, separations, previous)
        if previous >= 0:
            contact = world.at(Contact, previous)
            if world.max_depth < UNLIMITED:
                contact.sinking = sinking
            contact.a_id, contact.b_id, contact.born = a.id, b.id, world.step
            contact.normal, contact.tangent, contact.num_points = normal, tangent(normal), count
            contact.a_radius, contact.b_radius = core_radius(a.shape, a.size), core_radius(b.shape, b.size)
            contact.a_anchors, contact.b_anchors = a_anchors, b_anchors
            contact.separations, contact.approach = separations, approach
            contact.friction = wl.sqrt(a.friction * b.friction)
            contact.restitution = max(a.restitution, b.restitution)
            contact.impulses, contact.tangents, contact.peaks = impulses, tangents, wl.vec4()
            contact.impulse, contact.last_impulse = 0.0, last_impulse
        else:
            spawn_contact(
                world, a, b, normal, separations, count, a_anchors, b_anchors, approach, impulses, tangents,
                last_impulse, sinking,
            )  # fmt: skip

    @wl.system
    def retire(contact: Contact, world: World):
        """Removes contacts that were not renewed; bodies asleep keep theirs until one of them moves."""
        if contact.born < world.step:
            own = world.at(Contact, contact.id)  # for what only these contacts need: it is loaded here
            asleep = False
            if own.a.alive and own.b.alive:
                a = own.a.get()
                b = own.b.get()
                contact.a_id = a.id
                contact.b_id = b.id
                moved = wl.length_sq(b.position - a.position - own.between) > 0.0
                asleep = not (moved or a.awake or b.awake)
            if asleep:
                contact.last_impulse = own.impulse
            else:
                contact.despawn()
                if own.a.alive:
                    own.a.get().rest = min(own.a.get().rest, 0)
                if own.b.alive:
                    own.b.get().rest = min(own.b.get().rest, 0)

    return [touch, retire]
