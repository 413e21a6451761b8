"""Fully connected layers, for vector observations."""

from __future__ import annotations

from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.networks.fused.linear_relu import NAME, linear_relu, usable
from worldloom.learn.networks.fused.norm import NormedLayers
from worldloom.learn.networks.fused.support import note
from worldloom.learn.networks.layers import LayerNorm, activation_gain, activation_module, linear


class MLP(nn.Module):
    """Layers of ``hidden`` units with an activation after each: [..., inputs] -> [..., hidden[-1]]."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], activation: Activation) -> None:
        super().__init__()
        self.layers = build_mlp_layers(inputs, hidden, activation, layer_norm=False)
        self.inputs, self.hidden, self.activation, self.features = inputs, hidden, activation, hidden[-1]

    def forward(self, values: Tensor) -> Tensor:
        """[..., inputs] -> [..., features]."""
        if self.activation != "relu" or not usable(values):
            outputs: Tensor = self.layers(values)
            return outputs
        note(self, NAME)
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                values = linear_relu(layer, values)
        return values


class LayerNormMLP(nn.Module):
    """An MLP with layer normalization before each activation."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], activation: Activation) -> None:
        super().__init__()
        self.layers = build_mlp_layers(inputs, hidden, activation, layer_norm=True)
        self.features = hidden[-1]

    def forward(self, values: Tensor) -> Tensor:
        """[..., inputs] -> [..., features]."""
        outputs: Tensor = self.layers(values)
        return outputs


def build_mlp(inputs: int, hidden: tuple[int, ...], activation: Activation, layer_norm: bool) -> MLP | LayerNormMLP:
    """Fully connected layers, with or without layer normalization."""
    return (LayerNormMLP if layer_norm else MLP)(inputs, hidden, activation)


def build_mlp_layers(inputs: int, hidden: tuple[int, ...], activation: Activation, layer_norm: bool) -> nn.Sequential:
    """For each number of units a linear layer, an optional layer normalization and an activation."""
    layers: list[nn.Module] = []
    for before, units in zip((inputs, *hidden), hidden, strict=False):
        layers.append(linear(before, units, activation_gain(activation)))
        layers += [LayerNorm(units)] if layer_norm else []
        layers.append(activation_module(activation))
    return NormedLayers(*layers, activation=activation) if layer_norm else nn.Sequential(*layers)
