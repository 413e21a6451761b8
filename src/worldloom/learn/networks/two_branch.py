"""Branches for observations of different kinds, joined by a layer: a height map or an image beside the state of the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.networks.layers import activation_gain, activation_module, linear


class TwoBranch(nn.Module):  # type: ignore[misc]
    """Two branches or more side by side, and a layer of 256 units over all they give.

    Args:
        branches: Modules that take the observations by name and give [N, branch.features].
        activation: What follows the layer that joins them.
    """

    features = 256

    def __init__(self, branches: Sequence[nn.Module], activation: Activation) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        joined = sum(branch.features for branch in branches)
        self.join = nn.Sequential(
            linear(joined, self.features, activation_gain(activation)), activation_module(activation)
        )

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, 256]."""
        return self.join(torch.cat([branch(observations) for branch in self.branches], dim=1))
