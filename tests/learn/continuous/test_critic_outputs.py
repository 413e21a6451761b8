"""Distributions of returns: the projection onto the support, targets and losses, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from worldloom.learn.losses.critic_outputs import ExpectedReturns, ReturnDistribution

ATOMS, LOW, HIGH = 11, -3.0, 7.0


def projection(probabilities: np.ndarray, reward: float, discount: float) -> np.ndarray:
    """Algorithm 1 of Bellemare et al. (2017), one return after the other."""
    support = np.linspace(LOW, HIGH, ATOMS)
    spacing, result = support[1] - support[0], np.zeros(ATOMS)
    for probability, value in zip(probabilities, support, strict=True):
        position = (np.clip(reward + discount * value, LOW, HIGH) - LOW) / spacing
        lower, upper = int(np.floor(position)), int(np.ceil(position))
        if lower == upper:
            result[lower] += probability
        else:
            result[lower] += probability * (upper - position)
            result[upper] += probability * (position - lower)
    return result


@pytest.fixture
def returns() -> ReturnDistribution:
    return ReturnDistribution(ATOMS, LOW, HIGH, torch.device("cpu"))


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def samples(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits [2, B, atoms], rewards [B] that leave the support too, and discounts [B], of which some are 0."""
    generator = torch.Generator().manual_seed(0)
    rewards = 4.0 * torch.randn(count, generator=generator)
    discounts = torch.rand(count, generator=generator) * (torch.arange(count) % 3 > 0)
    return torch.randn(2, count, ATOMS, generator=generator), rewards, discounts


def test_the_projection_is_that_of_the_paper(returns: ReturnDistribution) -> None:
    logits, rewards, discounts = samples(40)
    probabilities = logits[0].softmax(-1)
    found = returns.project(probabilities, rewards, discounts).double().numpy()
    for index in range(40):
        wanted = projection(probabilities[index].double().numpy(), float(rewards[index]), float(discounts[index]))
        np.testing.assert_allclose(found[index], wanted, atol=2e-6)
    np.testing.assert_allclose(found.sum(-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("clipped", [True, False])
def test_targets_of_two_critics(returns: ReturnDistribution, clipped: bool) -> None:
    logits, rewards, discounts = samples(40)
    found = returns.targets(logits, rewards, discounts, clipped).double().numpy()
    support, both = np.linspace(LOW, HIGH, ATOMS), softmax(logits.double().numpy())
    lower = 0
    for index in range(40):
        one, other = both[:, index]
        chosen = (one if one @ support < other @ support else other) if clipped else (one + other) / 2
        lower += int(one @ support < other @ support)
        wanted = projection(chosen, float(rewards[index]), float(discounts[index]))
        np.testing.assert_allclose(found[index], wanted, atol=3e-6)
    assert 5 < lower < 35, "both critics are the smaller one somewhere"


def test_losses_are_cross_entropies(returns: ReturnDistribution) -> None:
    logits, rewards, discounts = samples(40)
    targets = returns.targets(logits.flip(0), rewards, discounts, True)
    losses, priorities = returns.losses(logits, targets)
    predicted = np.log(softmax(logits.double().numpy()))
    wanted = -(targets.double().numpy() * predicted).sum(-1)
    np.testing.assert_allclose(losses.double().numpy(), wanted.sum(0), rtol=1e-5)
    np.testing.assert_allclose(priorities.double().numpy(), wanted.mean(0), rtol=1e-5)
    np.testing.assert_allclose(
        returns.values(logits).double().numpy(), np.exp(predicted) @ np.linspace(LOW, HIGH, ATOMS), atol=1e-5
    )


def test_expected_returns_of_two_critics() -> None:
    outputs = torch.tensor([[[1.0], [5.0]], [[3.0], [2.0]]])
    rewards, discounts, critics = torch.tensor([0.5, -1.0]), torch.tensor([0.9, 0.0]), ExpectedReturns()
    assert critics.targets(outputs, rewards, discounts, True).tolist() == pytest.approx([0.5 + 0.9 * 1.0, -1.0])
    assert critics.targets(outputs, rewards, discounts, False).tolist() == pytest.approx([0.5 + 0.9 * 2.0, -1.0])
    losses, errors = critics.losses(outputs, torch.tensor([2.0, 2.0]))
    assert losses.tolist() == [0.5 + 0.5, 4.5] and errors.tolist() == [1.0, 1.5]
