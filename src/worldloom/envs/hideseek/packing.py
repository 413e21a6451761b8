"""Packed levels: bodies side by side in rows, for measurements with many contacts.

With the configuration ``packed`` bodies start in a pile in the middle of the arena, in the order of their rows, and
walls through the pile are left out.
"""

import worldloom as wl

PILE = wl.vec4(-4.2, -9.0, 4.2, 12.2)
"""The rectangle that is kept for the pile, m: lower x and y, upper x and y."""


@wl.function
def row_corner(corner: wl.vec3, half: wl.vec3, gap: float) -> wl.vec3:
    """The lower corner of the next body: that of the row, or of a new one where the row is full.

    Args:
        corner: x and y of the first free corner, and the depth of the row, m.
        half: half extents of the body, m.
        gap: between bodies, m.

    Returns:
        x and y of the body's lower corner, and the depth of the row without it.
    """
    if corner.x + 2.0 * half.x > PILE[2]:
        return wl.vec3(PILE[0], corner.y + corner.z + gap, 0.0)
    return corner


@wl.function
def advance(corner: wl.vec3, half: wl.vec3, gap: float) -> wl.vec3:
    """The first free corner after a body, and the depth of the row with it."""
    return wl.vec3(corner.x + 2.0 * half.x + gap, corner.y, max(corner.z, 2.0 * half.y))
