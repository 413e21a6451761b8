"""Integration of rotations."""

import worldloom as wl
from worldloom.physics.mass import world_inverse_inertia


@wl.function
def turned(rotation: wl.quat, spin: wl.vec3, h: float) -> wl.quat:
    """A rotation after the time ``h`` at a constant spin in world axes."""
    speed = wl.length(spin)
    if speed * h < 1e-9:
        return rotation
    return wl.normalize(wl.quat_from_axis_angle(spin / speed, speed * h) * rotation)


@wl.function
def integrate_rotation(rotation: wl.quat, spin: wl.vec3, inertia: wl.mat33, inverse: wl.mat33, h: float):
    """Free rotation by the midpoint rule with constant angular momentum: (rotation, spin).

    Args:
        rotation: body to world.
        spin: rad/s, world axes.
        inertia: body frame.
        inverse: inverse inertia, body frame.
        h: time, s.
    """
    momentum = wl.quat_rotate(rotation, inertia * wl.quat_rotate_inv(rotation, spin))
    halfway = turned(rotation, spin, 0.5 * h)
    spin = world_inverse_inertia(inverse, halfway) * momentum
    rotation = turned(rotation, spin, h)
    return rotation, world_inverse_inertia(inverse, rotation) * momentum
