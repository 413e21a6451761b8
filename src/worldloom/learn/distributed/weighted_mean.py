"""Means over the agents that were active, in this process and over all processes."""

from __future__ import annotations

import torch

from worldloom.learn.distributed.ranks import Ranks


class WeightedMean:
    """The mean over a minibatch.

    Args:
        weights: 1 for samples that count and 0 for others; None where all count.
        ranks: The processes that train together. Each divides its own sum by the *mean* count of all processes, so
            that the mean of their results is the mean over everything.
    """

    def __init__(self, weights: torch.Tensor | None, ranks: Ranks) -> None:
        self.weights, self.ranks = weights, ranks
        self.count = None if weights is None else ranks.mean_(weights.sum()).clamp(min=1.0 / ranks.size)

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """The part of the mean that this process contributes; with gradients."""
        if self.weights is None or self.count is None:
            return values.mean()
        return (values * self.weights).sum() / self.count

    def global_mean(self, values: torch.Tensor) -> torch.Tensor:
        """The mean over all processes."""
        return self.ranks.mean_(self(values))

    def standardize(self, values: torch.Tensor) -> torch.Tensor:
        """``values`` minus their mean, divided by their standard deviation, over all processes."""
        centered = values - self.global_mean(values)
        return centered / (self.global_mean(centered * centered).sqrt() + 1e-8)

    def variance(self, values: torch.Tensor) -> torch.Tensor:
        """The variance over all processes."""
        return self.global_mean((values - self.global_mean(values)).square())

    def explained_variance(self, values: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        """Fraction of the variance of ``returns`` that ``values`` explain, at most 1; over all processes."""
        with torch.no_grad():
            return 1.0 - self.variance(returns - values) / (self.variance(returns) + 1e-8)
