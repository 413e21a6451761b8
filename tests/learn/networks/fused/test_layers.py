"""Layers of PyTorch that a kernel may compute: which networks, and the same outputs and gradients as the layers."""

import copy

import pytest
import torch
from torch import nn

from worldloom.learn import FusedLayers


def network(outputs, units=(64, 64), activation=nn.Tanh, inputs=4, bias=True):
    first, second = units
    layers = [nn.Linear(inputs, first, bias=bias), activation(), nn.Linear(first, second), activation()]
    return nn.Sequential(*layers, nn.Linear(second, outputs))


@pytest.mark.parametrize(
    ("actor", "critic", "fused"),
    [
        (network(2), network(1), True),
        (network(2, (16, 16), nn.ReLU), network(1, (16, 16), nn.ReLU), True),
        (network(2), network(1, (32, 32)), False),
        (network(2, (64, 32)), network(1, (64, 32)), False),
        (network(2, (48, 48)), network(1, (48, 48)), False),
        (network(2), network(1, activation=nn.ReLU), False),
        (network(2, activation=nn.GELU), network(1, activation=nn.GELU), False),
        (network(2, inputs=129), network(1, inputs=129), False),
        (network(65), network(1), False),
        (network(2, bias=False), network(1), False),
        (nn.Linear(4, 2), nn.Linear(4, 1), False),
        (nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2)), network(1), False),
    ],
)
def test_networks_with_a_kernel(actor, critic, fused):
    assert (FusedLayers(actor, critic)._fused is not None) is fused


def test_outputs_have_the_axes_of_the_inputs_and_gradients_reach_the_parameters():
    actor, critic = network(2), network(1)
    both = FusedLayers(actor, critic)
    values = torch.randn(3, 5, 4)
    logits, outputs = both(values)
    assert torch.equal(logits, actor(values)) and torch.equal(outputs, critic(values))
    (logits.sum() + outputs.sum()).backward()
    assert all(parameter.grad is not None for parameter in (*actor.parameters(), *critic.parameters()))


def test_a_copy_computes_the_copied_networks():
    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.actor, self.critic = network(2), network(1)
            self.both = FusedLayers(self.actor, self.critic)

    agent = Agent()
    copied = copy.deepcopy(agent)
    parameters = {id(parameter) for parameter in copied.parameters()}
    assert {id(parameter) for parameter in copied.both._fused.parameters()} == parameters
    assert copied.both.actor is copied.actor and len(copied.state_dict()) == len(parameters) == 12
