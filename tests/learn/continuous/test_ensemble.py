"""Critics: an ensemble computes what its members would, and images have a shared encoder."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.values.critics import Critics
from worldloom.learn.networks.values.ensemble import EnsembleMLP


@pytest.mark.parametrize("layer_norm", [False, True])
def test_members_are_plain_networks(layer_norm: bool) -> None:
    torch.manual_seed(0)
    ensemble = EnsembleMLP(2, 5, (7, 6), 3, "relu", layer_norm)
    values = torch.randn(9, 5)
    found = ensemble(values)
    assert found.shape == (2, 9, 3) and not torch.allclose(found[0], found[1])
    for member in range(2):
        hidden = values
        for layer in ensemble.layers:
            if isinstance(layer, nn.ReLU):
                hidden = hidden.clamp(min=0.0)
            elif layer.weight.ndim == 3 and layer.weight.shape[1] > 1:
                hidden = hidden @ layer.weight[member] + layer.bias[member]
            else:
                hidden = (hidden - hidden.mean(-1, keepdim=True)) / (hidden.var(-1, False, keepdim=True) + 1e-5).sqrt()
        torch.testing.assert_close(found[member], hidden)


def test_critics_take_images_and_their_own_observations() -> None:
    observations = {"film": ObservationSpec((8, 8, 3), torch.uint8), "wind": ObservationSpec((2,), critic=True)}
    spec = PolicySpec(observations, ActionSpec("gaussian", low=(-1.0,), high=(1.0,)))
    critics = Critics(spec, PolicyConfig(hidden=(16,)), (16,), 1)
    inputs = {"film": torch.randint(0, 255, (4, 8, 8, 3), dtype=torch.uint8), "wind": torch.randn(4, 2)}
    actions = torch.rand(4, 1, requires_grad=True)
    values = critics(inputs, actions)
    assert values.shape == (2, 4, 1) and values.dtype == torch.float32
    (gradient,) = torch.autograd.grad(values.sum(), actions)
    assert (gradient != 0).all()
