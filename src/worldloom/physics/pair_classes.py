"""Classes of pairs, by the algorithm that finds their contacts. Each has a system of its own."""

from collections.abc import Iterable

import worldloom as wl
from worldloom.physics.shapes import BOX, CAPSULE, HULL, PLANE, SPHERE, WEDGE

UNKNOWN = -1
PLANE_BOX = 0
BOX_BOX = 1
PLANE_WEDGE = 2
SOLIDS = 3  # a wedge with a box or a wedge
ROUND = 4  # a sphere or capsule with a plane, a sphere or a capsule
POLYTOPES = 5  # a sphere or capsule with a polytope, or a hull with anything


@wl.function
def pair_class(a: int, b: int) -> int:
    """The class of a pair of shapes, the kind of A not above that of B."""
    if a == PLANE and b == BOX:
        return PLANE_BOX
    if a == PLANE and b == WEDGE:
        return PLANE_WEDGE
    if b in (SPHERE, CAPSULE):
        return ROUND
    if a == BOX and b == BOX:
        return BOX_BOX
    if a >= BOX and b == WEDGE:
        return SOLIDS
    return POLYTOPES if b >= BOX else UNKNOWN


def classes_of(shapes: Iterable[int]) -> set[int]:
    """The classes of all pairs of some shapes."""
    known = set(shapes) & {PLANE, SPHERE, CAPSULE, BOX, WEDGE, HULL}
    return {int(pair_class(a, b)) for a in known for b in known if a <= b and b != PLANE}
