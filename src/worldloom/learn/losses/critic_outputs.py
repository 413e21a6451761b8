"""What the outputs of a critic mean: expected returns, or distributions of returns; their targets and losses."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.losses.projection_kernels import project_returns


class CriticOutputs(Protocol):
    """The meaning of the outputs of two critics, [2, B, width]."""

    width: int
    """Outputs of one critic for one action."""

    def values(self, outputs: Tensor) -> Tensor:
        """Expected returns [...] of outputs [..., width]."""

    def targets(self, outputs: Tensor, rewards: Tensor, discounts: Tensor, clipped: bool) -> Tensor:
        """Targets of both critics, without gradients: [B] or [B, width].

        Args:
            outputs: Outputs of the target critics for the next observations and actions, [2, B, width].
            rewards: Rewards, [B].
            discounts: Discounts of the next values, [B].
            clipped: Whether the smaller of the two expected returns counts, instead of their mean.
        """

    def losses(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Losses of each sample, summed over the critics, [B], and TD errors for priorities, [B]."""


class ExpectedReturns:
    """Critics with one output each: the expected return. The loss is half the squared error."""

    width = 1

    def values(self, outputs: Tensor) -> Tensor:
        return outputs.squeeze(-1)

    def targets(self, outputs: Tensor, rewards: Tensor, discounts: Tensor, clipped: bool) -> Tensor:
        return rewards + discounts * combine(self.values(outputs), clipped)

    def losses(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        errors = targets - self.values(outputs)
        return 0.5 * errors.square().sum(0), errors.detach().abs().mean(0)


class ReturnDistribution:
    """Outputs that are logits of a distribution of returns over equally spaced atoms (Bellemare et al., 2017).

    Args:
        atoms: Number of atoms.
        low, high: Least and greatest return.
        device: The device.

    Attributes:
        support: Returns of the atoms, float32 [atoms].
    """

    def __init__(self, atoms: int, low: float, high: float, device: torch.device) -> None:
        self.width, self.low, self.high = atoms, low, high
        self.support = torch.linspace(low, high, atoms, device=device)

    def values(self, outputs: Tensor) -> Tensor:
        return self._means(outputs.softmax(-1))

    def _means(self, probabilities: Tensor) -> Tensor:
        return (probabilities * self.support).sum(-1)  # a product of matrices would be of bfloat16 under autocast

    def project(self, probabilities: Tensor, rewards: Tensor, discounts: Tensor) -> Tensor:
        """Distributions [B, atoms] of reward + discount * return, projected onto the support."""
        projected = torch.empty_like(probabilities)
        arguments = (probabilities, rewards, discounts, self.low, self.high, projected)
        launch(project_returns, tuple(projected.shape), arguments, projected.device)
        return projected

    def targets(self, outputs: Tensor, rewards: Tensor, discounts: Tensor, clipped: bool) -> Tensor:
        first, second = outputs.softmax(-1)
        if clipped:
            lower = self._means(first) <= self._means(second)
            chosen = torch.where(lower.unsqueeze(-1), first, second)
        else:
            chosen = 0.5 * (first + second)
        return self.project(chosen.contiguous(), rewards.contiguous(), discounts)

    def cross_entropy(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy [...] of logits [..., atoms] and target probabilities [..., atoms]."""
        return -(targets * outputs.log_softmax(-1)).sum(-1)

    def losses(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        losses = self.cross_entropy(outputs, targets)
        return losses.sum(0), losses.detach().mean(0)


def combine(values: Tensor, clipped: bool) -> Tensor:
    """Values [2, B] of two critics as one, [B]: the smaller where ``clipped`` (clipped double Q), else the mean."""
    return torch.minimum(values[0], values[1]) if clipped else values.mean(0)
