"""Differential testing of worlds: random worlds, a reference interpreter, and the comparison of devices with it.

``reference`` and ``generator`` import nothing of ``worldloom.core``; the modules here may import all of worldloom. No
other package imports this one. :func:`compare` runs a world file on devices and on the reference, :class:`Shrinker`
reduces a failing world, and ``python -m worldloom.testing.fuzz`` does both for random worlds.
"""

from worldloom.testing.compare import VARIANTS, Difference, compare
from worldloom.testing.generator.worlds import generate
from worldloom.testing.reference.interpreter import Reference
from worldloom.testing.shrink import Shrinker

__all__ = ["VARIANTS", "Difference", "Reference", "Shrinker", "compare", "generate"]
