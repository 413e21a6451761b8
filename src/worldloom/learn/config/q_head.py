"""What the output layers of a Q network are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QHead:
    """The output layers of a Q network.

    Attributes:
        atoms: Atoms of the distribution of each choice's return (C51); 0 for expected returns only.
        v_min, v_max: Least and greatest return of the distribution.
        noisy: Whether the layers are noisy.
    """

    atoms: int = 0
    v_min: float = -10.0
    v_max: float = 10.0
    noisy: bool = False
