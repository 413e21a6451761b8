"""Fully connected layers with layer normalization keep their names and compute their parts in order."""

import torch
from torch import nn

from worldloom.learn.networks.mlp import build_mlp, build_mlp_layers


def test_layers_with_normalization_are_linear_norm_and_activation_in_turn():
    layers = build_mlp_layers(3, (8, 4), "elu", layer_norm=True)
    assert [type(layer).__name__ for layer in layers] == ["Linear", "LayerNorm", "ELU"] * 2
    values = torch.randn(5, 3)
    assert torch.equal(layers(values), nn.Sequential(*layers)(values))
    assert sorted(build_mlp(3, (8,), "relu", True).state_dict()) == [
        "layers.0.bias",
        "layers.0.weight",
        "layers.1.bias",
        "layers.1.weight",
    ]
