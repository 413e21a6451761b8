"""The sampler: frequencies by chi-square, log-probabilities and entropy against PyTorch's, keys, and hard cases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Independent, Normal

from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import Key
from worldloom.learn.actions.distributions import log_prob_entropy, to_env_action
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.specs import ActionSpec

CPU = torch.device("cpu")
INFINITE = float("inf")


@dataclass
class Draw:
    action: torch.Tensor
    log_prob: torch.Tensor
    entropy: torch.Tensor
    world_action: torch.Tensor


def draw(sampler: Sampler, parameters: torch.Tensor, **options) -> Draw:
    rows, spec = sampler.rows, sampler.spec
    action = torch.full((rows, spec.width), -9, dtype=spec.dtype)
    out = Draw(action, torch.full((rows,), math.nan), torch.full((rows,), math.nan), action.clone())
    sampler.sample(
        parameters,
        action=out.action,
        log_prob=out.log_prob,
        entropy=out.entropy,
        world_action=out.world_action,
        **options,
    )
    return out


def choices(*sizes: int, rows: int = 64, seed: int = 0, **options) -> Sampler:
    return Sampler(ActionSpec("categorical", sizes), rows, CPU, seed, **options)


def numbers(width: int, rows: int = 64, seed: int = 0, **options) -> Sampler:
    return Sampler(
        ActionSpec("gaussian", low=(-INFINITE,) * width, high=(INFINITE,) * width), rows, CPU, seed, **options
    )


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """The statistic in standard deviations from its mean: of a true sample about 0, and hardly ever above 5."""
    possible = probabilities > 0
    assert not counts[~possible].any()
    expected = probabilities[possible] * counts.sum()
    freedom = possible.sum() - 1
    return float((((counts[possible] - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom))


@pytest.mark.parametrize("size", [2, 5, 18, 441])
def test_frequencies_over_rows(size: int) -> None:
    logits = randn(size)
    out = draw(choices(size, rows=100_000, seed=1), logits.expand(100_000, size).contiguous())
    counts = np.bincount(out.action[:, 0].numpy(), minlength=size)
    assert abs(chi_square(counts, logits.double().softmax(0).numpy())) < 5.0


def test_frequencies_over_ticks() -> None:
    logits, sampler = randn(100, 5), choices(5, rows=100, seed=2)
    counts = np.zeros((100, 5))
    for _ in range(500):
        counts[np.arange(100), draw(sampler, logits).action[:, 0].numpy()] += 1
        sampler.advance()
    scores = [chi_square(c, p) for c, p in zip(counts, logits.double().softmax(1).numpy(), strict=True)]
    assert abs(np.mean(scores)) < 0.5 and max(scores) < 6.0


def test_masked_frequencies() -> None:
    logits = randn(1, 8).repeat(50_000, 1)
    mask = torch.tensor([[False, True, False, True, True, False, True, False]]).repeat(50_000, 1)
    out = draw(choices(8, rows=50_000, seed=3), logits, mask=mask)
    expected = torch.where(mask[0], logits[0].double(), -INFINITE).softmax(0).numpy()
    assert abs(chi_square(np.bincount(out.action[:, 0].numpy(), minlength=8), expected)) < 5.0


def test_parts_are_drawn_independently() -> None:
    sizes = (3, 2, 4, 2, 3)
    logits = randn(sum(sizes))
    out = draw(choices(*sizes, rows=100_000, seed=4), logits.expand(100_000, -1).contiguous())
    probabilities = [p.double().softmax(0).numpy() for p in logits.split(sizes)]
    for part, expected in enumerate(probabilities):
        assert abs(chi_square(np.bincount(out.action[:, part].numpy(), minlength=sizes[part]), expected)) < 5.0
    joint = np.ravel_multi_index(out.action.numpy().T, sizes)
    together = probabilities[0]
    for more in probabilities[1:]:
        together = np.outer(together, more).ravel()
    assert abs(chi_square(np.bincount(joint, minlength=together.size), together)) < 5.0


@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("sizes", [(2,), (5,), (441,), (2, 5, 3), (4, 4, 4, 4, 4, 4)])
def test_log_prob_and_entropy_are_those_of_torch(sizes: tuple[int, ...], with_mask: bool) -> None:
    spec, rows = ActionSpec("categorical", sizes), 256
    logits = 3.0 * randn(rows, spec.parameters)
    mask = (randn(rows, spec.parameters, seed=5) > 0.0) | (torch.arange(spec.parameters) == 0) if with_mask else None
    out = draw(choices(*sizes, rows=rows), logits, mask=mask)
    expected_log_prob = expected_entropy = 0.0
    start = 0
    for part, size in enumerate(sizes):
        allowed = torch.ones(rows, size, dtype=torch.bool) if mask is None else mask[:, start : start + size]
        allowed = allowed | ~allowed.any(1, keepdim=True)
        picked = out.action[:, part].long()
        assert allowed.gather(1, picked[:, None]).all()
        one = Categorical(
            logits=logits[:, start : start + size].double().masked_fill(~allowed, torch.finfo(torch.float64).min)
        )
        expected_log_prob, expected_entropy = expected_log_prob + one.log_prob(picked), expected_entropy + one.entropy()
        start += size
    torch.testing.assert_close(out.log_prob.double(), expected_log_prob, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(out.entropy.double(), expected_entropy, atol=1e-5, rtol=1e-5)
    for mine, other in zip((out.log_prob, out.entropy), log_prob_entropy(spec, logits, out.action, mask), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)
    assert torch.equal(out.world_action, out.action)


@pytest.mark.parametrize("per_row", [False, True])
def test_gaussian_log_prob_and_entropy_are_those_of_torch(per_row: bool) -> None:
    sampler, mean = numbers(7, rows=200), 2.0 * randn(200, 7)
    log_std = randn(200, 7, seed=6) if per_row else randn(7, seed=6)
    out = draw(sampler, mean, log_std=log_std)
    expected = Independent(Normal(mean.double(), log_std.double().exp().expand(200, 7)), 1)
    torch.testing.assert_close(out.log_prob.double(), expected.log_prob(out.action.double()), atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(out.entropy.double(), expected.entropy(), atol=1e-5, rtol=1e-5)
    for mine, other in zip(
        (out.log_prob, out.entropy), log_prob_entropy(sampler.spec, mean, out.action, log_std=log_std), strict=True
    ):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)


def test_gaussian_numbers_are_normal_and_independent() -> None:
    rows, width = 40_000, 6
    mean, log_std = torch.tensor([0.0, 1.0, -2.0, 0.5, 3.0, -1.0]), torch.tensor([0.0, -1.0, 0.5, 1.0, -2.0, 0.0])
    out = draw(numbers(width, rows=rows, seed=8), mean.expand(rows, width).contiguous(), log_std=log_std)
    scores = ((out.action.double() - mean.double()) / log_std.double().exp()).numpy()
    ordered = np.sort(scores, axis=0)
    distribution = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)))(ordered)
    steps = np.arange(1, rows + 1)[:, None] / rows
    gap = np.maximum(np.abs(distribution - steps), np.abs(distribution - steps + 1 / rows)).max(0)
    assert (gap < 1.95 / math.sqrt(rows)).all(), "Kolmogorov and Smirnov, one in a thousand"
    assert np.abs(scores.mean(0)).max() < 5 / math.sqrt(rows) and np.abs(scores.std(0) - 1.0).max() < 5 / math.sqrt(
        2 * rows
    )
    for power in (scores, scores**2):
        assert np.abs(np.corrcoef(power.T) - np.eye(width)).max() < 5 / math.sqrt(rows)


def test_world_action_is_in_the_worlds_units() -> None:
    spec = ActionSpec("gaussian", low=(-2.0, 0.0, -INFINITE, 0.0), high=(2.0, 10.0, INFINITE, INFINITE))
    out = draw(Sampler(spec, 500, CPU, 0), torch.zeros(500, 4), log_std=torch.zeros(4))
    torch.testing.assert_close(out.world_action, to_env_action(spec, out.action))
    low, high = out.world_action.min(0).values.tolist(), out.world_action.max(0).values.tolist()
    assert low[:2] == [-2.0, 0.0] and high[:2] == [2.0, 10.0] and low[3] == 0.0, "some were clipped, none went beyond"
    assert torch.equal(out.world_action[:, 2], out.action[:, 2])


def test_extreme_logits() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4], [-INFINITE, 0.0, -INFINITE]]).repeat(
        500, 1
    )
    out = draw(choices(3, rows=2000), logits)
    action, third = out.action.view(500, 4), math.log(3.0)
    assert (action[:, 0] == 0).all() and (action[:, 3] == 1).all()
    assert all(set(action[:, i].tolist()) == {0, 1, 2} for i in (1, 2))
    torch.testing.assert_close(out.log_prob.view(500, 4), torch.tensor([0.0, -third, -third, 0.0]).expand(500, 4))
    torch.testing.assert_close(out.entropy.view(500, 4), torch.tensor([0.0, third, third, 0.0]).expand(500, 4))


def test_the_only_allowed_choice_is_drawn_however_unlikely() -> None:
    rows = 4000
    logits = torch.tensor([[1e4, 0.0, -1e4, 1e4, 5.0]]).repeat(rows, 1)
    only = torch.arange(rows) % 5
    out = draw(choices(5, rows=rows), logits, mask=torch.nn.functional.one_hot(only, 5).bool())
    assert torch.equal(out.action[:, 0].long(), only)
    assert not out.log_prob.any() and not out.entropy.any()


def test_rounding_never_leads_to_a_forbidden_choice() -> None:
    rows, size = 20_000, 441
    logits = torch.linspace(0.0, -40.0, size).repeat(rows, 1)
    mask = torch.ones(rows, size, dtype=torch.bool)
    mask[:, 300:] = False
    mask[:, 0] = False
    action = draw(choices(size, rows=rows), logits, mask=mask).action
    assert action.min() == 1 and action.max() < 300


def test_nothing_allowed_is_everything_allowed() -> None:
    logits = randn(5000, 4)
    free, shut = (
        draw(choices(4, rows=5000), logits),
        draw(choices(4, rows=5000), logits, mask=torch.zeros(5000, 4, dtype=torch.bool)),
    )
    assert (
        torch.equal(free.action, shut.action)
        and torch.equal(free.log_prob, shut.log_prob)
        and torch.equal(free.entropy, shut.entropy)
    )


def test_broken_logits_give_an_allowed_choice_and_say_so() -> None:
    mask = torch.tensor([[False, True, True]])
    out = draw(choices(3, rows=1), torch.full((1, 3), math.nan), mask=mask)
    assert out.action.item() == 1 and out.log_prob.isnan().all()


@pytest.mark.parametrize("make", [choices, numbers])
def test_a_row_draws_the_same_in_any_batch(make) -> None:
    whole, part = make(3, rows=1000, seed=5), make(3, rows=40, seed=5, first_row=700)
    parameters, options = randn(1000, 3), {"log_std": torch.zeros(3)} if make is numbers else {}
    large, small = draw(whole, parameters, **options), draw(part, parameters[700:740].contiguous(), **options)
    for name in ("action", "log_prob", "entropy"):
        assert torch.equal(getattr(large, name)[700:740], getattr(small, name))


@pytest.mark.parametrize("make", [choices, numbers])
def test_keys(make) -> None:
    parameters, options = torch.zeros(64, 5), {"log_std": torch.zeros(5)} if make is numbers else {}
    first = draw(make(5), parameters, **options).action
    assert torch.equal(first, draw(make(5), parameters, **options).action), "the same key, the same draws"
    for other in ({"seed": 1}, {"seed": 2**40 + 1}, {"stream": 1}, {"first_row": 64}):
        assert not torch.equal(first, draw(make(5, **other), parameters, **options).action), other
    sampler = make(5)
    ahead = [draw(sampler, parameters, offset=i, **options).action for i in range(3)]
    for expected in ahead:
        assert torch.equal(draw(sampler, parameters, **options).action, expected)
        sampler.advance()
    assert sampler.tick.dtype == torch.int64 and sampler.tick.tolist() == [3]
    assert not torch.equal(ahead[0], ahead[1]) and not torch.equal(ahead[1], ahead[2])
    saved = sampler.tick.clone()
    sampler.advance(5)
    later = draw(sampler, parameters, **options).action
    restored = make(5)
    restored.tick.copy_(saved + 5)
    assert torch.equal(draw(restored, parameters, **options).action, later)
    restored.tick.add_(2**32)
    assert not torch.equal(draw(restored, parameters, **options).action, later), "ticks do not wrap at 32 bits"


def test_draws_are_those_of_philox_and_not_those_of_a_world() -> None:
    rows = 200
    sampler = choices(2**12, rows=rows, seed=11, stream=3)
    sampler.tick.fill_(6)
    found = draw(sampler, torch.zeros(rows, 2**12), offset=1).action[:, 0].tolist()
    assert found == [Key(11, row, -1, 7, 3).bits(0) >> 20 for row in range(rows)]
    assert found != [Key(11, row, 0, 7, 3).bits(0) >> 20 for row in range(rows)]


def test_half_precision_and_gradients_are_taken_in() -> None:
    logits = randn(64, 5).bfloat16().requires_grad_()
    out, plain = draw(choices(5), logits), draw(choices(5), logits.detach().float())
    assert torch.equal(out.action, plain.action) and torch.equal(out.log_prob, plain.log_prob)
    with_gradient = randn(64, 5).requires_grad_()
    draw(choices(5), with_gradient)
    assert with_gradient.grad is None, "drawing leaves no gradient behind"


def test_outputs_may_be_slices_of_a_storage() -> None:
    sampler, logits = choices(3, 2), randn(64, 5)
    actions, log_probs, entropies = torch.zeros(4, 64, 2, dtype=torch.int32), torch.zeros(4, 64), torch.zeros(4, 64)
    for step in range(4):
        sampler.sample(logits, action=actions[step], log_prob=log_probs[step], entropy=entropies[step], offset=step)
    for step in range(4):
        expected = draw(sampler, logits, offset=step)
        assert (
            torch.equal(actions[step], expected.action)
            and torch.equal(log_probs[step], expected.log_prob)
            and torch.equal(entropies[step], expected.entropy)
        )


def test_what_is_refused() -> None:
    out = {"action": torch.zeros(64, 1, dtype=torch.int32), "log_prob": torch.zeros(64), "entropy": torch.zeros(64)}
    logits = torch.zeros(64, 5)
    with pytest.raises(InputError, match="parameters is"):
        choices(5).sample(torch.zeros(64, 4), **out)
    with pytest.raises(InputError, match="action is torch"):
        choices(5).sample(logits, **{**out, "action": out["action"].long()})
    with pytest.raises(InputError, match="mask is"):
        choices(5).sample(logits, mask=torch.ones(64, 4, dtype=torch.bool), **out)
    with pytest.raises(InputError, match="world_action is"):
        choices(5).sample(logits, world_action=torch.zeros(64, dtype=torch.int32), **out)
    with pytest.raises(InputError, match="log_std"):
        numbers(1).sample(torch.zeros(64, 1), **{**out, "action": torch.zeros(64, 1)})
    with pytest.raises(InputError, match="rows"):
        choices(5, rows=10, first_row=2**31 - 5)
    with pytest.raises(InputError, match="seed"):
        choices(5, seed=-1)
