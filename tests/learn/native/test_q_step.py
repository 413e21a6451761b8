"""Optimizer steps of Q networks by native kernels equal those of PyTorch."""

from __future__ import annotations

import pytest
import torch
from random_rollouts import OBSERVATIONS, random_observations

from worldloom.learn.agents.specs import ActionSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.td_loss import huber, td_errors
from worldloom.learn.native.dense_network import describe_q_network
from worldloom.learn.native.q_step import QInference, QStep
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.rollout.replay_buffer import TransitionBatch
from worldloom.learn.training.optimizer import FlatAdam

SAMPLES, CHOICES = 1100, 5


def random_q_network(**config):
    torch.manual_seed(0)
    spec = PolicySpec(OBSERVATIONS, ActionSpec("categorical", sizes=(CHOICES,)))
    policy = QNetwork(spec, PolicyConfig(**config))
    return policy, FlatAdam(policy.parameters(), 1e-3, 10.0)


def random_transitions():
    generator = torch.Generator().manual_seed(1)
    observations = random_observations(SAMPLES, generator)
    actions = torch.randint(0, CHOICES, (SAMPLES, 1), generator=generator).int()
    weights = torch.rand(SAMPLES, generator=generator)
    weights[::7] = 0.0
    zeros = torch.zeros(SAMPLES)
    batch = TransitionBatch(observations, actions, zeros, observations, zeros, weights, zeros.long())
    return batch, 3.0 * torch.randn(SAMPLES, generator=generator)


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.5])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_td_step(dueling, delta, activation):
    policy, optimizer = random_q_network(dueling=dueling, hidden=(32, 20), activation=activation)
    batch, targets = random_transitions()
    errors, values = td_errors(policy, batch, targets)
    mean = WeightedMean((batch.weights > 0.0).float(), Ranks())
    loss = mean(batch.weights * huber(errors, delta))
    expected = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, optimizer.parameters)])

    network = describe_q_network(policy)
    torch.testing.assert_close(
        QInference(network)(batch.observations), policy(batch.observations), rtol=1e-5, atol=1e-5
    )
    statistics, native_errors = QStep(network, optimizer, SAMPLES, CHOICES, delta)(batch, targets)

    torch.testing.assert_close(native_errors, errors.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(statistics, torch.stack([loss, mean(values)]).detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(optimizer.gradient, expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))


def test_threads_do_not_change_a_bit():
    results = []
    for threads in (1, 2):
        policy, optimizer = random_q_network(hidden=(16,))
        step = QStep(describe_q_network(policy), optimizer, SAMPLES, CHOICES, 1.0, threads)
        for _ in range(3):
            step(*random_transitions())
        results.append(optimizer.flat.clone())
    assert torch.equal(*results)
