"""Running statistics on the device, and the observations and rewards that are scaled by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.device.device_numbers import Number, kernel_numbers
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.networks.normalization_kernels import discounted_returns

Reduce = Callable[[Tensor], Tensor]
"""Sums a flat float64 tensor over all ranks."""

EPSILON = 1e-8
"""Added to a variance before its square root is divided by."""
CLIP = 10.0
"""Normalized numbers are clipped to this many standard deviations."""


class RunningMoments(nn.Module):
    """Elementwise running mean and variance of values of ``shape``.

    Before the first update the mean is 0 and the variance 1.

    Attributes:
        mean, variance: [*shape] float32.
        count: Number of values, [] float64.
        scale: 1 / sqrt(variance + EPSILON), [*shape] float32, stored so that a step need not compute it.
    """

    mean: Tensor
    variance: Tensor
    scale: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))
        self.register_buffer("scale", torch.ones(shape))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    @torch.no_grad()
    def update(self, values: Tensor, weights: Tensor | None = None, reduce: Reduce | None = None) -> None:
        """Add ``values`` [..., *shape] with ``weights`` [...]; None for weight 1."""
        sums = self.sums(values, weights)
        self.combine(sums if reduce is None else reduce(sums))

    def sums(self, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """Sums for :meth:`combine`, flat float64: weights, deviations from the mean, squared deviations.

        Numbers that are not finite count as the mean: one faulty world must not spoil the statistics.
        """
        if values.dtype == torch.uint8:
            return self._byte_sums(values.reshape(-1, self.mean.numel()), weights)
        deviations = torch.nan_to_num(values.double() - self.mean, 0.0, 0.0, 0.0).reshape(-1, self.mean.numel())
        if weights is None:
            weight = torch.full((1,), float(len(deviations)), dtype=torch.float64, device=deviations.device)
            return torch.cat((weight, deviations.sum(0), deviations.square().sum(0)))
        per_row = weights.double().reshape(-1, 1)
        weighted = deviations * per_row
        return torch.cat((per_row.sum(0), weighted.sum(0), (weighted * deviations).sum(0)))

    def _byte_sums(self, values: Tensor, weights: Tensor | None) -> Tensor:
        """The same of bytes [N, K]: sums of them and of their squares are exact, and need no array of float64."""
        numbers = values.float()
        squares = numbers.square()
        if weights is None:
            weight = torch.full((1,), float(len(values)), dtype=torch.float64, device=values.device)
            first, second = (part.sum(0, dtype=torch.float64) for part in (numbers, squares))
        else:
            per_row = weights.float().reshape(-1, 1)
            weight = per_row.sum(0, dtype=torch.float64)
            first, second = ((part * per_row).sum(0, dtype=torch.float64) for part in (numbers, squares))
        mean = self.mean.double().flatten()
        return torch.cat((weight, first - weight * mean, second - 2.0 * mean * first + weight * mean.square()))

    @torch.no_grad()
    def combine(self, sums: Tensor) -> None:
        """Chan's formula for two sets of values. Deviations from the running mean sum to 0 over the old set."""
        first, second = sums[1:].reshape(2, *self.shape)
        total = self.count + sums[0]
        divisor = total.clamp_min(1e-30)  # without values, all sums are 0
        shift = first / divisor
        variance = ((self.variance * self.count + second) / divisor - shift.square()).clamp_min(0.0)
        self.variance.copy_(torch.where(total > 0.0, variance, self.variance.double()))
        self.scale.copy_((self.variance + EPSILON).rsqrt())
        self.mean.copy_(self.mean + shift)
        self.count.copy_(total)

    def standardize(self, values: Tensor) -> Tensor:
        """``values`` [..., *shape] minus the mean, divided by the standard deviation."""
        return (values - self.mean) * self.scale

    def normalize(self, values: Tensor) -> Tensor:
        """The same, clipped to CLIP."""
        return self.standardize(values).clamp(-CLIP, CLIP)

    def destandardize(self, values: Tensor) -> Tensor:
        """The inverse of :meth:`standardize`."""
        return self.mean + values / self.scale


def _is_normalized(spec: ObservationSpec, config: PolicyConfig) -> bool:
    if spec.dtype == torch.uint8:
        return config.normalize_images and spec.is_image
    return config.normalize_observations and spec.dtype.is_floating_point and not spec.choices


class ObservationNormalizer(nn.Module):
    """Running moments of each continuous observation, or of each byte of an image; others pass through unchanged.

    All entities of a set share the moments of their numbers, and those that its mask excludes do not count.

    Update it between iterations only: a rollout and the update from it must use the same statistics.

    Args:
        shapes: Shape of the moments of each normalized observation.
        masks: Name of the mask of each set of entities among them; empty for a set without one.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], masks: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.names = sorted(shapes)
        self.masks = dict(masks or {})
        self.moments = nn.ModuleList(RunningMoments(shapes[name]) for name in self.names)

    def _moments(self) -> Iterator[tuple[str, RunningMoments]]:
        """The running moments of each normalized observation."""
        for name, moments in zip(self.names, self.moments, strict=True):
            assert isinstance(moments, RunningMoments)
            yield name, moments

    @classmethod
    def of(cls, observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> ObservationNormalizer | None:
        """A normalizer for those of ``observations`` that ``config`` normalizes; None where there are none."""
        masks = {name: spec.mask for name, spec in observations.items() if spec.entities}
        shapes = {
            name: spec.entity.shape if spec.entities else spec.shape
            for name, spec in observations.items()
            if name not in masks.values() and _is_normalized(spec, config)
        }
        return cls(shapes, masks) if shapes else None

    @torch.no_grad()
    def update(
        self, observations: Mapping[str, Tensor], weights: Tensor | None = None, reduce: Reduce | None = None
    ) -> None:
        """Add observations [..., *shape] by name, with ``weights`` [...]; one reduction for all of them."""
        parts = [
            moments.sums(observations[name], self._weights(name, observations, weights))
            for name, moments in self._moments()
        ]
        sums = torch.cat(parts)
        reduced = sums if reduce is None else reduce(sums)
        split = reduced.split([len(part) for part in parts])
        for (_, moments), part in zip(self._moments(), split, strict=True):
            moments.combine(part)

    def _weights(self, name: str, observations: Mapping[str, Tensor], weights: Tensor | None) -> Tensor | None:
        """Weights of the values of ``name``: those of the samples [...], for a set those of its entities [..., K]."""
        if name not in self.masks:
            return weights
        mask = self.masks[name]
        if mask:
            present = (observations[mask] != 0).float()
            return present if weights is None else present * weights[..., None]
        count = observations[name].shape[weights.ndim] if weights is not None else 0
        return None if weights is None else weights[..., None].expand(*weights.shape, count)

    def forward(self, observations: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Observations [..., *shape] by name -> the same, normalized. Those of a critic may be missing."""
        normalized = dict(observations)
        for name, moments in self._moments():
            if name in observations:
                normalized[name] = moments.normalize(observations[name])
        return normalized


class RewardScaler(nn.Module):
    """Rewards divided by the standard deviation of the discounted return; sign and zero are kept.

    Args:
        rows: Rows of this rank, N.
        gamma: Discount factor. ``self.gamma`` may be set to a tensor [] where it changes during training.

    Attributes:
        returns: Discounted return of each row's episode so far, [N].
        moments: Mean and variance of these returns at all steps.
    """

    returns: Tensor

    def __init__(self, rows: int, gamma: float) -> None:
        super().__init__()
        self.gamma: Number = gamma
        self.register_buffer("returns", torch.zeros(rows))
        self.moments = RunningMoments(())

    @torch.no_grad()
    def update(
        self, rewards: Tensor, dones: Tensor, weights: Tensor | None = None, reduce: Reduce | None = None
    ) -> None:
        """Add a rollout: unscaled rewards [T, N], dones [T, N] bool, and weights [T, N]."""
        returns = torch.empty_like(rewards)
        numbers, scheduled = kernel_numbers(rewards.device, self.gamma)
        arguments = (rewards, dones, *numbers, scheduled, self.returns, returns)
        launch(discounted_returns, rewards.shape[1], arguments, rewards.device)
        self.moments.update(returns, weights, reduce)

    def scale(self, rewards: Tensor) -> Tensor:
        """``rewards`` of any shape, scaled and clipped to CLIP; unscaled while all returns are equal."""
        moments = self.moments
        scale = torch.where(moments.variance > EPSILON, moments.scale, torch.ones_like(moments.scale))
        return (rewards * scale).clamp(-CLIP, CLIP)
