"""Layers with orthogonal weights, and the first layer of all: observations as a network's input."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import Activation

ACTOR_GAIN = 0.01
"""Small, so that the first policy hardly prefers any action."""
CRITIC_GAIN = 1.0
RELU_GAIN = math.sqrt(2.0)

_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "selu": nn.SELU}
_BYTE = 1.0 / 255.0


def activation_module(name: Activation) -> nn.Module:
    return _ACTIVATIONS[name]()


def activation_gain(name: Activation) -> float:
    """The gain of weights before an activation: 1 for selu, which keeps the variance itself, else the square root of 2."""
    return 1.0 if name == "selu" else math.sqrt(2.0)


def linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A fully connected layer [..., inputs] -> [..., outputs] with orthogonal weights and no bias at first."""
    return orthogonal(nn.Linear(inputs, outputs), gain)


class Head(nn.Linear):  # type: ignore[misc]
    """A last layer in single precision, whatever autocast does before it: 8 bits tell probabilities and values too coarsely."""

    def forward(self, features: Tensor) -> Tensor:
        with torch.autocast(features.device.type, enabled=False):
            return super().forward(features.float())


def head(inputs: int, outputs: int, gain: float, exact: bool) -> nn.Linear:
    """A last layer [..., inputs] -> [..., outputs] with orthogonal weights and no bias at first; ``exact`` for one that is always in single precision.

    Behind convolutions that costs nothing. Behind a few small layers it would be a good part of all.
    """
    return orthogonal((Head if exact else nn.Linear)(inputs, outputs), gain)


def convolution(
    inputs: int, outputs: int, size: int, stride: int = 1, padding: int = 0, gain: float = RELU_GAIN
) -> nn.Conv2d:
    """A convolution [N, inputs, H, W] -> [N, outputs, H', W'] with orthogonal weights and no bias at first."""
    return orthogonal(nn.Conv2d(inputs, outputs, size, stride, padding), gain)


def orthogonal(module: nn.Module, gain: float) -> nn.Module:
    """``module`` with every matrix of weights orthogonal times ``gain``, and every bias zero."""
    for parameter in module.parameters():
        if parameter.ndim >= 2:
            nn.init.orthogonal_(parameter, gain)
        else:
            nn.init.zeros_(parameter)
    return module


class OneHot(nn.Module):  # type: ignore[misc]
    """Choices [N, K] as one number per possible choice [N, sum(choices)]: 1 for the one taken, else 0."""

    def __init__(self, choices: tuple[int, ...]) -> None:
        super().__init__()
        self.parts = len(choices)
        part = torch.arange(self.parts).repeat_interleave(torch.tensor(choices))
        choice = torch.cat([torch.arange(size) for size in choices])
        self.register_buffer("part", part, persistent=False)
        self.register_buffer("choice", choice, persistent=False)

    def forward(self, taken: Tensor) -> Tensor:
        """``taken`` of any integer type, [N, K] -> [N, sum(choices)] float32."""
        spread = taken if self.parts == 1 else taken.index_select(1, self.part)
        return (spread == self.choice).float()


class VectorInput(nn.Module):  # type: ignore[misc]
    """Several observations as one vector [N, features], in the order of their names; images are flattened.

    Choices become one-hot, bytes are scaled to 0 .. 1, all else is taken as it is.
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


class ImageInput(nn.Module):  # type: ignore[misc]
    """One picture as [N, channels, height, width]; the shorter of its first and last dimension is taken for the channels."""

    def __init__(self, name: str, spec: ObservationSpec) -> None:
        super().__init__()
        if not spec.is_image:
            raise InputError(
                f"observation '{name}' of shape {spec.shape} is no image: convolutions take three dimensions, such as (84, 84, 3)"
            )
        self.name = name
        first, middle, last = spec.shape
        self.channels_first = first <= last
        self.shape = (first, middle, last) if self.channels_first else (last, first, middle)

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, channels, height, width]; bytes stay bytes, which a network scales in its own way."""
        picture = observations[self.name]
        return picture if self.channels_first else picture.permute(0, 3, 1, 2)


def to_float32(values: Tensor) -> Tensor:
    """``values`` as float32; bytes are scaled to 0 .. 1. Those that are float32 are handed back without a copy."""
    return values * _BYTE if values.dtype == torch.uint8 else values.float()
