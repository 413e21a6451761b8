"""Several fully connected networks of one shape, computed together by batched products."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.networks.layers import CRITIC_GAIN, activation_gain, activation_module, orthogonal_


class EnsembleLinear(nn.Module):
    """A linear layer of each of ``members`` networks: [members, N, inputs] -> [members, N, outputs]."""

    def __init__(self, members: int, inputs: int, outputs: int, gain: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs))
        for matrix in self.weight.data:
            orthogonal_(matrix, gain)

    def forward(self, values: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, values, self.weight)


class EnsembleLayerNorm(nn.Module):
    """Layer normalization of each of ``members`` networks: [members, N, units] -> the same."""

    def __init__(self, members: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.weight = nn.Parameter(torch.ones(members, 1, units))
        self.bias = nn.Parameter(torch.zeros(members, 1, units))

    def forward(self, values: Tensor) -> Tensor:
        with torch.autocast(values.device.type, enabled=False):
            normalized = nn.functional.layer_norm(values, (self.units,))
            return normalized * self.weight.to(values.dtype) + self.bias.to(values.dtype)


class EnsembleMLP(nn.Module):
    """MLPs with an output layer each: [N, inputs] -> [members, N, outputs].

    Args:
        members: Number of networks.
        inputs: Numbers of an input.
        hidden: Units of each hidden layer.
        outputs: Numbers of an output.
        activation: Activation function of the hidden layers.
        layer_norm: Whether there is a layer normalization before each activation.
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        hidden: tuple[int, ...],
        outputs: int,
        activation: Activation,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        self.members = members
        layers: list[nn.Module] = []
        for before, units in zip((inputs, *hidden), hidden, strict=False):
            layers.append(EnsembleLinear(members, before, units, activation_gain(activation)))
            layers += [EnsembleLayerNorm(members, units)] if layer_norm else []
            layers.append(activation_module(activation))
        self.layers = nn.Sequential(*layers, EnsembleLinear(members, hidden[-1], outputs, CRITIC_GAIN))

    def forward(self, values: Tensor) -> Tensor:
        outputs: Tensor = self.layers(values.unsqueeze(0).expand(self.members, -1, -1))
        return outputs
