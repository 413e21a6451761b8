"""Settings of a pool of past selves. A field's docstring is its help on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worldloom.core.base.errors import InputError
from worldloom.learn.config.validation import check_fields, require_not_negative

PoolSampling = Literal["recency", "rating", "uniform"]


@dataclass(frozen=True)
class OpponentPool:
    """Past selves of a policy that act in its place in a part of the worlds."""

    every: int = 20
    """Iterations between two snapshots of the policy. The first is taken before the first iteration."""
    size: int = 16
    """Maximum number of snapshots; a new one replaces the oldest."""
    share: float = 0.25
    """Fraction of the worlds in which past selves act, 0 to 1; in the others the current policies meet."""
    simultaneous: int = 1
    """Past selves that act at the same time, each in an equal part of these worlds."""
    swap_every: int = 10
    """Iterations between two draws of past selves; one whose snapshot is replaced is drawn again at once. Only episodes
    that one past self played from start to end are rated."""
    sampling: PoolSampling = "recency"
    """Probability of a past self. recency: halves with every half_life newer snapshots. rating: proportional to
    (1 - p) ** hardness, where p is the score that Elo ratings expect of the rivals. uniform: equal."""
    half_life: float = 4.0
    """Newer snapshots that halve the probability of a past self, with sampling recency."""
    hardness: float = 2.0
    """Exponent of sampling by rating: 0 for uniform, larger for stronger past selves."""
    agents: str = ""
    """Agents of the policy that past selves control, as in Player[1]; empty for all of them."""
    margin: float = 0.0
    """A past self wins an episode where its mean return per agent exceeds that of the other agents by more than this,
    and loses where by less; for worlds whose sides have different rewards."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("every", "size", "simultaneous", "swap_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} of a pool of past selves must be 1 or more, not {getattr(self, name)}")
        if not 0.0 < self.share <= 1.0:
            raise InputError(f"share of a pool of past selves must be above 0 and at most 1, not {self.share}")
        if not self.half_life > 0.0:
            raise InputError(f"half_life of a pool of past selves must be greater than 0, not {self.half_life}")
        require_not_negative(self, "hardness")
