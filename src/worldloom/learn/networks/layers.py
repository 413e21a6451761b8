"""Layers with orthogonal initialization."""

from __future__ import annotations

import math
from typing import TypeVar

import torch
from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.device.torch_settings import one_thread
from worldloom.learn.networks.fused.norm import fused_norm, usable

ACTOR_GAIN = 0.01
"""Small, so that the initial policy is nearly uniform."""
CRITIC_GAIN = 1.0
RELU_GAIN = math.sqrt(2.0)

_ModuleT = TypeVar("_ModuleT", bound=nn.Module)
_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "selu": nn.SELU}


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
            orthogonal_(parameter, gain)
        else:
            nn.init.zeros_(parameter)
    return module


@torch.no_grad()
def orthogonal_(weights: Tensor, gain: float) -> None:
    """Fill ``weights`` [outputs, ...] with a random (semi-)orthogonal matrix times ``gain`` (Saxe et al., 2014).

    The distribution and the random numbers are those of ``torch.nn.init.orthogonal_``, whose QR decomposition rounds
    differently with another number of threads. This one runs in float64 by one thread.
    """
    rows, columns = len(weights), weights[0].numel()
    normal = weights.new_empty(rows, columns).normal_()
    with one_thread():
        q, r = torch.linalg.qr((normal if rows >= columns else normal.T).to("cpu", torch.float64))
        q *= r.diagonal().sign()  # makes it uniform over the orthogonal matrices
    weights.copy_((q if rows >= columns else q.T).reshape(weights.shape)).mul_(gain)


class LayerNorm(nn.LayerNorm):
    """Layer normalization over the last axis, in the type of its input, also under autocast."""

    def forward(self, values: Tensor) -> Tensor:
        if usable(self, values):
            return fused_norm(self, values)
        weight, bias = self.weight.to(values.dtype), self.bias.to(values.dtype)
        with torch.autocast(values.device.type, enabled=False):
            return nn.functional.layer_norm(values, self.normalized_shape, weight, bias, self.eps)


class FeatureModule(nn.Module):
    """A module with an output of [N, features]."""

    features: int
