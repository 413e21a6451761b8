"""Bodies as a few vectors, for systems over contacts of one colour and over bodies.

A GPU moves a vector of 16 bytes by one instruction, and ``vec3`` by three: their rows are not aligned. In systems whose
bodies lie scattered, the number of these instructions is what takes time. While such systems solve a step, the state of
a body with a mass is in ``pose``, ``twist`` and ``turning``, and its inertia and inverse inertia in the body's frame in
``moments``; other bodies are in their components.
"""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Moments, Pose, Remainder, Turning, Twist
from worldloom.physics.motion import carry_rotation, pushed_again
from worldloom.physics.solving.body_access import BodyAccess


@wl.function
def pose_of(position: wl.vec3, rotation: wl.quat) -> Pose:
    """Position and rotation as one vector."""
    return Pose(position.x, position.y, position.z, rotation[0], rotation[1], rotation[2], rotation[3], 0.0)


@wl.function
def pose_parts(pose: Pose):
    """(position, rotation)."""
    return wl.vec3(pose[0], pose[1], pose[2]), wl.quat(pose[3], pose[4], pose[5], pose[6])


@wl.function
def twist_of(velocity: wl.vec3, spin: wl.vec3) -> Twist:
    """Velocity and spin as one vector."""
    return Twist(velocity.x, velocity.y, velocity.z, spin.x, spin.y, spin.z, 0.0, 0.0)


@wl.function
def twist_parts(twist: Twist):
    """(velocity, spin)."""
    return wl.vec3(twist[0], twist[1], twist[2]), wl.vec3(twist[3], twist[4], twist[5])


@wl.function
def turning_of(inverse: wl.mat33) -> Turning:
    """An inverse inertia as one vector, by rows."""
    turning = Turning()
    for i in wl.unroll(3):
        for k in wl.unroll(3):
            turning[3 * i + k] = inverse[i, k]
    return turning


@wl.function
def turning_matrix(turning: Turning) -> wl.mat33:
    """The inverse inertia."""
    inverse = wl.mat33()
    for i in wl.unroll(3):
        for k in wl.unroll(3):
            inverse[i, k] = turning[3 * i + k]
    return inverse


@wl.function
def moments_of(inertia: wl.mat33, inverse: wl.mat33) -> Moments:
    """An inertia and its inverse as one vector, by rows."""
    moments = Moments()
    for i in wl.unroll(3):
        for k in wl.unroll(3):
            moments[3 * i + k] = inertia[i, k]
            moments[9 + 3 * i + k] = inverse[i, k]
    return moments


@wl.function
def moments_parts(moments: Moments):
    """(inertia, inverse inertia)."""
    inertia, inverse = wl.mat33(), wl.mat33()
    for i in wl.unroll(3):
        for k in wl.unroll(3):
            inertia[i, k] = moments[3 * i + k]
            inverse[i, k] = moments[9 + 3 * i + k]
    return inertia, inverse


@dataclass(frozen=True)
class PackedBodies:
    """Functions of a world and a body.

    Attributes:
        access: Where its state is.
        pack: Copies the state of a body with a mass into the vectors.
        unpack: Copies it back.
        restart: Adds the velocity of ``h`` seconds by gravity, force and torque to a body with a mass, and the impulses
            of the last substep.
        move: Moves a body with a mass by its velocity and spin for ``h`` seconds.
    """

    access: BodyAccess
    pack: Any
    unpack: Any
    restart: Any
    move: Any


def packed_bodies(World: type, Body: type) -> PackedBodies:
    """The functions for the classes of a world."""

    @wl.function
    def pack_body(world: World, body: Body):
        position, rotation, velocity, spin = body.position, body.rotation, body.velocity, body.spin
        inertia, inverse, turned_inverse = body.inertia, body.inverse_inertia, body.world_inverse_inertia
        body.pose = pose_of(position, rotation)
        body.twist = twist_of(velocity, spin)
        body.pushed = twist_of(velocity, spin)
        body.turning = turning_of(turned_inverse)
        body.moments = moments_of(inertia, inverse)

    @wl.function
    def unpack_body(world: World, body: Body):
        pose, twist, turning = body.pose, body.twist, body.turning
        body.position, body.rotation = pose_parts(pose)
        body.velocity, body.spin = twist_parts(twist)
        body.world_inverse_inertia = turning_matrix(turning)

    @wl.function
    def place_of(world: World, body: Body, mass: float):
        position, rotation = wl.vec3(), wl.quat()
        if mass > 0.0:
            position, rotation = pose_parts(body.pose)
        else:
            position, rotation = body.position, body.rotation
        return position, rotation

    @wl.function
    def motion_of(world: World, body: Body, mass: float, moving: bool):
        velocity, spin = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
        if mass > 0.0:
            velocity, spin = twist_parts(body.twist)
        elif moving:
            velocity, spin = body.velocity, body.spin
        return velocity, spin

    @wl.function
    def inertia_of(world: World, body: Body, mass: float):
        inverse = wl.mat33()
        if mass > 0.0:
            inverse = turning_matrix(body.turning)
        return inverse

    @wl.function
    def turn_body(world: World, body: Body, mass: float, velocity: wl.vec3, spin: wl.vec3):
        if mass > 0.0:
            body.twist = twist_of(velocity, spin)

    @wl.function
    def restart_packed(world: World, body: Body, h: float):
        velocity, spin = twist_parts(body.twist)
        free_velocity, free_spin = twist_parts(body.pushed)
        inverse = turning_matrix(body.turning)
        velocity, spin, free_velocity, free_spin = pushed_again(
            velocity, spin, free_velocity, free_spin, world.gravity, body.force, body.torque, body.inverse_mass,
            inverse, h,
        )  # fmt: skip
        body.twist = twist_of(velocity, spin)
        body.pushed = twist_of(free_velocity, free_spin)

    @wl.function
    def move_packed(world: World, body: Body, h: float):
        position, rotation = pose_parts(body.pose)
        velocity, spin = twist_parts(body.twist)
        position += velocity * h
        inertia, inverse = moments_parts(body.moments)
        free_velocity, free_spin = twist_parts(body.pushed)
        exact, remainder = body.colours == 0, Remainder()
        if exact:
            remainder = body.remainder
        rotation, spin, free_spin, remainder, inverse = carry_rotation(
            rotation, spin, free_spin, remainder, exact, inertia, inverse, h
        )
        if exact:
            body.remainder = remainder
        body.pose = pose_of(position, rotation)
        body.twist = twist_of(velocity, spin)
        body.pushed = twist_of(free_velocity, free_spin)
        body.turning = turning_of(inverse)

    access = BodyAccess(place_of, motion_of, inertia_of, turn_body)
    return PackedBodies(access, pack_body, unpack_body, restart_packed, move_packed)
