"""Generalised advantages, n-step returns and final values against loops in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.base.errors import InputError
from worldloom.learn.losses.advantages import add_bootstrap_values, gae, n_step_returns

CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def window(steps: int, rows: int, ends: float, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random rewards [T, N], values [T + 1, N] and dones [T, N], which are true with the probability ``ends``."""
    random = np.random.default_rng(seed)
    rewards = torch.tensor(random.normal(size=(steps, rows)), dtype=torch.float32)
    values = torch.tensor(3.0 * random.normal(size=(steps + 1, rows)), dtype=torch.float32)
    return rewards, values, torch.tensor(random.random((steps, rows)) < ends)


def n_step_return_of(rewards: np.ndarray, values: np.ndarray, dones: np.ndarray, gamma: float, n: int, t: int) -> float:
    """One return of one row, added up forwards."""
    total, discount = 0.0, 1.0
    for k in range(t, min(t + n, len(rewards))):
        total += discount * rewards[k]
        discount *= gamma
        if dones[k]:
            return total
    return total + discount * values[min(t + n, len(rewards))]


def plain_n_step(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor, gamma: float, n: int) -> np.ndarray:
    r, v, d = (x.numpy().astype(np.float64) for x in (rewards, values, dones))
    return np.array(
        [
            [n_step_return_of(r[:, i], v[:, i], d[:, i], gamma, n, t) for i in range(r.shape[1])]
            for t in range(r.shape[0])
        ]
    )


def plain_gae(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor, gamma: float, lam: float) -> np.ndarray:
    """The definition: surprises of all later steps of the episode, each discounted by (gamma * lam) per step."""
    r, v, d = rewards.numpy().astype(np.float64), values.numpy().astype(np.float64), dones.numpy()
    steps, rows = r.shape
    surprises = r + gamma * v[1:] * ~d - v[:-1]
    advantages = np.zeros((steps, rows))
    for i in range(rows):
        for t in range(steps):
            for k in range(t, steps):
                advantages[t, i] += (gamma * lam) ** (k - t) * surprises[k, i]
                if d[k, i]:
                    break
    return advantages


@pytest.mark.parametrize(
    ("steps", "rows", "ends"), [(1, 1, 0.0), (1, 3, 1.0), (7, 5, 0.0), (17, 13, 0.2), (31, 3, 0.6)]
)
@pytest.mark.parametrize(("gamma", "lam"), [(0.99, 0.95), (1.0, 1.0), (0.9, 0.0), (0.0, 0.7)])
def test_gae_is_the_sum_of_discounted_surprises(steps: int, rows: int, ends: float, gamma: float, lam: float) -> None:
    rewards, values, dones = window(steps, rows, ends, seed=steps)
    expected = plain_gae(rewards, values, dones, gamma, lam)
    advantages, returns = gae(rewards, values, dones, gamma, lam)
    np.testing.assert_allclose(advantages.numpy(), expected, **CLOSE)
    np.testing.assert_allclose(returns.numpy(), expected + values[:-1].numpy(), **CLOSE)


@settings(max_examples=40, deadline=None)
@given(
    steps=st.integers(1, 12),
    rows=st.integers(1, 4),
    ends=st.sampled_from([0.0, 0.3, 1.0]),
    n=st.integers(1, 15),
    seed=st.integers(0, 99),
)
def test_n_step_returns_stop_at_n_rewards_the_episode_and_the_window(
    steps: int, rows: int, ends: float, n: int, seed: int
) -> None:
    rewards, values, dones = window(steps, rows, ends, seed)
    np.testing.assert_allclose(
        n_step_returns(rewards, values, dones, 0.97, n).numpy(), plain_n_step(rewards, values, dones, 0.97, n), **CLOSE
    )


def test_the_ends_of_lambda_are_one_step_and_the_whole_window() -> None:
    rewards, values, dones = window(19, 7, 0.15)
    torch.testing.assert_close(
        gae(rewards, values, dones, 0.98, 0.0)[1], n_step_returns(rewards, values, dones, 0.98, 1), **CLOSE
    )
    torch.testing.assert_close(
        gae(rewards, values, dones, 0.98, 1.0)[1], n_step_returns(rewards, values, dones, 0.98, 19), **CLOSE
    )


def test_nothing_leaks_over_the_end_of_an_episode() -> None:
    rewards, values, dones = window(9, 3, 0.0)
    dones[4] = True
    changed = rewards.clone()
    changed[5:] += 100.0
    before, after = gae(rewards, values, dones, 0.99, 0.95)[0], gae(changed, values, dones, 0.99, 0.95)[0]
    torch.testing.assert_close(before[:5], after[:5], rtol=0.0, atol=0.0)
    assert (before[5:] != after[5:]).all()


def test_results_go_where_they_are_wanted_and_carry_no_gradient() -> None:
    rewards, values, dones = window(5, 3, 0.2)
    values.requires_grad_(True)
    advantages, returns = torch.full((5, 3), 9.0), torch.full((5, 3), 9.0)
    given = gae(rewards, values, dones, 0.99, 0.95, advantages=advantages, returns=returns)
    assert given[0] is advantages and given[1] is returns
    np.testing.assert_allclose(advantages.numpy(), plain_gae(rewards, values.detach(), dones, 0.99, 0.95), **CLOSE)
    assert not gae(rewards, values, dones, 0.99, 0.95)[0].requires_grad
    assert values.grad is None


def test_final_values_are_added_where_a_time_limit_ended_an_episode() -> None:
    rewards = torch.zeros(6, 3)
    steps = torch.tensor([[1, -1, 5], [4, -1, -1]], dtype=torch.int32)
    final_values = torch.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    add_bootstrap_values(rewards, steps, final_values, 0.5)
    expected = torch.zeros(6, 3)
    expected[1, 0], expected[4, 0], expected[5, 2] = 5.0, 20.0, 15.0
    torch.testing.assert_close(rewards, expected, rtol=0.0, atol=0.0)


def test_a_time_limit_with_its_final_value_equals_an_episode_that_went_on() -> None:
    """A row that is cut off after step 2 has the returns of one that went on to an observation of the same value."""
    rewards, values, dones = window(3, 1, 0.0)
    longer = n_step_returns(rewards, values, dones, 0.9, 3)
    dones[2] = True
    add_bootstrap_values(rewards, torch.tensor([[2]], dtype=torch.int32), values[3:].clone(), 0.9)
    values[3] = 1000.0  # of the next episode: it must not matter
    torch.testing.assert_close(n_step_returns(rewards, values, dones, 0.9, 3), longer)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r, v, d: (r.double(), v, d), "rewards must be torch.float32"),
        (lambda r, v, d: (r, v[:-1], d), r"values must be torch.float32 \[5, 3\]"),
        (lambda r, v, d: (r, v, d.float()), "dones must be torch.bool"),
        (lambda r, v, d: (r[0], v, d), r"rewards must have the shape \[T, N\]"),
    ],
)
def test_tensors_that_a_kernel_would_misread_are_refused(change, words: str) -> None:
    with pytest.raises(InputError, match=words):
        gae(*change(*window(4, 3, 0.2)), 0.99, 0.95)


def test_no_rewards_make_no_return() -> None:
    with pytest.raises(InputError, match="n of 1 or more, not 0"):
        n_step_returns(*window(4, 3, 0.2), 0.99, 0)
