"""The kernel's loss and gradients are those of PyTorch's autograd on the loss written out, for PPO and for A2C."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from worldloom.learn import ActionSpec, ObservationSpec, Policy, PolicyConfig, PolicySpec, PPOConfig, Storage
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.algorithms import a2c
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.ppo_loss import ppo_gradients, ppo_loss
from worldloom.learn.training.optimizer import FlatAdam

STEPS, ROWS, SAMPLES = 8, 16, 64
ACTIONS = {
    "one choice": ActionSpec("categorical", sizes=(3,)),
    "several choices": ActionSpec("categorical", sizes=(3, 4, 2)),
    "numbers": ActionSpec("gaussian", low=(-1.0, -1.0, -9.0), high=(1.0, 1.0, 9.0)),
    "squashed numbers": ActionSpec("gaussian", low=(-1.0, -9.0), high=(1.0, 9.0), squashed=True),
    "numbers with a std of the network": ActionSpec("gaussian", low=(-1.0, -9.0), high=(1.0, 9.0), state_std=True),
    "mixed": ActionSpec("mixed", (3, 2), (-1.0, -9.0), (1.0, 9.0)),
    "all": ActionSpec("mixed", (3, 4, 3), (-1.0, -9.0), (1.0, 9.0), squashed=True, state_std=True),
}
MASKABLE = ("one choice", "mixed", "all")


def rolled_out(action: ActionSpec, masked: bool, leave: bool) -> tuple[Policy, Storage]:
    """A policy with random weights, and a roll-out of random numbers by another."""
    spec = PolicySpec({"sight": ObservationSpec((5,))}, action)
    policy = Policy(spec, PolicyConfig())
    for parameter in policy.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    storage = Storage(spec, ROWS, STEPS, torch.device("cpu"), masked=masked, may_leave=leave)
    storage.observations["sight"].normal_()
    if action.numbers:
        storage.actions.normal_()
    for part, size in enumerate(action.sizes):
        storage.actions[..., part] = torch.randint(0, size, (STEPS, ROWS))
    if storage.masks is not None:
        storage.masks.copy_(torch.rand(storage.masks.shape) < 0.6)
        for part, start in enumerate(storage.starts[:-1]):
            storage.masks.scatter_(2, storage.actions[..., part : part + 1].long() + start, True)
        storage.masks[0, :3] = False  # agents that have left are allowed nothing, which counts as everything
    if storage.weights is not None:
        storage.weights.copy_((torch.rand(STEPS, ROWS) < 0.7).float())
    parameters, _ = storage.all_steps(storage.rewards, storage.rewards).evaluate(policy)
    masks = None if storage.masks is None else storage.masks.flatten(0, 1)
    log_probs, _ = log_prob_entropy(action, parameters, storage.actions.flatten(0, 1), masks, policy.log_std)
    storage.log_probs.copy_((log_probs.detach() + 0.3 * torch.randn(STEPS * ROWS)).view(STEPS, ROWS))
    storage.values.normal_()
    return policy, storage


def tolerance(kind: str) -> float:
    """Random outputs for the standard deviation give log-probabilities down to -500, and gradients of their size."""
    return 2e-4 if ACTIONS[kind].state_std else 1e-6


@pytest.mark.parametrize("value_clip", [0.0, 0.3])
@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize(
    ("kind", "masked"), [*((kind, False) for kind in ACTIONS), *((kind, True) for kind in MASKABLE)]
)
def test_the_kernel_agrees_with_autograd(kind, masked, leave, value_clip):
    torch.manual_seed(len(kind) + 2 * masked + leave)
    policy, storage = rolled_out(ACTIONS[kind], masked, leave)
    config = PPOConfig(value_clip=value_clip, entropy_weight=0.02)
    advantages, returns, places = (
        torch.randn(STEPS, ROWS),
        torch.randn(STEPS, ROWS),
        torch.randperm(STEPS * ROWS)[:SAMPLES],
    )
    batch = storage.gather_steps(places, advantages, returns)
    mean = WeightedMean(batch.weights, Ranks())
    losses = ppo_loss(policy, batch, config, mean)
    wanted = torch.autograd.grad(losses.total, list(policy.parameters()))

    parameters, values = batch.evaluate(policy)
    gradients = ppo_gradients(
        policy, config, storage, places, batch.advantages, returns, parameters, values, mean.count
    )
    outputs, by_outputs = gradients.with_outputs(parameters, values, policy.log_std)
    found = torch.autograd.grad(outputs, list(policy.parameters()), by_outputs)

    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=tolerance(kind))
    torch.testing.assert_close(gradients.statistics.sum(1), torch.stack(losses[1:]).detach(), rtol=1e-5, atol=1e-5)
    assert 0.0 < gradients.statistics.sum(1)[4] < 1.0, "some ratios, not all, are to be clipped"


@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize("kind", list(ACTIONS))
def test_parts_of_a_batch_add_up_to_the_gradient_of_a2c(monkeypatch, kind, leave):
    monkeypatch.setattr(a2c, "MAX_OP_ELEMENTS", 64 * 50)  # parts of 50 of 128 steps
    torch.manual_seed(7)
    policy, storage = rolled_out(ACTIONS[kind], kind in MASKABLE, leave)
    optimizer = FlatAdam(policy.parameters(), 0.0)
    actor = SimpleNamespace(storage=storage)
    config = A2CConfig(entropy_weight=0.02, value_weight=0.7)
    learner = SimpleNamespace(
        config=config,
        setting=lambda name: getattr(config, name),
        policy=policy,
        optimizer=optimizer,
        actor=actor,
        autocast=nullcontext,
        device=torch.device("cpu"),
    )
    batch = storage.all_steps(torch.randn(STEPS, ROWS), torch.randn(STEPS, ROWS))
    mean = WeightedMean(batch.weights, Ranks())
    expected = A2C._step(None, learner, batch, mean)
    wanted = optimizer.gradient.clone()
    found = A2C._step_in_parts(None, learner, batch, mean)
    torch.testing.assert_close(optimizer.gradient, wanted, rtol=1e-4, atol=tolerance(kind))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
