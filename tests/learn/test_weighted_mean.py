"""Means over those who were there to act."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean


def test_without_weights_all_count() -> None:
    values = torch.randn(6, 3)
    mean = WeightedMean(None, Ranks())
    assert mean(values).item() == pytest.approx(values.mean().item())
    assert mean.variance(values).item() == pytest.approx(values.var(unbiased=False).item(), rel=1e-5)


def test_those_who_left_do_not_count() -> None:
    values, weights = torch.randn(6, 3), (torch.rand(6, 3) < 0.5).float()
    weights[0, 0], weights[0, 1], values[0, 0] = 0.0, 1.0, 1e6
    here = values[weights > 0.0]
    mean = WeightedMean(weights, Ranks())
    assert mean(values).item() == pytest.approx(here.mean().item(), rel=1e-5)
    assert mean.variance(values).item() == pytest.approx(here.var(unbiased=False).item(), rel=1e-5)
    standard = mean.standardize(values)[weights > 0.0]
    torch.testing.assert_close(standard, (here - here.mean()) / here.std(unbiased=False), rtol=1e-4, atol=1e-5)


def test_standardized_numbers_have_mean_0_and_spread_1() -> None:
    standard = WeightedMean(None, Ranks()).standardize(5.0 + 3.0 * torch.randn(1000))
    assert standard.mean().item() == pytest.approx(0.0, abs=1e-5) and standard.std(
        unbiased=False
    ).item() == pytest.approx(1.0, rel=1e-4)


def test_where_nobody_is_left_the_mean_is_0() -> None:
    mean = WeightedMean(torch.zeros(4), Ranks())
    assert mean(torch.ones(4)).item() == 0.0
    assert mean.standardize(torch.ones(4)).isfinite().all()


def test_equal_numbers_stay_finite() -> None:
    assert WeightedMean(None, Ranks()).standardize(torch.full((4,), 2.0)).tolist() == [0.0] * 4


def test_gradients_pass() -> None:
    values = torch.ones(4, requires_grad=True)
    WeightedMean(torch.tensor([1.0, 0.0, 1.0, 0.0]), Ranks())(values).backward()
    assert values.grad.tolist() == [0.5, 0.0, 0.5, 0.0]
