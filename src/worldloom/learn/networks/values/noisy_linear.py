"""Noisy linear layers: exploration by learned noise of the weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from worldloom.learn.actions.noise import NoiseSource
from worldloom.learn.networks.layers import orthogonal

INITIAL_SIGMA = 0.5
"""Initial standard deviation of the noise, times the square root of the inputs."""


class NoisyLinear(nn.Module):
    """A linear layer [N, inputs] -> [N, outputs] with factorized Gaussian noise (Fortunato et al., 2018).

    Every row has noise of its own: y = (W + S * f(q) f(p)^T) x + b + s * f(q), with standard normal p and q, one each
    per input and output, and f(z) = sign(z) sqrt(|z|). Without a noise source it computes W x + b.

    Args:
        inputs, outputs: Sizes of a row.
        gain: Gain of the orthogonal weights W.

    Attributes:
        source: Draws the noise; None for none.
    """

    def __init__(self, inputs: int, outputs: int, gain: float) -> None:
        super().__init__()
        self.in_features, self.out_features = inputs, outputs
        self.mean = orthogonal(nn.Linear(inputs, outputs), gain)
        sigma = INITIAL_SIGMA / math.sqrt(inputs)
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), sigma))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), sigma))
        self.source: NoiseSource | None = None

    def forward(self, values: Tensor) -> Tensor:
        outputs: Tensor = self.mean(values)
        if self.source is None:
            return outputs
        noise = self.source.draw(len(values), self.in_features + self.out_features)
        noise = noise.sign() * noise.abs().sqrt()
        of_inputs, of_outputs = noise.split([self.in_features, self.out_features], dim=1)
        spread: Tensor = nn.functional.linear(values * of_inputs, self.weight_sigma, self.bias_sigma)
        outputs = outputs + of_outputs * spread
        return outputs


@contextmanager
def noise_from(network: nn.Module, source: NoiseSource | None) -> Iterator[None]:
    """Let all noisy layers of ``network`` draw from ``source`` until the exit."""
    layers = [module for module in network.modules() if isinstance(module, NoisyLinear)]
    for layer in layers:
        layer.source = source
    try:
        yield
    finally:
        for layer in layers:
            layer.source = None
