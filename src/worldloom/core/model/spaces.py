"""Spaces of actions and observations."""

from __future__ import annotations

import math
from dataclasses import dataclass

from worldloom.core.base.errors import misuse


@dataclass(frozen=True)
class Discrete:
    """One of ``n`` choices, 0 to ``n - 1``."""

    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or self.n < 1:
            raise misuse(
                f"Discrete needs a whole number of choices of 1 or more, not {self.n!r}",
                "write for example wl.Discrete(2)",
            )


class MultiDiscrete:
    """Several choices at once, the k-th one of ``choices[k]``.

    Args:
        choices: Number of choices, one per component.
        as_tuple: Whether an observation of one entity is a ``Tuple`` of ``Discrete`` spaces in Gymnasium, which some of
            its own environments have, instead of a ``MultiDiscrete``.
    """

    def __init__(self, *choices: int, as_tuple: bool = False) -> None:
        if not choices or any(not isinstance(n, int) or n < 1 for n in choices):
            raise misuse(
                f"MultiDiscrete needs one whole number of 1 or more per choice, not {choices!r}",
                "write for example wl.MultiDiscrete(3, 2)",
            )
        self.choices = tuple(choices)
        self.as_tuple = as_tuple

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiDiscrete) and other.choices == self.choices

    def __hash__(self) -> int:
        return hash(self.choices)

    def __repr__(self) -> str:  # part of fingerprints: as_tuple does not change a world's behaviour
        return f"MultiDiscrete({', '.join(map(str, self.choices))})"


@dataclass(frozen=True)
class Box:
    """Real numbers between ``low`` and ``high``: one (``shape=()``) or a vector of ``shape=(n,)``.

    Bounds are one for all numbers, or for a vector one each: ``wl.Box((0.0, -1.0), (1.0, 1.0), (2,))``. They describe
    the space. A world that needs its actions inside them clips them itself; the engine refuses only numbers that are
    not finite.
    """

    low: float | tuple[float, ...] = -math.inf
    high: float | tuple[float, ...] = math.inf
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        pairs = list(zip(*self.each(), strict=False))
        each = all(not isinstance(b, tuple) or self.shape == (len(b),) for b in (self.low, self.high))
        if (
            not each
            or not all(isinstance(b, (int, float)) for pair in pairs for b in pair)
            or not all(low < high for low, high in pairs)
        ):
            raise misuse(
                f"Box needs two numbers with low < high, not {self.low!r} and {self.high!r}",
                "write for example wl.Box(-1.0, 1.0)",
            )
        if len(self.shape) > 3 or any(not isinstance(n, int) or n < 1 for n in self.shape):
            raise misuse(
                f"Box takes a shape of at most three whole numbers of 1 or more, not {self.shape!r}",
                "write for example wl.Box(-1.0, 1.0, (2,))",
            )

    def each(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The bounds of every number."""
        size = math.prod(n for n in self.shape if isinstance(n, int))
        low, high = (b if isinstance(b, tuple) else (b,) * size for b in (self.low, self.high))
        return low, high


Space = Discrete | MultiDiscrete | Box
