"""Systems that derive properties of bodies and find pairs that may touch."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.bodies import DYNAMIC, KINEMATIC, STATIC, Pair
from worldloom.physics.mass import bounding_radius, scaled_inverse, shape_inertia, shape_volume, world_inverse_inertia
from worldloom.physics.pair_classes import pair_class
from worldloom.physics.shapes import BOX, CAPSULE, HULL, PLANE

FAR = 1.0e30


@wl.function
def half_extents(shape: int, size: wl.vec3, radius: float, rotation: wl.quat) -> wl.vec3:
    """Half extents of a box with world axes about a shape."""
    if shape == BOX:
        axes = wl.quat_to_matrix(rotation)
        return wl.vec3(
            abs(axes[0, 0]) * size.x + abs(axes[0, 1]) * size.y + abs(axes[0, 2]) * size.z,
            abs(axes[1, 0]) * size.x + abs(axes[1, 1]) * size.y + abs(axes[1, 2]) * size.z,
            abs(axes[2, 0]) * size.x + abs(axes[2, 1]) * size.y + abs(axes[2, 2]) * size.z,
        )
    if shape == CAPSULE:
        axis = wl.quat_rotate(rotation, wl.vec3(0.0, 0.0, size.y))
        return wl.vec3(abs(axis.x) + size.x, abs(axis.y) + size.x, abs(axis.z) + size.x)
    if shape == PLANE:
        return wl.vec3(FAR, FAR, FAR)
    return wl.vec3(radius, radius, radius)


@wl.function
def boxes_overlap(a_lower: wl.vec3, a_upper: wl.vec3, b_lower: wl.vec3, b_upper: wl.vec3) -> bool:
    """Whether two boxes with world axes overlap."""
    return (
        a_lower.x <= b_upper.x
        and b_lower.x <= a_upper.x
        and a_lower.y <= b_upper.y
        and b_lower.y <= a_upper.y
        and a_lower.z <= b_upper.z
        and b_lower.z <= a_upper.z
    )


@wl.function
def all_positive_zeros(zeros: wl.mat33) -> bool:
    """Whether all elements of a matrix of zeros of either sign are 0, and none of them is -0 or NaN."""
    total = -zeros[0, 0] - zeros[0, 1] - zeros[0, 2]
    total = total - zeros[1, 0] - zeros[1, 1] - zeros[1, 2]
    total = total - zeros[2, 0] - zeros[2, 1] - zeros[2, 2]
    return fast_quotient(1.0, total) < 0.0  # a sum is -0 where all of its terms are


@wl.function
def unlocked_spin(spin: wl.vec3, rotation: wl.quat, factor: wl.vec3) -> wl.vec3:
    """A spin without its parts about the body's axes whose factor is 0."""
    if factor.x * factor.y * factor.z == 0.0:
        locked = wl.quat_rotate_inv(rotation, spin)
        for i in wl.unroll(3):
            if factor[i] != 0.0:
                locked[i] = 0.0
        spin -= wl.quat_rotate(rotation, locked)
    return spin


def prepare_system(World: type, Body: type, shapes: Iterable[int]) -> Any:
    """The system over bodies that derives their properties; ``shapes`` are those that they may have."""
    known = sum(1 << shape for shape in set(shapes))
    with_hulls = HULL in set(shapes)

    @wl.system(disjoint=True)
    def prepare(body: Body, world: World):
        own = world.at(Body, body.id)  # for what some of the bodies need: it is loaded and stored in branches
        if body.shape < 0 or ((known >> wl.clamp(body.shape, 0, 31)) & 1) == 0:
            world.fail("a body has shape {value}, which physics.systems(shapes=...) of this world lacks", body.shape)
        if body.motion < STATIC or body.motion > DYNAMIC:
            world.fail("a body has motion {value}: give STATIC, KINEMATIC or DYNAMIC", body.motion)
        if not wl.isfinite(body.size.x + body.size.y + body.size.z):
            world.fail("the size of body {value} is not finite: give finite lengths", body.id)
        if with_hulls and body.shape == HULL:
            if own.hull < 0:
                world.fail("a body has hull {value}, which the hull table lacks", own.hull)
            hull = max(own.hull, 0)
            if body.mass == 0.0:
                body.mass = own.density * world.hull_volume[hull]
            if wl.trace(body.inertia) == 0.0:
                for i in range(3):
                    for j in range(3):
                        body.inertia[i, j] = body.mass * world.hull_inertia[hull, 3 * i + j]
            body.radius = 0.0
            for i in range(world.hull_counts[hull, 0]):
                x, y, z = (
                    world.hull_vertices[hull, 3 * i],
                    world.hull_vertices[hull, 3 * i + 1],
                    world.hull_vertices[hull, 3 * i + 2],
                )
                body.radius = max(body.radius, wl.length(wl.vec3(x, y, z)))
        else:
            if body.mass == 0.0:
                body.mass = own.density * shape_volume(body.shape, body.size)
            if wl.trace(body.inertia) == 0.0:
                body.inertia = shape_inertia(body.shape, body.size, body.mass)
            body.radius = bounding_radius(body.shape, body.size)
        if not wl.isfinite(body.rotation[0] + body.rotation[1] + body.rotation[2] + body.rotation[3]):
            world.fail("the rotation of body {value} is not finite", body.id)  # a step would reset it to the identity
        factors = own.angular_factor if body.motion == DYNAMIC else wl.vec3(1.0, 1.0, 1.0)
        body.spin = unlocked_spin(body.spin, body.rotation, factors)
        body.colours = 0
        body.inverse_mass = 0.0
        inverse_inertia = wl.mat33()
        if body.motion == DYNAMIC and (body.shape == PLANE or not (body.mass > 0.0 and wl.isfinite(body.mass))):
            world.fail(
                "body {value} is dynamic and has no mass above 0: give it a volume or a mass (no plane is dynamic)",
                body.id,
            )
        elif body.motion == DYNAMIC and not wl.trace(body.inertia) >= 0.0:
            world.fail("the inertia of body {value} is not positive", body.id)
        elif body.motion == DYNAMIC:
            body.inverse_mass = 1.0 / body.mass
            factor = wl.diag(own.angular_factor)
            inverse_inertia = factor * scaled_inverse(body.inertia) * factor
        world_inverse = world_inverse_inertia(inverse_inertia, body.rotation)
        zero_inverses = body.motion == STATIC and all_positive_zeros(world_inverse)
        if not (zero_inverses and body.zero_inverses):
            own.inverse_inertia, own.world_inverse_inertia = inverse_inertia, world_inverse
        body.zero_inverses = zero_inverses
        extents = half_extents(body.shape, body.size, body.radius, body.rotation)
        reach = world.margin
        travel = wl.vec3(0.0, 0.0, 0.0)
        if body.motion == STATIC:
            body.velocity = wl.vec3(0.0, 0.0, 0.0)
            body.spin = wl.vec3(0.0, 0.0, 0.0)
        else:
            velocity = body.velocity + body.force * (body.inverse_mass * world.dt)
            spin = body.spin + world_inverse * body.torque * world.dt
            travel = velocity * world.dt
            reach += (wl.length(spin) * body.radius + wl.length(world.gravity) * world.dt) * world.dt
        extents += wl.vec3(reach, reach, reach)
        body.lower = body.position - extents + wl.min(travel, wl.vec3(0.0, 0.0, 0.0))
        body.upper = body.position + extents + wl.max(travel, wl.vec3(0.0, 0.0, 0.0))
        speed_sq = wl.length_sq(body.velocity) + wl.length_sq(body.spin) * body.radius * body.radius
        forced = wl.length_sq(body.force) + wl.length_sq(body.torque) > 0.0
        slow = speed_sq < world.sleep_speed * world.sleep_speed and not forced
        body.rest = body.rest + 1 if body.motion == DYNAMIC and body.touching and slow else 0
        body.touching = False
        body.awake = body.motion == DYNAMIC and body.rest < max(world.sleep_steps, 1)
        if body.motion == KINEMATIC:
            body.awake = wl.length_sq(body.velocity) + wl.length_sq(body.spin) > 0.0  # planes have no radius
        body.mover = 1 if body.awake else 0

    return prepare


def broad_phase_system(World: type, Body: type, Joint: type) -> Any:
    """The system over bodies that are awake that spawns pairs."""

    @wl.system(where=("mover", 1))
    def broad_phase(body: Body, world: World):
        """Compares every body that is awake with all others; of two that are, the first does it."""
        for other in world.all(Body):
            if other.id != body.id and boxes_overlap(body.lower, body.upper, other.lower, other.upper):
                dynamic = body.motion == DYNAMIC or other.motion == DYNAMIC
                first = other.mover == 0 or body.id < other.id
                meets = (body.collision_group & other.collision_mask) != 0
                if dynamic and first and meets and (other.collision_group & body.collision_mask) != 0:
                    joined = False
                    for joint in world.all(Joint):
                        one_way = joint.a == body.ref and joint.b == other.ref
                        if not joint.collides and (one_way or (joint.a == other.ref and joint.b == body.ref)):
                            joined = True
                    if not joined:
                        kind = pair_class(min(body.shape, other.shape), max(body.shape, other.shape))
                        lower = body.shape < other.shape or (body.shape == other.shape and body.id < other.id)
                        world.spawn(Pair, a=body.id if lower else other.id, b=other.id if lower else body.id, kind=kind)

    return broad_phase
