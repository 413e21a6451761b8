"""Volume, inertia and bounds of shapes. Frames are those of the body: the origin is the centre of mass."""

import math

import worldloom as wl
from worldloom.physics.bodies import UNLIMITED
from worldloom.physics.shapes import BOX, CAPSULE, PLANE, SPHERE, WEDGE


@wl.function
def shape_volume(shape: int, size: wl.vec3) -> float:
    """Volume of a sphere, capsule, box or wedge, m³; 0 for a plane."""
    if shape == SPHERE:
        return (4.0 / 3.0) * math.pi * size.x * size.x * size.x
    if shape == CAPSULE:
        return math.pi * size.x * size.x * (2.0 * size.y + (4.0 / 3.0) * size.x)
    if shape == BOX:
        return 8.0 * size.x * size.y * size.z
    if shape == WEDGE:
        return 4.0 * size.x * size.y * size.z
    return 0.0


@wl.function
def capsule_inertia(radius: float, half: float, mass: float) -> wl.mat33:
    """Inertia of a capsule along z: a cylinder and two half spheres."""
    cylinder = 2.0 * half
    balls = (4.0 / 3.0) * radius
    cylinder_mass = mass * cylinder / (cylinder + balls)
    ball_mass = mass - cylinder_mass
    axial = 0.5 * cylinder_mass * radius * radius + 0.4 * ball_mass * radius * radius
    offset = half * half + 0.75 * half * radius
    lateral = cylinder_mass * (0.25 * radius * radius + half * half / 3.0) + ball_mass * (
        0.4 * radius * radius + offset
    )
    return wl.diag(wl.vec3(lateral, lateral, axial))


@wl.function
def wedge_inertia(size: wl.vec3, mass: float) -> wl.mat33:
    """Inertia of a wedge: a triangle in y and z, extruded along x."""
    xx = mass * size.x * size.x / 3.0
    yy = mass * (2.0 / 9.0) * size.y * size.y
    zz = mass * (2.0 / 9.0) * size.z * size.z
    yz = mass * (1.0 / 9.0) * size.y * size.z
    inertia = wl.diag(wl.vec3(yy + zz, xx + zz, xx + yy))
    inertia[1, 2] = -yz
    inertia[2, 1] = -yz
    return inertia


@wl.function
def shape_inertia(shape: int, size: wl.vec3, mass: float) -> wl.mat33:
    """Inertia of a sphere, capsule, box or wedge about its centre of mass, kg m²; the identity for a plane."""
    if shape == SPHERE:
        moment = 0.4 * mass * size.x * size.x
        return wl.diag(wl.vec3(moment, moment, moment))
    if shape == CAPSULE:
        return capsule_inertia(size.x, size.y, mass)
    if shape == BOX:
        xx, yy, zz = size.x * size.x, size.y * size.y, size.z * size.z
        return wl.diag(wl.vec3(yy + zz, xx + zz, xx + yy) * (mass / 3.0))
    if shape == WEDGE:
        return wedge_inertia(size, mass)
    return wl.diag(wl.vec3(1.0, 1.0, 1.0))


@wl.function
def bounding_radius(shape: int, size: wl.vec3) -> float:
    """Radius of the smallest sphere about the centre of mass, m; 0 for a plane."""
    if shape == PLANE:
        return 0.0
    if shape == SPHERE:
        return size.x
    if shape == CAPSULE:
        return size.x + size.y
    if shape == WEDGE:
        low = wl.length(wl.vec3(size.x, size.y * (4.0 / 3.0), size.z * (2.0 / 3.0)))
        return max(low, wl.length(wl.vec3(size.x, size.y * (2.0 / 3.0), size.z * (4.0 / 3.0))))
    return wl.length(size)


@wl.function
def thickness(shape: int, size: wl.vec3) -> float:
    """Diameter of the largest ball within a sphere, capsule, box or wedge, m; UNLIMITED for a plane."""
    if shape == PLANE:
        return UNLIMITED
    if shape == BOX:
        return 2.0 * min(size.x, min(size.y, size.z))
    if shape == WEDGE:
        return 2.0 * min(size.x, 2.0 * size.y * size.z / (size.y + size.z + wl.length(wl.vec2(size.y, size.z))))
    return 2.0 * size.x


@wl.function
def scaled_inverse(matrix: wl.mat33) -> wl.mat33:
    """Inverse of a matrix with a positive trace, which is scaled so that its determinant is within range."""
    scale = 1.0 / wl.trace(matrix)
    return wl.inverse(matrix * scale) * scale


@wl.function
def world_inverse_inertia(inverse: wl.mat33, rotation: wl.quat) -> wl.mat33:
    """Inverse inertia in world axes."""
    axes = wl.quat_to_matrix(rotation)
    return axes * inverse * wl.transpose(axes)
