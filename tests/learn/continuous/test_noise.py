"""Exploration noise: its distribution, its correlation over steps, and its keys."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from worldloom.learn.actions.noise import CorrelatedNoise, NoiseSource, to_uniform

CPU = torch.device("cpu")


def test_numbers_are_standard_normal_and_new_with_every_draw() -> None:
    source = NoiseSource(CPU, seed=3)
    first, second = source.draw(20_000, 6), source.draw(20_000, 6)
    assert int(source.tick) == 2
    for numbers in (first, second):
        assert abs(float(numbers.mean())) < 0.01 and abs(float(numbers.std()) - 1.0) < 0.01
        correlations = np.corrcoef(numbers.numpy().T) - np.eye(6)
        assert np.abs(correlations).max() < 0.04
    assert not torch.equal(first, second)


def test_a_row_draws_the_same_in_any_batch() -> None:
    whole = NoiseSource(CPU, seed=3, stream=2).draw(8, 3)
    part = NoiseSource(CPU, seed=3, first_row=5, stream=2).draw(3, 3)
    assert torch.equal(whole[5:], part)
    assert not torch.equal(whole, NoiseSource(CPU, seed=3, stream=1).draw(8, 3))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_noise_has_variance_one_and_the_given_correlation(correlation: float) -> None:
    noise = CorrelatedNoise(4000, 2, correlation, CPU, seed=1)
    going = torch.ones(4000, dtype=torch.bool)
    steps = [noise.step(going, offset).clone() for offset in range(5)]
    for one, following in pairwise(steps):
        assert abs(float(one.std()) - 1.0) < 0.05
        assert abs(float((one * following).mean()) - correlation) < 0.05
    assert abs(float((steps[0] * steps[4]).mean()) - correlation**4) < 0.05


def test_the_noise_of_a_new_episode_does_not_depend_on_the_last() -> None:
    noise = CorrelatedNoise(4000, 1, 0.99, CPU, seed=1)
    before = noise.step(torch.ones(4000, dtype=torch.bool)).clone()
    after = noise.step(torch.zeros(4000, dtype=torch.bool), offset=1)
    assert abs(float((before * after).mean())) < 0.05


def test_the_distribution_function_makes_it_uniform() -> None:
    uniform = to_uniform(NoiseSource(CPU, seed=2).draw(50_000, 1)).squeeze(1)
    counts = torch.histc(uniform, bins=10, min=-1.0, max=1.0)
    assert float((counts - 5_000).abs().max()) < 400
