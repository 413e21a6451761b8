"""Branches for different kinds of observations, joined by a layer: for example a height map and joint states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.networks.layers import FeatureModule
from worldloom.learn.networks.mlp import build_mlp_layers


class TwoBranch(FeatureModule):
    """Two or more parallel branches, and a layer of 256 units over their concatenated outputs.

    Args:
        branches: Modules from observations by name to [N, branch.features].
        activation: Activation of the joining layer.
        layer_norm: Whether the joining layer has layer normalization before its activation.
    """

    features = 256

    def __init__(self, branches: Sequence[FeatureModule], activation: Activation, layer_norm: bool = False) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        joined = sum(branch.features for branch in branches)
        self.join = build_mlp_layers(joined, (self.features,), activation, layer_norm)

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, 256]."""
        features: Tensor = self.join(torch.cat([branch(observations) for branch in self.branches], dim=1))
        return features
