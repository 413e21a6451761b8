"""KL early stopping: the remaining optimizer steps of an update are skipped, without a device synchronization.

A captured CUDA graph contains all steps of an update, and the host must not wait for the divergence of a minibatch. So
a flag on the device disables the optimizer: the remaining steps are computed, but change nothing. On the CPU they are
not computed. Both leave the same parameters.
"""

from __future__ import annotations

import torch

from worldloom.learn.device.device_numbers import Number
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.training.optimizer import FlatAdam

DIVERGENCE = 3
"""Index of the KL divergence in the statistics of a minibatch."""


class KLStopping:
    """Disables an optimizer for the rest of an update once the KL divergence of a minibatch exceeds a limit.

    Args:
        optimizer: The optimizer.
        ranks: The processes over which the divergence is averaged.

    Attributes:
        enabled: Whether steps are still taken, bool [1].
        steps: Steps taken in this update, float32 [1].
    """

    def __init__(self, optimizer: FlatAdam, ranks: Ranks) -> None:
        self.ranks = ranks
        device = optimizer.flat.device
        self.enabled = torch.ones(1, dtype=torch.bool, device=device)
        self.steps = torch.zeros(1, device=device)
        self._on_host = device.type == "cpu"
        self._first: torch.Tensor | None = None
        optimizer.enabled = self.enabled

    def begin(self) -> None:
        """Start an update."""
        self.enabled.fill_(True)
        self.steps.zero_()
        self._first = None

    def check(self, statistics: torch.Tensor, limit: Number) -> bool:
        """Disable the optimizer where the divergence of a minibatch, before its step, exceeds ``limit``.

        NaN does not: the step is taken, and the parameters show that the training has diverged.

        Args:
            statistics: Policy loss, value loss, entropy, divergence and clipped fraction, [5].
            limit: The limit, in nats.

        Returns:
            Whether the rest of the update need not be computed; always False on a GPU, where the host does not know.
        """
        statistics = statistics.detach()
        if self._first is None:
            self._first = statistics.clone()
        self.enabled &= ~(self.ranks.mean_(statistics[DIVERGENCE].clone()) > limit)
        self.steps += self.enabled
        return self._on_host and not bool(self.enabled)

    def masked(self, metrics: torch.Tensor) -> torch.Tensor:
        """``metrics`` of a step; zeros where the step was skipped."""
        return torch.where(self.enabled, metrics, torch.zeros_like(metrics))

    def mean(self, sums: torch.Tensor) -> torch.Tensor:
        """Means over the steps taken, from the ``sums`` [6] of their statistics and gradient norms.

        Where all steps were skipped: the statistics of the first minibatch, and the gradient norm 0. With ``overlap``
        the divergence includes that of the previous update, so that it may exceed the limit before the first step.
        """
        assert self._first is not None
        first = torch.cat([self._first, torch.zeros_like(self.steps)])
        return torch.where(self.steps > 0.0, sums / self.steps.clamp_min(1.0), first)
