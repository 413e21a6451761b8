"""V-trace against the sums of the IMPALA paper in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.base.errors import InputError
from worldloom.learn.losses.advantages import gae, n_step_returns
from worldloom.learn.losses.vtrace_targets import vtrace

CLOSE = {"rtol": 5e-5, "atol": 5e-5}


def window(steps: int, rows: int, ends: float, seed: int = 0) -> dict[str, torch.Tensor]:
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.tensor(random.normal(size=shape), dtype=torch.float32)

    return {
        "behaviour_log_probs": normal(steps, rows) - 1.0,
        "target_log_probs": normal(steps, rows) - 1.0,
        "rewards": normal(steps, rows),
        "values": 3.0 * normal(steps + 1, rows),
        "dones": torch.tensor(random.random((steps, rows)) < ends),
    }


def plain_vtrace(
    data: dict[str, torch.Tensor], gamma: float, rho_clip: float, c_clip: float, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Equation 1 of the paper as it stands: a sum over later steps of products of c; discounts are 0 at ends."""
    mu, pi, r, v, d = (x.numpy().astype(np.float64) for x in data.values())
    steps, rows = r.shape
    ratio = np.exp(pi - mu)
    rho, c = np.minimum(rho_clip, ratio), lam * np.minimum(c_clip, ratio)
    discount = gamma * (1.0 - d)
    surprise = rho * (r + discount * v[1:] - v[:-1])
    targets = np.zeros((steps + 1, rows))
    targets[steps] = v[steps]
    for i in range(rows):
        for s in range(steps):
            targets[s, i] = v[s, i]
            for t in range(s, steps):
                targets[s, i] += np.prod([discount[k, i] * c[k, i] for k in range(s, t)]) * surprise[t, i]
    return targets[:-1], rho * (r + discount * targets[1:] - v[:-1])


@settings(max_examples=40, deadline=None)
@given(
    steps=st.integers(1, 13),
    rows=st.integers(1, 5),
    ends=st.sampled_from([0.0, 0.25, 1.0]),
    clips=st.sampled_from([(1.0, 1.0), (2.0, 0.5), (1e9, 1.5)]),
    lam=st.sampled_from([1.0, 0.9, 0.0]),
    seed=st.integers(0, 99),
)
def test_vtrace_is_the_sum_of_the_paper(
    steps: int, rows: int, ends: float, clips: tuple[float, float], lam: float, seed: int
) -> None:
    data = window(steps, rows, ends, seed)
    targets, advantages = vtrace(**data, gamma=0.97, rho_clip=clips[0], c_clip=clips[1], lam=lam)
    expected_targets, expected_advantages = plain_vtrace(data, 0.97, *clips, lam)
    np.testing.assert_allclose(targets.numpy(), expected_targets, **CLOSE)
    np.testing.assert_allclose(advantages.numpy(), expected_advantages, **CLOSE)


def test_on_the_policy_that_acted_targets_are_the_returns_of_the_window() -> None:
    data = window(21, 7, 0.15)
    data["target_log_probs"] = data["behaviour_log_probs"]
    targets, advantages = vtrace(**data, gamma=0.98)
    rewards, values, dones = data["rewards"], data["values"], data["dones"]
    torch.testing.assert_close(targets, n_step_returns(rewards, values, dones, 0.98, 21), **CLOSE)
    torch.testing.assert_close(targets, gae(rewards, values, dones, 0.98, 1.0)[1], **CLOSE)
    torch.testing.assert_close(advantages, gae(rewards, values, dones, 0.98, 1.0)[0], **CLOSE)


def test_on_the_policy_that_acted_lambda_is_that_of_gae() -> None:
    data = window(11, 3, 0.1)
    data["target_log_probs"] = data["behaviour_log_probs"]
    torch.testing.assert_close(
        vtrace(**data, gamma=0.98, lam=0.8)[0],
        gae(data["rewards"], data["values"], data["dones"], 0.98, 0.8)[1],
        **CLOSE,
    )


def test_an_action_that_the_policy_never_takes_teaches_nothing() -> None:
    data = window(5, 3, 0.0)
    data["target_log_probs"][:] = -torch.inf
    targets, advantages = vtrace(**data, gamma=0.9)
    torch.testing.assert_close(targets, data["values"][:-1], rtol=0.0, atol=0.0)
    assert (advantages == 0.0).all()


def test_targets_carry_no_gradient() -> None:
    data = window(5, 3, 0.2)
    expected = vtrace(**data, gamma=0.9)
    data["values"].requires_grad_(True)
    data["target_log_probs"].requires_grad_(True)
    found = vtrace(**data, gamma=0.9)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0)
    assert not found[0].requires_grad and not found[1].requires_grad and data["values"].grad is None


def test_wrong_tensors_and_clips_are_refused() -> None:
    data = window(5, 3, 0.2)
    with pytest.raises(InputError, match=r"target_log_probs must be torch.float32 \[5, 3\] on cpu, not torch.float64"):
        vtrace(**(data | {"target_log_probs": data["target_log_probs"].double()}), gamma=0.9)
    with pytest.raises(InputError, match=r"c_clip of at most rho_clip, but 2.0 is above 1.0"):
        vtrace(**data, gamma=0.9, c_clip=2.0)
