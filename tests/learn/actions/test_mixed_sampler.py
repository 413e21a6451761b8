"""The sampler of mixed, squashed and state-dependent actions: its distribution, its keys, and what the world gets."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy, to_env_action
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.config.policy_config import MAX_LOG_STD

CPU = torch.device("cpu")
SIZES, LOW, HIGH = (3, 2, 4, 2, 2), (-2.0, 0.0, -1.0), (2.0, 1.0, 5.0)
OPTIONS = pytest.mark.parametrize(
    ("squashed", "state_std"), [(False, False), (True, False), (False, True), (True, True)]
)


def mixed(squashed: bool = False, state_std: bool = False) -> ActionSpec:
    return ActionSpec("mixed", SIZES, LOW, HIGH, squashed=squashed, state_std=state_std)


class Draw:
    """One draw, with all that the sampler writes."""

    def __init__(self, sampler: Sampler, parameters: torch.Tensor, **options: torch.Tensor | int | None) -> None:
        rows, spec = sampler.rows, sampler.spec
        self.action = torch.full((rows, spec.width), -9.0)
        self.log_prob, self.entropy = torch.full((2, rows), math.nan)
        self.choices = torch.full((rows, len(spec.sizes)), -9, dtype=torch.int32)
        self.numbers = torch.full((rows, spec.numbers), -9.0)
        target = (self.choices, self.numbers) if spec.kind == "mixed" else self.numbers
        sampler.sample(
            parameters,
            action=self.action,
            log_prob=self.log_prob,
            entropy=self.entropy,
            world_action=target,
            **options,
        )


def outputs_of(spec: ActionSpec, rows: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(rows, spec.parameters, generator=generator), None if spec.state_std else torch.tensor(
        [-1.0, 0, 0.5]
    )


@OPTIONS
def test_log_probability_entropy_and_world_action_belong_to_the_action(squashed: bool, state_std: bool) -> None:
    spec = mixed(squashed, state_std)
    parameters, log_std = outputs_of(spec, 500)
    mask = torch.rand(500, spec.logits, generator=torch.Generator().manual_seed(4)) < 0.6
    drawn = Draw(Sampler(spec, 500, CPU, seed=1), parameters, log_std=log_std, mask=mask)
    log_prob, entropy = log_prob_entropy(spec, parameters, drawn.action, mask, log_std)
    torch.testing.assert_close(drawn.log_prob, log_prob, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(drawn.entropy, entropy, atol=2e-5, rtol=1e-5)
    in_world = torch.cat([drawn.choices.float(), drawn.numbers], 1)
    torch.testing.assert_close(in_world, to_env_action(spec, drawn.action), atol=1e-6, rtol=1e-6)
    low, high = torch.tensor(LOW), torch.tensor(HIGH)
    assert (drawn.numbers >= low).all() and (drawn.numbers <= high).all()
    start = 0
    for part, size in enumerate(SIZES):
        allowed = mask[:, start : start + size]
        chosen = allowed.gather(1, drawn.choices[:, part : part + 1].long()).flatten()
        assert (chosen | ~allowed.any(1)).all(), "a forbidden choice was drawn"
        start += size


@OPTIONS
def test_statistics(squashed: bool, state_std: bool) -> None:
    spec, rows = mixed(squashed, state_std), 200_000
    parameters, log_std = outputs_of(spec, 1)
    drawn = Draw(Sampler(spec, rows, CPU, seed=2), parameters.expand(rows, -1).contiguous(), log_std=log_std)
    logits = parameters[0, : spec.logits].double().split(SIZES)
    for part, own in enumerate(logits):
        counts = np.bincount(drawn.choices[:, part].numpy(), minlength=len(own)) / rows
        np.testing.assert_allclose(counts, own.softmax(0).numpy(), atol=0.006)
    means = parameters[0, spec.logits : spec.logits + 3]
    std = (parameters[0, -3:] if log_std is None else log_std).exp()
    noise = (drawn.action[:, len(SIZES) :] - means) / std
    np.testing.assert_allclose(noise.mean(0), 0.0, atol=0.01)
    correlation = np.corrcoef(torch.cat([noise, drawn.choices.float()], 1).double().numpy().T)
    np.testing.assert_allclose(noise.std(0), 1.0, atol=0.01)
    np.testing.assert_allclose(correlation, np.eye(8), atol=0.012)
    for k in range(3):  # quantiles of the normal distribution
        np.testing.assert_allclose((noise[:, k] < torch.tensor(1.0)).float().mean(), 0.8413, atol=0.005)


def test_choices_and_numbers_are_drawn_as_alone() -> None:
    """Choices draw what they draw alone; numbers use the blocks of random words after those of the choices."""
    spec, rows = mixed(), 300
    parameters, log_std = outputs_of(spec, rows)
    drawn = Draw(Sampler(spec, rows, CPU, seed=5, first_row=7, stream=1), parameters, log_std=log_std)
    alone = Sampler(ActionSpec("categorical", SIZES), rows, CPU, seed=5, first_row=7, stream=1)
    choices = torch.zeros(rows, 5, dtype=torch.int32)
    unused = torch.zeros(2, rows)
    alone.sample(parameters[:, : spec.logits].contiguous(), action=choices, log_prob=unused[0], entropy=unused[1])
    assert torch.equal(drawn.choices, choices)
    spec = ActionSpec("gaussian", low=LOW, high=HIGH)
    same_words = Draw(
        Sampler(spec, rows, CPU, seed=5, first_row=7, stream=1), parameters[:, -3:].contiguous(), log_std=log_std
    )
    assert not torch.isclose(same_words.action, drawn.action[:, 5:]).any()


@OPTIONS
def test_a_row_draws_the_same_in_any_batch_and_new_numbers_at_every_tick(squashed: bool, state_std: bool) -> None:
    spec = mixed(squashed, state_std)
    parameters, log_std = outputs_of(spec, 40)
    whole = Sampler(spec, 40, CPU, seed=9)
    part = Sampler(spec, 15, CPU, seed=9, first_row=20)
    first, some = Draw(whole, parameters, log_std=log_std), Draw(part, parameters[20:35].contiguous(), log_std=log_std)
    assert torch.equal(first.action[20:35], some.action) and torch.equal(first.log_prob[20:35], some.log_prob)
    whole.advance(3)
    later = Draw(whole, parameters, log_std=log_std)
    assert torch.equal(later.action, Draw(Sampler(spec, 40, CPU, seed=9), parameters, log_std=log_std, offset=3).action)
    assert (later.action[:, 5:] != first.action[:, 5:]).all()


def test_a_standard_deviation_of_the_network_is_clamped() -> None:
    spec = ActionSpec("gaussian", low=(-math.inf,), high=(math.inf,), state_std=True)
    parameters = torch.tensor([[0.0, 50.0]]).repeat(5000, 1)
    drawn = Draw(Sampler(spec, 5000, CPU, seed=0), parameters)
    assert float(drawn.action.std()) == pytest.approx(math.exp(MAX_LOG_STD), rel=0.05)
    assert torch.isfinite(drawn.log_prob).all()
    drawn = Draw(Sampler(spec, 1, CPU, seed=0), torch.tensor([[0.0, math.nan]]))
    assert drawn.log_prob.isnan().all(), "NaN must not be hidden by the bounds"


def test_wrong_tensors_are_refused() -> None:
    spec = mixed()
    parameters, log_std = outputs_of(spec, 4)
    sampler, empty = Sampler(spec, 4, CPU, seed=0), torch.zeros(4)
    action = torch.zeros(4, spec.width)
    with pytest.raises(InputError, match="world_action is a pair of choices and numbers for a mixed action"):
        sampler.sample(
            parameters, action=action, log_prob=empty, entropy=empty, log_std=log_std, world_action=action.clone()
        )
    with pytest.raises(InputError, match="needs log_std"):
        sampler.sample(parameters, action=action, log_prob=empty, entropy=empty)
    with pytest.raises(InputError, match=r"mask is torch\.bool of shape"):
        mask = torch.ones(4, spec.parameters, dtype=torch.bool)
        sampler.sample(parameters, action=action, log_prob=empty, entropy=empty, log_std=log_std, mask=mask)
