"""Running statistics on the device, and what is scaled by them: observations and rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import warp as wp
from torch import Tensor, nn

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.device.warp_launch import launch

Reduce = Callable[[Tensor], Tensor]
"""Sums a flat float64 tensor over all ranks and gives the sum."""

EPSILON = 1e-8
"""Added to a variance before its root is divided by."""
CLIP = 10.0
"""Standard deviations that a normalised number is kept within."""


@wp.kernel(enable_backward=False)
def _discounted_returns(
    rewards: wp.array2d(dtype=wp.float32),
    dones: wp.array2d(dtype=wp.bool),
    gamma: wp.float32,
    # outputs
    running: wp.array(dtype=wp.float32),
    returns: wp.array2d(dtype=wp.float32),
) -> None:
    """The return of each row's episode so far, at every step; ``running`` is what it stood at before, and stands at after."""
    row = wp.tid()
    total = running[row]
    for step in range(rewards.shape[0]):
        total = gamma * total + rewards[step, row]
        returns[step, row] = total
        if dones[step, row]:
            total = 0.0
    running[row] = total


class RunningMoments(nn.Module):  # type: ignore[misc]
    """Mean and variance of all values seen so far, one of each per number of ``shape``.

    Before the first update the mean is 0 and the variance 1.

    Attributes:
        mean, variance: [*shape] float32.
        count: How many values were seen, [] float64.
        scale: 1 / sqrt(variance + EPSILON), [*shape] float32, kept so that a step need not compute it.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))
        self.register_buffer("scale", torch.ones(shape))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    @torch.no_grad()
    def update(self, values: Tensor, weights: Tensor | None = None, reduce: Reduce | None = None) -> None:
        """Take in ``values`` [..., *shape], each counted as often as its number in ``weights`` [...] says; once where there are none."""
        sums = self.sums(values, weights)
        self.combine(sums if reduce is None else reduce(sums))

    def sums(self, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """What :meth:`combine` takes, flat float64: the weight of ``values``, the sum of their distances from the mean, and of those squared.

        Numbers that are not finite count as the mean: one faulty world must not spoil the statistics of all.
        """
        distances = torch.nan_to_num(values.double() - self.mean, 0.0, 0.0, 0.0).reshape(-1, self.mean.numel())
        if weights is None:
            weight = torch.full((1,), float(len(distances)), dtype=torch.float64, device=distances.device)
            return torch.cat((weight, distances.sum(0), distances.square().sum(0)))
        per_row = weights.double().reshape(-1, 1)
        weighted = distances * per_row
        return torch.cat((per_row.sum(0), weighted.sum(0), (weighted * distances).sum(0)))

    @torch.no_grad()
    def combine(self, sums: Tensor) -> None:
        """Chan's formula for two sets of values. With distances taken from the running mean, the old set brings a sum of 0 to them."""
        first, second = sums[1:].reshape(2, *self.shape)
        total = self.count + sums[0]
        divisor = total.clamp_min(1e-30)  # with nothing seen yet, all sums are 0
        shift = first / divisor
        variance = ((self.variance * self.count + second) / divisor - shift.square()).clamp_min(0.0)
        self.variance.copy_(torch.where(total > 0.0, variance, self.variance.double()))
        self.scale.copy_((self.variance + EPSILON).rsqrt())
        self.mean.copy_(self.mean + shift)
        self.count.copy_(total)

    def normalize(self, values: Tensor) -> Tensor:
        """``values`` [..., *shape] with the mean taken off, in standard deviations, kept within CLIP."""
        return ((values - self.mean) * self.scale).clamp(-CLIP, CLIP)


class ObservationNormalizer(nn.Module):  # type: ignore[misc]
    """Running moments of each observation of real numbers; the others go through untouched.

    Update it between iterations only: a roll-out and the update that learns from it must see the same statistics.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__()
        self.names = sorted(shapes)
        self.moments = nn.ModuleList(RunningMoments(shapes[name]) for name in self.names)

    @classmethod
    def of(cls, observations: Mapping[str, ObservationSpec]) -> ObservationNormalizer | None:
        """One for those of ``observations`` that are real numbers; None where there are none."""
        shapes = {
            name: spec.shape for name, spec in observations.items() if spec.dtype.is_floating_point and not spec.choices
        }
        return cls(shapes) if shapes else None

    @torch.no_grad()
    def update(
        self, observations: Mapping[str, Tensor], weights: Tensor | None = None, reduce: Reduce | None = None
    ) -> None:
        """Take in observations [..., *shape] by name, with ``weights`` [...]; one reduction for all of them."""
        parts = [
            moments.sums(observations[name], weights) for name, moments in zip(self.names, self.moments, strict=True)
        ]
        sums = torch.cat(parts)
        reduced = sums if reduce is None else reduce(sums)
        for moments, part in zip(self.moments, reduced.split([len(part) for part in parts]), strict=True):
            moments.combine(part)

    def forward(self, observations: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Observations [..., *shape] by name -> the same, normalised."""
        normalized = dict(observations)
        for name, moments in zip(self.names, self.moments, strict=True):
            normalized[name] = moments.normalize(observations[name])
        return normalized


class RewardScaler(nn.Module):  # type: ignore[misc]
    """Rewards in standard deviations of the discounted return that they add up to; their sign and their zero stay.

    Args:
        rows: Rows of this rank, N.
        gamma: Discount per step.

    Attributes:
        returns: Discounted sum of the rewards of each row's episode so far, [N].
        moments: Mean and variance of those sums at all steps.
    """

    def __init__(self, rows: int, gamma: float) -> None:
        super().__init__()
        self.gamma = gamma
        self.register_buffer("returns", torch.zeros(rows))
        self.moments = RunningMoments(())

    @torch.no_grad()
    def update(
        self, rewards: Tensor, dones: Tensor, weights: Tensor | None = None, reduce: Reduce | None = None
    ) -> None:
        """Take in a roll-out: rewards [T, N] as the world gave them, dones [T, N] bool, and weights [T, N]."""
        returns = torch.empty_like(rewards)
        launch(
            _discounted_returns, rewards.shape[1], (rewards, dones, self.gamma, self.returns, returns), rewards.device
        )
        self.moments.update(returns, weights, reduce)

    def scale(self, rewards: Tensor) -> Tensor:
        """``rewards`` of any shape, by the statistics of the last update, kept within CLIP; as they are while all returns were the same."""
        scale = torch.where(self.moments.variance > EPSILON, self.moments.scale, torch.ones_like(self.moments.scale))
        return (rewards * scale).clamp(-CLIP, CLIP)
