"""Input layers: observations as the numbers that a network takes."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import BYTE_MAX, ObservationSpec

BYTE_SCALE = 1.0 / BYTE_MAX
"""Scales bytes without a declared bound to 0 .. 1."""


def to_float32(values: Tensor, scale: float | Tensor = BYTE_SCALE) -> Tensor:
    """``values`` as float32; bytes are multiplied by ``scale``. No copy for float32."""
    return values * scale if values.dtype == torch.uint8 else values.float()


class OneHot(nn.Module):
    """One-hot encoding: choices [N, K] -> [N, sum(choices)]."""

    part: Tensor
    choice: Tensor

    def __init__(self, choices: tuple[int, ...]) -> None:
        super().__init__()
        self.parts = len(choices)
        part = torch.arange(self.parts).repeat_interleave(torch.tensor(choices))
        choice = torch.cat([torch.arange(size) for size in choices])
        self.register_buffer("part", part, persistent=False)
        self.register_buffer("choice", choice, persistent=False)

    def forward(self, choices: Tensor) -> Tensor:
        """``choices`` of any integer type, [N, K] -> [N, sum(choices)] float32."""
        repeated = choices if self.parts == 1 else choices.index_select(1, self.part)
        return torch.eq(repeated, self.choice).float()


class ScaledNumbers(nn.Module):
    """Numbers [N, K] of any type as float32; bytes are divided by ``high``, one bound for all or K bounds."""

    scales: Tensor | None

    def __init__(self, high: float | tuple[float, ...]) -> None:
        super().__init__()
        self.scale = 1.0 if isinstance(high, tuple) else 1.0 / high
        scales = torch.tensor([1.0 / bound for bound in high]) if isinstance(high, tuple) else None
        self.register_buffer("scales", scales, persistent=False)

    def forward(self, numbers: Tensor) -> Tensor:
        """[N, K] -> [N, K] float32."""
        return to_float32(numbers, self.scale if self.scales is None else self.scales)


def flat_input(spec: ObservationSpec) -> OneHot | ScaledNumbers:
    """The input layer of one observation whose value is flattened: [N, elements] -> [N, spec.features]."""
    return OneHot(spec.choices) if spec.choices else ScaledNumbers(spec.high)


class VectorInput(nn.Module):
    """Several observations as one vector [N, features], sorted by name; images are flattened.

    Choices become one-hot, bytes are divided by their bound, other numbers stay unchanged.
    """

    def __init__(self, observations: Mapping[str, ObservationSpec]) -> None:
        super().__init__()
        self.observations = dict(sorted(observations.items()))
        self.parts = nn.ModuleList(flat_input(spec) for spec in self.observations.values())
        self.features = sum(spec.features for spec in self.observations.values())

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, features] float32."""
        parts = []
        for name, part in zip(self.observations, self.parts, strict=True):
            parts.append(part(observations[name].reshape(observations[name].shape[0], -1)))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class ImageInput(nn.Module):
    """One image as [N, channels, height, width].

    Bytes with one bound are scaled by the network that follows, in its first layer. Those with different bounds are
    scaled here.

    Attributes:
        shape: Channels, height and width.
        byte_scale: Factor of bytes, for the network that follows.
        scales: Factor of each byte, [*spec.shape]; None where all have the same bound.
    """

    scales: Tensor | None

    def __init__(self, name: str, spec: ObservationSpec) -> None:
        super().__init__()
        if not spec.is_image:
            raise InputError(
                f"observation '{name}' of shape {spec.shape} is not an image: "
                "convolutions take three dimensions, such as (84, 84, 3)"
            )
        self.name = name
        first, middle, last = spec.shape
        self.channels_first = spec.channels == "first"
        self.shape = (first, middle, last) if self.channels_first else (last, first, middle)
        bounds = spec.high if isinstance(spec.high, tuple) else (spec.high,)
        differ = len(set(bounds)) > 1 and spec.dtype == torch.uint8
        self.byte_scale = BYTE_SCALE if differ else 1.0 / bounds[0]
        scales = torch.tensor([1.0 / bound for bound in bounds]).view(spec.shape) if differ else None
        self.register_buffer("scales", scales, persistent=False)

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, channels, height, width], of the same type or float32."""
        image = observations[self.name]
        if self.scales is not None:
            image = to_float32(image, self.scales)
        return image if self.channels_first else image.permute(0, 3, 1, 2)
