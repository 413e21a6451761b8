"""Exploit and explore (Jaderberg et al., 2017): which member continues with whose weights, and with what settings.

Pure functions of the seed, the generation and the results, so that a population that was killed continues as it would
have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.population.member_result import MemberResult
from worldloom.learn.experiments.search.dimension import Dimension

Initial = Literal["random", "given"]


@dataclass(frozen=True)
class Evolution:
    """How a population changes between two generations.

    Attributes:
        quantile: Fraction of the members that copy others, and of those that are copied; at least one of each.
        resample: Probability that a setting is drawn anew, not perturbed.
        perturb: A perturbed number is multiplied or divided by this.
    """

    quantile: float = 0.25
    resample: float = 0.25
    perturb: float = 1.25

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile <= 0.5:
            raise InputError(f"--quantile must be above 0 and at most 0.5, not {self.quantile}")
        if not 0.0 <= self.resample <= 1.0:
            raise InputError(f"--resample must lie between 0 and 1, not be {self.resample}")
        if not 1.0 < self.perturb < math.inf:
            raise InputError(f"--perturb must be above 1, not {self.perturb}")


@dataclass(frozen=True)
class Start:
    """How a member starts a generation.

    Attributes:
        source: The member whose weights it continues with; its own number where it goes on by itself.
        settings: Its settings.
    """

    source: int
    settings: Mapping[str, Any]


def first_starts(
    space: Sequence[Dimension], population: int, seed: int, given: Mapping[str, Any] | None = None
) -> list[Start]:
    """The first generation: random settings, or ``given`` ones for every member."""
    if given is not None:
        return [Start(member, dict(given)) for member in range(population)]
    starts = []
    for member in range(population):
        random = _random(seed, 0, member)
        starts.append(Start(member, {dimension.name: dimension.sample(random) for dimension in space}))
    return starts


def next_starts(
    space: Sequence[Dimension], evolution: Evolution, seed: int, results: Sequence[MemberResult]
) -> list[Start]:
    """The generation after ``results``, which are those of all members of one generation, in their order.

    The worst members, and those that failed, copy one of the best and change its settings. A member never copies one
    that is not better. InputError where all have failed.
    """
    alive = [result for result in results if not result.error]
    if not alive:
        raise InputError(f"every member has failed; the first: {results[0].error}")
    ranked = sorted(alive, key=lambda result: (-_score(result), result.member))
    count = max(1, round(evolution.quantile * len(results))) if len(results) > 1 else 0
    best, worst = ranked[:count], {result.member for result in ranked[len(ranked) - count :]}
    starts = []
    for result in results:
        random = _random(seed, result.generation + 1, result.member)
        source = best[random.integers(len(best))] if best else result
        if result.error or (result.member in worst and _score(source) > _score(result)):
            starts.append(Start(source.member, _explored(space, evolution, source.settings, random)))
        else:
            starts.append(Start(result.member, dict(result.settings)))
    return starts


def _explored(
    space: Sequence[Dimension], evolution: Evolution, settings: Mapping[str, Any], random: np.random.Generator
) -> dict[str, Any]:
    """``settings``, each perturbed or drawn anew."""
    changed = {}
    for dimension in space:
        factor = evolution.perturb if random.random() < 0.5 else 1.0 / evolution.perturb
        if random.random() < evolution.resample:
            changed[dimension.name] = dimension.sample(random)
        else:
            changed[dimension.name] = dimension.perturbed(settings[dimension.name], factor, random)
    return changed


def _score(result: MemberResult) -> float:
    return -math.inf if result.score is None else result.score


def _random(seed: int, generation: int, member: int) -> np.random.Generator:
    return np.random.default_rng([seed, generation, member])
