"""The kernel's gradients with respect to the network's outputs against autograd in double precision."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.config.policy_config import MAX_LOG_STD, MIN_LOG_STD
from worldloom.learn.losses.policy_loss import loss_gradients, loss_weights
from worldloom.learn.rollout.storage import RolloutBatch

SAMPLES = 300
LOW, HIGH = (-1.0, 0.0, -3.0), (1.0, 2.0, 3.0)
SPECS = {
    "choices": ActionSpec("categorical", (4, 2)),
    "numbers": ActionSpec("gaussian", low=LOW, high=HIGH),
    "squashed": ActionSpec("gaussian", low=LOW, high=HIGH, squashed=True),
    "state std": ActionSpec("gaussian", low=LOW, high=HIGH, state_std=True),
    "mixed": ActionSpec("mixed", (4, 2), LOW, HIGH),
    "all": ActionSpec("mixed", (4, 2), LOW, HIGH, squashed=True, state_std=True),
}
CLIP, ENTROPY = 0.2, 0.05


def make_batch(spec: ActionSpec, parameters: torch.Tensor, log_std: torch.Tensor | None) -> RolloutBatch:
    """Random actions; their old log-probabilities are near those of ``parameters``."""
    actions = torch.randn(SAMPLES, spec.width)
    for part, size in enumerate(spec.sizes):
        actions[:, part] = torch.randint(0, size, (SAMPLES,)).float()
    actions = actions.to(spec.dtype)
    log_probs, _ = log_prob_entropy(spec, parameters, actions, None, log_std)
    targets = [torch.randn(SAMPLES) for _ in range(3)]
    return RolloutBatch({}, actions, log_probs + 0.3 * torch.randn(SAMPLES), *targets, None, None)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_gradients_are_those_of_autograd(spec: ActionSpec) -> None:
    torch.manual_seed(0)
    parameters = 0.7 * torch.randn(SAMPLES, spec.parameters)
    log_std = None if spec.state_std or not spec.numbers else torch.tensor([-0.5, 0.0, 0.4])
    if spec.state_std:
        parameters[::7, -1] = MAX_LOG_STD + 1.0
        parameters[1::7, -2] = MIN_LOG_STD + 8.0
    batch = make_batch(spec, parameters, log_std)
    starts = torch.tensor([0, 4, 6] if spec.sizes else [0], dtype=torch.int32)
    found = loss_gradients(
        spec,
        loss_weights(CLIP, 0.0, 0.5, ENTROPY),
        batch,
        torch.arange(SAMPLES),
        batch.advantages,
        parameters,
        torch.randn(SAMPLES),
        log_std,
        starts,
        None,
    )

    exact = parameters.double().requires_grad_()
    spread = None if log_std is None else log_std.double().requires_grad_()
    log_probs, entropies = log_prob_entropy(spec, exact, batch.actions.double(), None, spread)
    ratio = (log_probs - batch.log_probs.double()).exp()
    advantages = batch.advantages.double()
    surrogate = torch.min(ratio * advantages, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * advantages)
    (-surrogate.mean() - ENTROPY * entropies.mean()).backward()
    torch.testing.assert_close(found.parameters.double(), exact.grad, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(found.statistics[2].sum().double(), entropies.mean().detach(), rtol=1e-5, atol=1e-5)
    if spread is not None:
        torch.testing.assert_close(found.log_std.sum(0).double(), spread.grad, rtol=1e-4, atol=1e-5)
    if spec.state_std:
        assert not found.parameters[::7, -1].any(), "beyond its bounds an output has no gradient"
        assert found.parameters[2::7, -1].all()
