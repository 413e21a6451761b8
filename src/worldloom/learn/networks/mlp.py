"""Fully connected layers, for vector observations."""

from __future__ import annotations

from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.networks.layers import activation_gain, activation_module, linear
from worldloom.learn.networks.linear_relu import linear_relu, usable


class MLP(nn.Module):
    """Layers of ``hidden`` units with an activation after each: [..., inputs] -> [..., hidden[-1]]."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], activation: Activation) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, units in zip((inputs, *hidden), hidden, strict=False):
            layers += [linear(before, units, activation_gain(activation)), activation_module(activation)]
        self.layers = nn.Sequential(*layers)
        self.inputs, self.hidden, self.activation, self.features = inputs, hidden, activation, hidden[-1]

    def forward(self, values: Tensor) -> Tensor:
        """[..., inputs] -> [..., features]."""
        if self.activation != "relu" or not usable(values):
            outputs: Tensor = self.layers(values)
            return outputs
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                values = linear_relu(layer, values)
        return values
