"""Shapes, masses and frictions of the bodies of HideSeek."""

import worldloom as wl
from worldloom import physics

# Kinds of bodies with a number in the table below.
ELONGATED, CUBE, RAMP, AGENT, FLOOR, WALL = range(6)

FRICTIONS = wl.vec(6)(4.0, 4.0, 1.0, 0.01, 0.1, 2.0)
"""Dynamic friction by kind; that of a pair of bodies is the mean of both."""
BOX_MASS = 2.0  # kg, of boxes and ramps
AGENT_MASS = 1.0  # kg
START_HEIGHT = 1.0  # m, of the middle of a body
RAMP_MIDDLE = -0.5
"""y of the middle of a ramp's base, from its centre of mass: it extends from -2 to 1."""


@wl.function
def half_size(kind: int) -> wl.vec3:
    """Half extents of the bounding box of a body that moves, m."""
    if kind == ELONGATED:
        return wl.vec3(4.0, 0.75, 1.0)
    if kind == RAMP:
        return wl.vec3(1.0, 1.5, 1.0)
    return wl.vec3(1.0, 1.0, 1.0)


@wl.function
def body_shape(kind: int) -> int:
    """The shape of a body that moves."""
    return physics.WEDGE if kind == RAMP else physics.BOX


@wl.function
def start_height(kind: int) -> float:
    """Height of the centre of mass, m: that of a ramp is a third of its half height below the middle."""
    return START_HEIGHT - half_size(kind).z / 3.0 if kind == RAMP else START_HEIGHT


@wl.function
def yaw_rotation(yaw: float) -> wl.quat:
    """The rotation about the vertical axis, rad."""
    return wl.quat(0.0, 0.0, wl.sin(0.5 * yaw), wl.cos(0.5 * yaw))


@wl.function
def footprint(kind: int, x: float, y: float, yaw: float) -> wl.vec4:
    """The rectangle about a body from above: lower x and y, upper x and y, m."""
    half = half_size(kind)
    c, s = wl.cos(yaw), wl.sin(yaw)
    if kind == RAMP:
        x -= s * RAMP_MIDDLE
        y += c * RAMP_MIDDLE
    wide = abs(c) * half.x + abs(s) * half.y
    deep = abs(s) * half.x + abs(c) * half.y
    return wl.vec4(x - wide, y - deep, x + wide, y + deep)


@wl.function
def overlap(a: wl.vec4, b: wl.vec4) -> bool:
    """Whether two rectangles overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
