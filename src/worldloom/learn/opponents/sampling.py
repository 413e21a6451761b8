"""Which past selves of a pool act: their probabilities, and draws from them without a device synchronization."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.opponents.elo import expected_score

EMPTY = -1
"""Iteration of a slot of the pool without a snapshot."""
DRAWS = 0x0990
"""Part of the key of the random numbers, which separates them from those of other uses of the seed."""


def sampling_probabilities(config: OpponentPool, iterations: Tensor, ratings: Tensor, rival: Tensor) -> Tensor:
    """Probability of each slot of a pool, float64 [size]; 0 for empty ones.

    Args:
        config: The pool's settings.
        iterations: Iteration of each snapshot, int64 [size]; EMPTY for none.
        ratings: Elo rating of each snapshot, float64 [size].
        rival: Rating of the policies that they meet, float64 [].
    """
    filled = iterations != EMPTY
    if config.sampling == "recency":
        newer = (iterations[None, :] > iterations[:, None]).sum(1)
        weights = torch.pow(0.5, newer.double() / config.half_life)
    elif config.sampling == "rating":
        weights = (1.0 - expected_score(rival, ratings)).pow(config.hardness)
    else:
        weights = torch.ones_like(ratings)
    weights = weights * filled
    return weights / weights.sum()


def draw_slots(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """Slots drawn by inversion of the cumulative distribution, int64 of the shape of ``uniforms`` (0 up to 1)."""
    bounds = probabilities.cumsum(0)
    # Rounding may leave the last bound below 1: a number beyond it selects the last slot with a probability above 0.
    last = torch.where(probabilities > 0.0, torch.arange(len(bounds), device=bounds.device), 0).max()
    return torch.searchsorted(bounds, uniforms, right=True).minimum(last)


def uniforms(seed: int, number: int, iteration: int, count: int) -> list[float]:
    """``count`` uniform numbers for the draw of pool ``number`` in ``iteration``; the same in every process."""
    key = np.array([seed, (DRAWS << 32) + number], np.uint64)
    counter = np.array([0, iteration, 0, 0], np.uint64)  # the generator counts in the first word
    values: list[float] = np.random.Generator(np.random.Philox(key=key, counter=counter)).random(count).tolist()
    return values
