"""Distributions over actions against torch.distributions, their gradients, and what the world gets."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical, Independent, Normal, kl_divergence

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import apply_mask, log_prob_entropy, mode, policy_kl, to_env_action
from worldloom.learn.agents.specs import ActionSpec

SIZES = [(5,), (2,), (18,), (3, 3, 3), (2, 5, 3)]
INFINITE = float("inf")


def make_logits(spec: ActionSpec, *shape: int, seed: int = 0) -> torch.Tensor:
    return 3.0 * torch.randn(
        *shape, spec.parameters, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def make_actions(spec: ActionSpec, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.stack([torch.randint(0, n, shape, generator=generator) for n in spec.sizes], -1).int()


def make_mask(spec: ActionSpec, actions: torch.Tensor) -> torch.Tensor:
    """A random mask that allows the actions."""
    mask = torch.rand(*actions.shape[:-1], spec.parameters, generator=torch.Generator().manual_seed(9)) < 0.5
    start = 0
    for part, size in enumerate(spec.sizes):
        mask[..., start : start + size] |= torch.nn.functional.one_hot(actions[..., part].long(), size).bool()
        start += size
    return mask


def reference(spec: ActionSpec, logits: torch.Tensor, mask: torch.Tensor | None = None) -> list[Categorical]:
    if mask is not None:
        logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
    return [Categorical(logits=part) for part in logits.split(spec.sizes, -1)]


def gaussian(width: int) -> ActionSpec:
    return ActionSpec("gaussian", low=(-INFINITE,) * width, high=(INFINITE,) * width)


@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("shape", [(64,), (4, 8)])
def test_categorical_is_that_of_torch(sizes: tuple[int, ...], shape: tuple[int, ...], with_mask: bool) -> None:
    spec = ActionSpec("categorical", sizes)
    logits, actions = make_logits(spec, *shape), make_actions(spec, *shape)
    mask = make_mask(spec, actions) if with_mask else None
    log_prob, entropy = log_prob_entropy(spec, logits.float(), actions, mask)
    parts = reference(spec, logits, mask)
    assert log_prob.shape == entropy.shape == shape and log_prob.dtype == torch.float32
    torch.testing.assert_close(
        log_prob.double(), sum(p.log_prob(actions[..., i]) for i, p in enumerate(parts)), atol=1e-5, rtol=1e-5
    )
    torch.testing.assert_close(entropy.double(), sum(p.entropy() for p in parts), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_categorical_divergence_is_that_of_torch(sizes: tuple[int, ...], with_mask: bool) -> None:
    spec = ActionSpec("categorical", sizes)
    old, new = make_logits(spec, 32, seed=1), make_logits(spec, 32, seed=2)
    mask = make_mask(spec, make_actions(spec, 32)) if with_mask else None
    expected = sum(
        kl_divergence(p, q) for p, q in zip(reference(spec, old, mask), reference(spec, new, mask), strict=True)
    )
    torch.testing.assert_close(policy_kl(spec, old, new, mask), expected, atol=1e-9, rtol=1e-9)
    assert (policy_kl(spec, old, old, mask) == 0.0).all()


@pytest.mark.parametrize("per_row", [False, True])
def test_gaussian_is_that_of_torch(per_row: bool) -> None:
    spec, generator = gaussian(3), torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    mean, other, actions = draw(6, 10, 3), draw(6, 10, 3), draw(6, 10, 3)
    log_std, other_log_std = (draw(6, 10, 3), draw(6, 10, 3)) if per_row else (draw(3), draw(3))
    expected = Independent(Normal(mean, log_std.exp().expand_as(mean)), 1)
    log_prob, entropy = log_prob_entropy(spec, mean, actions, log_std=log_std)
    torch.testing.assert_close(log_prob, expected.log_prob(actions))
    torch.testing.assert_close(entropy, expected.entropy())
    kl = kl_divergence(expected, Independent(Normal(other, other_log_std.exp().expand_as(other)), 1))
    torch.testing.assert_close(policy_kl(spec, mean, other, None, log_std, other_log_std), kl)


@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("sizes", [(4,), (3, 3), (2, 4)])
def test_gradients_of_choices(sizes: tuple[int, ...], with_mask: bool) -> None:
    spec = ActionSpec("categorical", sizes)
    logits, actions = make_logits(spec, 3).requires_grad_(), make_actions(spec, 3)
    mask = make_mask(spec, actions) if with_mask else None
    assert torch.autograd.gradcheck(lambda x: log_prob_entropy(spec, x, actions, mask), (logits,))
    if mask is not None:
        sum(log_prob_entropy(spec, logits, actions, mask)).sum().backward()
        assert not logits.grad[~mask].any() and logits.grad[mask].any()


def test_gradients_of_numbers() -> None:
    actions = torch.randn(4, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    mean, log_std = (
        torch.zeros(4, 2, dtype=torch.float64, requires_grad=True),
        torch.full((2,), -0.5, dtype=torch.float64, requires_grad=True),
    )
    assert torch.autograd.gradcheck(lambda m, s: log_prob_entropy(gaussian(2), m, actions, log_std=s), (mean, log_std))


def test_nothing_allowed_is_everything_allowed() -> None:
    spec = ActionSpec("categorical", (3, 2))
    logits, actions = make_logits(spec, 8).requires_grad_(), make_actions(spec, 8)
    none = torch.zeros(8, 5, dtype=torch.bool)
    for left, right in zip(
        log_prob_entropy(spec, logits, actions, none), log_prob_entropy(spec, logits, actions), strict=True
    ):
        torch.testing.assert_close(left, right, atol=0.0, rtol=0.0)
    half = none.clone()
    half[:, 3] = True
    log_prob, entropy = log_prob_entropy(spec, logits, torch.zeros_like(actions), half)
    first = Categorical(logits=logits[:, :3])
    torch.testing.assert_close(log_prob, first.log_prob(torch.zeros(8)))
    torch.testing.assert_close(entropy, first.entropy())
    sum(log_prob_entropy(spec, logits, actions, none)).sum().backward()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_logits_stay_finite(dtype: torch.dtype) -> None:
    spec = ActionSpec("categorical", (3,))
    logits = torch.tensor(
        [[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4], [0.0, 5.0, 1e4]], dtype=dtype, requires_grad=True
    )
    mask = torch.tensor([[True, True, True], [True, True, True], [True, True, True], [True, False, False]])
    log_prob, entropy = log_prob_entropy(spec, logits, torch.zeros(4, 1, dtype=torch.int32), mask)
    third = math.log(3.0)
    torch.testing.assert_close(log_prob, torch.tensor([0.0, -third, -third, 0.0], dtype=dtype))
    torch.testing.assert_close(entropy, torch.tensor([0.0, third, third, 0.0], dtype=dtype))
    (log_prob + entropy).sum().backward()
    assert logits.grad.isfinite().all()


def test_half_precision_is_computed_in_float32() -> None:
    spec = ActionSpec("categorical", (4,))
    logits, actions = make_logits(spec, 16), make_actions(spec, 16)
    for dtype in (torch.bfloat16, torch.float16):
        rounded = logits.to(dtype)
        mask = make_mask(spec, actions)
        for left, right in zip(
            log_prob_entropy(spec, rounded, actions, mask),
            log_prob_entropy(spec, rounded.float(), actions, mask),
            strict=True,
        ):
            assert left.dtype == torch.float32
            torch.testing.assert_close(left, right, atol=0.0, rtol=0.0)
        assert apply_mask(rounded, mask).isfinite().all()


def test_mode() -> None:
    spec = ActionSpec("categorical", (3, 2))
    logits = torch.tensor([[1.0, 3.0, 2.0, 0.0, 1.0], [5.0, 5.0, 0.0, 1.0, 0.0]])
    mask = torch.tensor([[True, False, True, True, True], [False, False, False, False, True]])
    assert mode(spec, logits).tolist() == [[1, 1], [0, 0]] and mode(spec, logits).dtype == torch.int32
    assert mode(spec, logits, mask).tolist() == [[2, 1], [0, 1]]
    equal = ActionSpec("categorical", (2, 2))
    assert mode(equal, torch.tensor([[0.0, 1.0, 1.0, 0.0]])).tolist() == [[1, 0]]
    mean = torch.randn(3, 2).bfloat16()
    assert torch.equal(mode(gaussian(2), mean), mean.float())


def test_to_world() -> None:
    spec = ActionSpec("gaussian", low=(-2.0, 0.0, -INFINITE, 0.0, 3.0), high=(2.0, 10.0, INFINITE, INFINITE, 3.0))
    actions = torch.tensor([[0.5, -0.5, 7.0, 7.0, 0.2], [1.5, -1.5, -7.0, -7.0, -9.0], [1.0, -1.0, 0.0, 0.0, 0.0]])
    assert to_env_action(spec, actions).tolist() == [
        [1.0, 2.5, 7.0, 7.0, 3.0],
        [2.0, 0.0, -7.0, 0.0, 3.0],
        [2.0, 0.0, 0.0, 0.0, 3.0],
    ]
    assert to_env_action(spec, torch.full((5,), float("nan"))).isnan().all(), "a broken policy must be seen"
    choices = ActionSpec("categorical", (3,))
    drawn = make_actions(choices, 4)
    assert to_env_action(choices, drawn) is drawn


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="log_std"):
        log_prob_entropy(gaussian(1), torch.zeros(2, 1), torch.zeros(2, 1))
    with pytest.raises(InputError, match="mask of 2 choices"):
        mode(ActionSpec("categorical", (3,)), torch.zeros(4, 3), torch.ones(4, 2, dtype=torch.bool))
