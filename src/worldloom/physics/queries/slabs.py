"""Intervals of rays within boxes, as intersections of slabs.

A ray is a start and a direction of any length; distances are in units of it. Its reciprocals are limited to ``STEEP``,
so that no product is NaN. The interval of a ray that starts within a box begins at 0; it is empty, entry > leave, for a
miss. Distances of misses are ``MISS``.
"""

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient

MISS = 1.0e30
STEEP = 1.0e9
"""Reciprocal of components of a direction that are nearly 0."""
FLAT = 1.0e-9
"""Largest magnitude of these; the reciprocal of the next larger number of 32 bits is below ``STEEP``."""


@wl.function
def reciprocal(x: float) -> float:
    """1 / x, limited to ``STEEP``."""
    inverse = fast_quotient(1.0, x)  # also of 0, so that no thread takes a branch
    return inverse if abs(x) > FLAT else STEEP


@wl.function
def reciprocals(direction: wl.vec3) -> wl.vec3:
    """The reciprocal of each component."""
    return wl.vec3(reciprocal(direction.x), reciprocal(direction.y), reciprocal(direction.z))


@wl.function
def box_entries(start: wl.vec3, inverse: wl.vec3, half: wl.vec3) -> wl.vec3:
    """Distances at which a ray enters the three slabs of a box about the origin, negative where it is past them.

    Args:
        start: of the ray.
        inverse: reciprocals of its direction.
        half: half extents.
    """
    return wl.vec3(
        -start.x * inverse.x - half.x * abs(inverse.x),
        -start.y * inverse.y - half.y * abs(inverse.y),
        -start.z * inverse.z - half.z * abs(inverse.z),
    )


@wl.function
def box_leave(start: wl.vec3, inverse: wl.vec3, half: wl.vec3) -> float:
    """Distance at which a ray leaves the first of the three slabs of a box about the origin."""
    return min(
        min(half.x * abs(inverse.x) - start.x * inverse.x, half.y * abs(inverse.y) - start.y * inverse.y),
        half.z * abs(inverse.z) - start.z * inverse.z,
    )


@wl.function
def box_interval(start: wl.vec3, direction: wl.vec3, half: wl.vec3):
    """The interval of a ray within a box about the origin: (entry, leave)."""
    inverse = reciprocals(direction)
    entries = box_entries(start, inverse, half)
    return max(max(entries.x, entries.y), max(entries.z, 0.0)), box_leave(start, inverse, half)


@wl.function
def rectangle_interval(inverse_x: float, inverse_y: float, rectangle: wl.vec4):
    """The interval of a horizontal ray within a rectangle (x, y to x, y) relative to its start: (entry, leave)."""
    left, right = rectangle[0] * inverse_x, rectangle[2] * inverse_x
    near, far = rectangle[1] * inverse_y, rectangle[3] * inverse_y
    return max(max(min(left, right), min(near, far)), 0.0), min(max(left, right), max(near, far))
