"""Testing worlds: a generator of random ones, a reference interpreter that shares no code with the engine, and what compares the two.

Nothing of ``worldloom.core`` is imported by the reference and the generator: :mod:`~worldloom.testing.reference` reads the text of a
world file and runs its syntax tree over NumPy scalars. :mod:`~worldloom.testing.compare` holds devices to it, column by column,
:mod:`~worldloom.testing.shrink` makes a failing world small, and ``python -m worldloom.testing.fuzz`` does all of it until a time limit.
Imported only by tests and by users who ask for it; no other package of worldloom depends on this one.
"""

from worldloom.testing.compare import VARIANTS, Difference, compare
from worldloom.testing.generate import generate
from worldloom.testing.reference import Reference
from worldloom.testing.shrink import Shrinker

__all__ = ["VARIANTS", "Difference", "Reference", "Shrinker", "compare", "generate"]
