"""Layers with orthogonal initialization, and input layers for observations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import Activation

ACTOR_GAIN = 0.01
"""Small, so that the initial policy is nearly uniform."""
CRITIC_GAIN = 1.0
RELU_GAIN = math.sqrt(2.0)

_ModuleT = TypeVar("_ModuleT", bound=nn.Module)
_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "selu": nn.SELU}
BYTE_SCALE = 1.0 / 255.0
"""Scales uint8 to 0 .. 1."""


def activation_module(name: Activation) -> nn.Module:
    return _ACTIVATIONS[name]()


def activation_gain(name: Activation) -> float:
    """The gain of weights before an activation: 1 for selu, which is self-normalizing, else the square root of 2."""
    return 1.0 if name == "selu" else math.sqrt(2.0)


def linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A fully connected layer [..., inputs] -> [..., outputs] with orthogonal weights and zero bias."""
    return orthogonal(nn.Linear(inputs, outputs), gain)


class Head(nn.Linear):
    """An output layer in float32, also under autocast: bfloat16 is too coarse for probabilities and values."""

    def forward(self, features: Tensor) -> Tensor:
        with torch.autocast(features.device.type, enabled=False):
            outputs: Tensor = super().forward(features.float())
            return outputs


def head(inputs: int, outputs: int, gain: float, exact: bool) -> nn.Linear:
    """An output layer [..., inputs] -> [..., outputs] with orthogonal weights and zero bias.

    With ``exact`` it is always in float32. After convolutions this costs nothing; after a few small layers it would be
    a large part of the time.
    """
    return orthogonal((Head if exact else nn.Linear)(inputs, outputs), gain)


def convolution(
    inputs: int, outputs: int, size: int, stride: int = 1, padding: int = 0, gain: float = RELU_GAIN
) -> nn.Conv2d:
    """A convolution [N, inputs, H, W] -> [N, outputs, H', W'] with orthogonal weights and zero bias."""
    return orthogonal(nn.Conv2d(inputs, outputs, size, stride, padding), gain)


def orthogonal(module: _ModuleT, gain: float) -> _ModuleT:
    """``module`` with orthogonal weights times ``gain``, and zero biases."""
    for parameter in module.parameters():
        if parameter.ndim >= 2:
            nn.init.orthogonal_(parameter, gain)
        else:
            nn.init.zeros_(parameter)
    return module


class FeatureModule(nn.Module):
    """A module with an output of [N, features]."""

    features: int


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


class VectorInput(nn.Module):
    """Several observations as one vector [N, features], sorted by name; images are flattened.

    Choices become one-hot, bytes are scaled to 0 .. 1, other numbers stay unchanged.
    """

    def __init__(self, observations: Mapping[str, ObservationSpec]) -> None:
        super().__init__()
        self.observations = dict(sorted(observations.items()))
        self.one_hot = nn.ModuleList(
            OneHot(spec.choices) if spec.choices else nn.Identity() for spec in self.observations.values()
        )
        self.features = sum(spec.features for spec in self.observations.values())

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, features] float32."""
        parts = []
        for (name, spec), one_hot in zip(self.observations.items(), self.one_hot, strict=True):
            flat = observations[name].reshape(len(observations[name]), -1)
            parts.append(one_hot(flat) if spec.choices else to_float32(flat))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class ImageInput(nn.Module):
    """One image as [N, channels, height, width]. The smaller of its first and last dimension is the channel axis."""

    def __init__(self, name: str, spec: ObservationSpec) -> None:
        super().__init__()
        if not spec.is_image:
            raise InputError(
                f"observation '{name}' of shape {spec.shape} is not an image: "
                "convolutions take three dimensions, such as (84, 84, 3)"
            )
        self.name = name
        first, middle, last = spec.shape
        self.channels_first = first <= last
        self.shape = (first, middle, last) if self.channels_first else (last, first, middle)

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, channels, height, width], of the same type."""
        image = observations[self.name]
        return image if self.channels_first else image.permute(0, 3, 1, 2)


def to_float32(values: Tensor) -> Tensor:
    """``values`` as float32; bytes are scaled to 0 .. 1. No copy for float32."""
    return values * BYTE_SCALE if values.dtype == torch.uint8 else values.float()
