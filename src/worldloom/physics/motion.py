"""Integration of rotations."""

import worldloom as wl
from worldloom.physics.mass import world_inverse_inertia

SMALL_ANGLE_SQ = 0.01  # squared half angle below which series of 3 terms are exact in float32
MAX_DOUBLINGS = 24  # of a rotation by a large angle


@wl.function
def pushed(
    velocity: wl.vec3,
    spin: wl.vec3,
    gravity: wl.vec3,
    force: wl.vec3,
    torque: wl.vec3,
    mass: float,
    inverse: wl.mat33,
    h: float,
):
    """Velocity and spin after ``h`` seconds of gravity, a force and a torque; ``mass`` and ``inverse`` are inverses."""
    return velocity + (gravity + force * mass) * h, spin + inverse * torque * h


@wl.function
def pushed_again(
    velocity: wl.vec3,
    spin: wl.vec3,
    free_velocity: wl.vec3,
    free_spin: wl.vec3,
    gravity: wl.vec3,
    force: wl.vec3,
    torque: wl.vec3,
    mass: float,
    inverse: wl.mat33,
    h: float,
):
    """``pushed``, and the impulses of the last substep once more: (velocity, spin, free velocity, free spin).

    What a body has beyond its free velocity and spin is what contacts gave it in the last substep, so this is a warm
    start of all of them; ``carried_spins`` lets it follow their points.
    """
    velocity_change, spin_change = velocity - free_velocity, spin - free_spin
    velocity, spin = pushed(velocity, spin, gravity, force, torque, mass, inverse, h)
    return velocity + velocity_change, spin + spin_change, velocity, spin


@wl.function
def small_rotation(half: wl.vec3) -> wl.quat:
    """The rotation by the angle ``2 |half|`` about ``half``.

    A series for small angles; a larger one is halved, and its rotation squared as often.
    """
    square = wl.length_sq(half)
    doublings = 0
    while square > SMALL_ANGLE_SQ and doublings < MAX_DOUBLINGS:
        half, square = half * 0.5, square * 0.25
        doublings += 1
    sine = 1.0 - square * (1.0 / 6.0) + square * square * (1.0 / 120.0)
    cosine = 1.0 - square * 0.5 + square * square * (1.0 / 24.0)
    rotation = wl.quat(half.x * sine, half.y * sine, half.z * sine, cosine)
    for _ in range(doublings):
        rotation = rotation * rotation
    return rotation


@wl.function
def turned(rotation: wl.quat, spin: wl.vec3, h: float) -> wl.quat:
    """A rotation after the time ``h`` at a constant spin in world axes."""
    return wl.normalize(small_rotation(spin * (0.5 * h)) * rotation)


@wl.function
def spin_momentum(rotation: wl.quat, inertia: wl.mat33, spin: wl.vec3) -> wl.vec3:
    """Angular momentum about the centre of mass, world axes."""
    return wl.quat_rotate(rotation, inertia * wl.quat_rotate_inv(rotation, spin))


@wl.function
def integrate_rotation(rotation: wl.quat, spin: wl.vec3, inertia: wl.mat33, inverse: wl.mat33, h: float):
    """Free rotation by the midpoint rule with constant angular momentum: (rotation, spin, world inverse inertia).

    Args:
        rotation: body to world.
        spin: rad/s, world axes.
        inertia: body frame.
        inverse: inverse inertia, body frame.
        h: time, s.
    """
    momentum = spin_momentum(rotation, inertia, spin)
    halfway = small_rotation(spin * (0.25 * h)) * rotation
    spin = wl.quat_rotate(halfway, inverse * wl.quat_rotate_inv(halfway, momentum))
    rotation = turned(rotation, spin, h)
    world_inverse = world_inverse_inertia(inverse, rotation)
    return rotation, world_inverse * momentum, world_inverse
