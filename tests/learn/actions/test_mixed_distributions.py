"""Mixed, squashed and state-dependent distributions against torch.distributions, and their gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical, Independent, Normal, TransformedDistribution, kl_divergence
from torch.distributions.transforms import TanhTransform

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy, mode, policy_kl, to_env_action
from worldloom.learn.actions.gaussian import gaussian_log_prob_entropy, log_tanh_derivative
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.config.policy_config import MAX_LOG_STD, MIN_LOG_STD

SIZES, LOW, HIGH = (3, 2), (-2.0, 0.0, -1.0), (2.0, 1.0, 5.0)
ROWS = 64
OPTIONS = pytest.mark.parametrize(
    ("squashed", "state_std"), [(False, False), (True, False), (False, True), (True, True)]
)


def mixed(squashed: bool = False, state_std: bool = False) -> ActionSpec:
    return ActionSpec("mixed", SIZES, LOW, HIGH, squashed=squashed, state_std=state_std)


def randn(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_outputs(spec: ActionSpec, seed: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The network's outputs, and the shared log standard deviation where the network does not output it."""
    return randn(ROWS, spec.parameters, seed=seed), None if spec.state_std else 0.5 * randn(3, seed=seed + 1)


def make_actions() -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    choices = [torch.randint(0, n, (ROWS, 1), generator=generator).double() for n in SIZES]
    return torch.cat([*choices, randn(ROWS, 3, seed=6)], 1)


def reference(
    spec: ActionSpec, outputs: torch.Tensor, log_std: torch.Tensor | None
) -> tuple[list[Categorical], Independent]:
    """The distributions of the choices, and that of the numbers before tanh."""
    logits, means, rest = outputs.split([5, 3, outputs.shape[1] - 8], 1)
    std = (rest if log_std is None else log_std).exp().expand(ROWS, 3)
    return [Categorical(logits=part) for part in logits.split(SIZES, 1)], Independent(Normal(means, std), 1)


def squashed_log_prob(numbers: Independent, samples: torch.Tensor) -> torch.Tensor:
    transformed = TransformedDistribution(numbers.base_dist, TanhTransform(cache_size=1))
    return Independent(transformed, 1).log_prob(samples.tanh())


@OPTIONS
def test_log_probability_is_that_of_torch(squashed: bool, state_std: bool) -> None:
    spec, actions = mixed(squashed, state_std), make_actions()
    outputs, log_std = make_outputs(spec, 1)
    choices, numbers = reference(spec, outputs, log_std)
    expected = sum(part.log_prob(actions[:, k]) for k, part in enumerate(choices))
    samples = actions[:, 2:]
    expected = expected + (squashed_log_prob(numbers, samples) if squashed else numbers.log_prob(samples))
    torch.testing.assert_close(log_prob_entropy(spec, outputs, actions, log_std=log_std)[0], expected)


@pytest.mark.parametrize("state_std", [False, True])
def test_entropy_and_divergence_are_those_of_torch(state_std: bool) -> None:
    spec = mixed(state_std=state_std)
    (outputs, log_std), (new_outputs, new_log_std) = make_outputs(spec, 1), make_outputs(spec, 11)
    choices, numbers = reference(spec, outputs, log_std)
    new_choices, new_numbers = reference(spec, new_outputs, new_log_std)
    entropy = log_prob_entropy(spec, outputs, make_actions(), log_std=log_std)[1]
    torch.testing.assert_close(entropy, sum(part.entropy() for part in choices) + numbers.entropy())
    expected = sum(kl_divergence(*pair) for pair in zip(choices, new_choices, strict=True))
    expected = expected + kl_divergence(numbers, new_numbers)
    for squashed in (False, True):  # tanh maps both distributions alike, so the divergence stays the same
        spec = mixed(squashed, state_std)
        torch.testing.assert_close(policy_kl(spec, outputs, new_outputs, None, log_std, new_log_std), expected)


def test_the_entropy_of_squashed_numbers_is_unbiased_and_so_is_its_gradient() -> None:
    """The mean over many samples against numerical integration over u."""
    mean, log_std = torch.tensor([0.7], dtype=torch.float64), torch.tensor([0.3], dtype=torch.float64)

    def integral(mean: torch.Tensor, log_std: torch.Tensor) -> torch.Tensor:
        noise = torch.linspace(-12.0, 12.0, 200_001, dtype=torch.float64)
        weight = torch.exp(-0.5 * noise.square()) / math.sqrt(2.0 * math.pi) * (noise[1] - noise[0])
        gaussian = log_std + 0.5 * math.log(2.0 * math.pi) + 0.5
        return (gaussian + (weight * log_tanh_derivative(mean + log_std.exp() * noise)).sum()).squeeze()

    mean.requires_grad_(), log_std.requires_grad_()
    exact = integral(mean, log_std)
    exact_gradients = torch.autograd.grad(exact, (mean, log_std))
    samples = (mean + log_std.exp() * randn(400_000, 1, seed=3)).detach()
    estimate = gaussian_log_prob_entropy(mean.expand(400_000, 1), log_std, samples, True)[1].mean()
    gradients = torch.autograd.grad(estimate, (mean, log_std))
    torch.testing.assert_close(estimate, exact, atol=0.01, rtol=0.0)
    for found, expected in zip(gradients, exact_gradients, strict=True):
        torch.testing.assert_close(found, expected, atol=0.01, rtol=0.0)
        assert abs(float(expected)) > 0.1


@OPTIONS
def test_gradients(squashed: bool, state_std: bool) -> None:
    spec, actions = mixed(squashed, state_std), make_actions()[:3]
    outputs, log_std = make_outputs(spec, 1)
    outputs = outputs[:3].requires_grad_()
    if log_std is not None:
        log_std.requires_grad_()
    inputs = (outputs,) if log_std is None else (outputs, log_std)

    def log_prob(outputs: torch.Tensor, log_std: torch.Tensor | None = None) -> torch.Tensor:
        return log_prob_entropy(spec, outputs, actions, log_std=log_std)[0]

    assert torch.autograd.gradcheck(log_prob, inputs)


def test_log_tanh_derivative_stays_finite() -> None:
    numbers = torch.tensor([0.0, 1.0, -1.0, 30.0, -30.0, 1e4])
    exact = torch.log1p(-numbers.double().tanh().square())
    found = log_tanh_derivative(numbers)
    torch.testing.assert_close(found[:3].double(), exact[:3], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(found[3:], 2.0 * (math.log(2.0) - numbers[3:].abs()))


def test_a_standard_deviation_of_the_network_is_clamped() -> None:
    spec = ActionSpec("gaussian", low=(-1.0,) * 3, high=(1.0,) * 3, state_std=True)
    log_std = torch.tensor([MIN_LOG_STD - 5.0, 0.0, MAX_LOG_STD + 5.0])
    outputs = torch.cat([torch.zeros(3), log_std])[None].requires_grad_()
    log_prob, entropy = log_prob_entropy(spec, outputs, torch.zeros(1, 3))
    expected = Independent(Normal(torch.zeros(3), log_std.clamp(MIN_LOG_STD, MAX_LOG_STD).exp()), 1)
    torch.testing.assert_close(log_prob[0], expected.log_prob(torch.zeros(3)))
    entropy.sum().backward()
    assert outputs.grad[0, 3:].tolist() == [0.0, 1.0, 0.0]


@OPTIONS
def test_mode_and_the_worlds_units(squashed: bool, state_std: bool) -> None:
    spec = mixed(squashed, state_std)
    outputs = torch.tensor([[0.0, 2.0, 1.0, 3.0, -1.0, 0.5, 9.0, -9.0]])
    if state_std:
        outputs = torch.cat([outputs, torch.zeros(1, 3)], 1)
    best = mode(spec, outputs)
    assert best.dtype == torch.float32 and best.tolist() == [[1.0, 0.0, 0.5, 9.0, -9.0]]
    mask = torch.tensor([[True, False, True, False, True]])
    assert mode(spec, outputs, mask)[:, :2].tolist() == [[2.0, 1.0]]
    first = 2.0 * math.tanh(0.5) if squashed else 1.0
    torch.testing.assert_close(to_env_action(spec, best), torch.tensor([[1.0, 0.0, first, 1.0, -1.0]]))


def test_masks_apply_to_the_choices() -> None:
    spec, actions = mixed(), make_actions()
    outputs, log_std = make_outputs(spec, 1)
    mask = torch.ones(ROWS, 5, dtype=torch.bool)
    mask[:, 0] = actions[:, 0] == 0
    logits = torch.where(mask, outputs[:, :5], -torch.inf)
    _, numbers = reference(spec, outputs, log_std)
    expected = sum(Categorical(logits=part).log_prob(actions[:, k]) for k, part in enumerate(logits.split(SIZES, 1)))
    found = log_prob_entropy(spec, outputs, actions, mask, log_std)[0]
    torch.testing.assert_close(found, expected + numbers.log_prob(actions[:, 2:]))
    with pytest.raises(InputError, match="a mask of 8 choices does not fit an action with 5"):
        log_prob_entropy(spec, outputs, actions, torch.ones(ROWS, 8, dtype=torch.bool), log_std)


def test_a_spec_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match="a mixed action needs sizes and as many lower as upper bounds"):
        ActionSpec("mixed", (3,))
    with pytest.raises(InputError, match="a categorical action needs sizes, one for each part, and nothing else"):
        ActionSpec("categorical", (3,), (0.0,), (1.0,))
    with pytest.raises(InputError, match="squashed numbers need two finite bounds each"):
        ActionSpec("gaussian", low=(0.0,), high=(math.inf,), squashed=True)
    with pytest.raises(InputError, match="needs log_std"):
        log_prob_entropy(mixed(), torch.zeros(1, 8), torch.zeros(1, 5))
