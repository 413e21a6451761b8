"""Means over the agents that were there to act, in this process and in all."""

from __future__ import annotations

import torch

from worldloom.learn.distributed.ranks import Ranks


class WeightedMean:
    """The mean of a minibatch's numbers.

    Args:
        weights: 1 for what counts and 0 for what does not; None where all counts.
        ranks: The processes that train together. Each takes its own sum over the *mean* number of all, so that the mean of the
            processes' results is the mean over everything.
    """

    def __init__(self, weights: torch.Tensor | None, ranks: Ranks) -> None:
        self.weights, self.ranks = weights, ranks
        self.count = None if weights is None else ranks.mean_(weights.sum()).clamp(min=1.0 / ranks.size)

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """The part of the mean that this process brings; with gradients."""
        return values.mean() if self.weights is None else (values * self.weights).sum() / self.count

    def global_mean(self, values: torch.Tensor) -> torch.Tensor:
        """The mean over all processes."""
        return self.ranks.mean_(self(values))

    def standardize(self, values: torch.Tensor) -> torch.Tensor:
        """``values`` less their mean, in units of their standard deviation, over all processes."""
        apart = values - self.global_mean(values)
        return apart / (self.global_mean(apart * apart).sqrt() + 1e-8)

    def variance(self, values: torch.Tensor) -> torch.Tensor:
        """The variance over all processes."""
        return self.global_mean((values - self.global_mean(values)).square())
