"""Optimizer steps by native kernels equal those of PyTorch, for all actions, networks and losses."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from random_rollouts import CATEGORICAL, GAUSSIAN, MIXED, SQUASHED, Case, random_case

from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.policy_loss import loss_weights
from worldloom.learn.losses.ppo_loss import ppo_loss

NETWORKS = [
    {"hidden": (64, 64), "activation": "tanh"},
    {"hidden": (33, 7), "activation": "elu", "shared": True},
    {"hidden": (20,), "activation": "selu", "normalize_observations": True},
    {"hidden": (256, 16, 48), "activation": "relu", "shared": True, "normalize_observations": True},
]


def gradients_of(case: Case, loss: torch.Tensor) -> torch.Tensor:
    gradients = torch.autograd.grad(loss, case.optimizer.parameters, materialize_grads=True)
    return torch.cat([gradient.reshape(-1) for gradient in gradients])


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: n["activation"])
@pytest.mark.parametrize("value_clip", [0.0, 0.3])
@pytest.mark.parametrize(
    ("action", "masked", "weighted"),
    [
        (CATEGORICAL, False, False),
        (CATEGORICAL, True, True),
        (GAUSSIAN, False, True),
        (SQUASHED, False, False),
        (MIXED, True, True),
    ],
    ids=["categorical", "masked", "gaussian", "squashed", "mixed"],
)
def test_ppo_step(network, value_clip, action, masked, weighted):
    case = random_case(action, masked=masked, weighted=weighted, **network)
    indices = torch.randperm(300)[:290]
    settings = SimpleNamespace(clip=0.2, value_clip=value_clip, value_weight=0.7, entropy_weight=0.02)
    chosen = case.batch.part(0, 300)
    chosen = replace(
        chosen,
        observations={k: v[indices] for k, v in chosen.observations.items()},
        **{k: v[indices] for k, v in vars(chosen).items() if isinstance(v, torch.Tensor)},
    )
    mean = WeightedMean(chosen.weights, Ranks())
    chosen = replace(chosen, advantages=mean.standardize(chosen.advantages))
    losses = ppo_loss(case.policy, chosen, settings, mean)
    expected = gradients_of(case, losses.total)

    statistics = case.take_step(loss_weights(0.2, value_clip, 0.7, 0.02), indices, standardize=True)

    assert_close(statistics, torch.stack(losses[1:]).detach())
    assert_close(case.optimizer.gradient, expected)
    torch.testing.assert_close(case.optimizer.gradient_norm, expected.norm(), rtol=1e-5, atol=0.0)


@pytest.mark.parametrize("action", [CATEGORICAL, GAUSSIAN, MIXED], ids=lambda a: a.kind)
def test_a2c_step(action):
    case = random_case(action, weighted=True)
    batch, policy = case.batch, case.policy
    mean = WeightedMean(batch.weights, Ranks())
    parameters, values = batch.evaluate(policy)
    log_probs, entropies = log_prob_entropy(policy.spec.action, parameters, batch.actions, None, policy.log_std)
    loss = -mean(log_probs * batch.advantages) + 0.25 * mean((values - batch.returns).square()) - 0.1 * mean(entropies)
    expected = gradients_of(case, loss)
    case.take_step(loss_weights(0.0, 0.0, 0.5, 0.1))
    assert_close(case.optimizer.gradient, expected)


def test_parameters_after_steps_equal_those_of_the_plain_optimizer():
    native, plain = random_case(CATEGORICAL), random_case(CATEGORICAL)
    settings = SimpleNamespace(clip=0.2, value_clip=0.0, value_weight=0.5, entropy_weight=0.0)
    for _ in range(5):
        native.take_step(loss_weights(0.2, 0.0, 0.5, 0.0))
        plain.optimizer.step(ppo_loss(plain.policy, plain.batch, settings, WeightedMean(None, Ranks())).total)
    torch.testing.assert_close(native.optimizer.flat, plain.optimizer.flat, rtol=1e-4, atol=1e-5)
    for name, tensor in native.optimizer.tensors().items():
        torch.testing.assert_close(tensor, plain.optimizer.tensors()[name], rtol=1e-4, atol=1e-5)


def test_threads_do_not_change_a_bit():
    results = []
    for threads in (1, 2, 3, 8):
        case = random_case(CATEGORICAL, samples=2500, masked=True)
        case.native.threads = threads
        indices = torch.arange(2500).flip(0)
        for _ in range(3):
            statistics = case.take_step(loss_weights(0.2, 0.0, 0.5, 0.01), indices, standardize=True)
        results.append((case.optimizer.flat.clone(), statistics.clone()))
    for flat, statistics in results[1:]:
        assert torch.equal(flat, results[0][0])
        assert torch.equal(statistics, results[0][1])


def test_settings_and_storage_may_change_between_steps():
    case = random_case(GAUSSIAN)
    case.take_step(loss_weights(0.2, 0.0, 0.5, 0.0))
    first = case.optimizer.gradient.clone()
    fresh = random_case(GAUSSIAN)
    fresh.optimizer.flat.copy_(case.optimizer.flat)
    for changed in (case, fresh):
        changed.batch = replace(changed.batch, advantages=-changed.batch.advantages)
        changed.take_step(loss_weights(0.2, 0.0, 2.0, 0.1))
    assert torch.equal(case.optimizer.gradient, fresh.optimizer.gradient)
    assert not torch.equal(case.optimizer.gradient, first)


def test_the_order_of_a_minibatch_of_a_large_rollout_does_not_matter(monkeypatch):
    flats = []
    for least in (1, 10_000):
        monkeypatch.setattr("worldloom.learn.native.policy_step.ORDERED_FROM", least)
        for order in (torch.arange(0, 3000, 3), torch.arange(0, 3000, 3).flip(0)):
            case = random_case(CATEGORICAL, samples=3000)
            case.take_step(loss_weights(0.2, 0.0, 0.5, 0.01), order, standardize=True)
            flats.append(case.optimizer.flat)
    ascending, reversed_in_order, kept, reversed_kept = flats
    assert torch.equal(ascending, reversed_in_order) and torch.equal(ascending, kept)
    assert not torch.equal(kept, reversed_kept)
    torch.testing.assert_close(kept, reversed_kept, rtol=1e-4, atol=1e-5)
