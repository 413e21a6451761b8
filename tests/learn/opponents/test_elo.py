"""Elo arithmetic, the probabilities of past selves, and draws from them."""

from __future__ import annotations

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.opponents.elo import expected_score, rating_change
from worldloom.learn.opponents.sampling import EMPTY, draw_slots, sampling_probabilities, uniforms


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_ratings_change_as_computed_by_hand() -> None:
    # A difference of 400 means odds of 10 to 1: 10 / 11 for the stronger side.
    assert expected_score(number(1400.0), number(1000.0)).item() == pytest.approx(10.0 / 11.0)
    # Three wins and a draw in four games are a mean score of 0.875: 16 (0.875 - 1 / 11).
    change = rating_change(number(1000.0), number(1400.0), number(3.5), number(4.0))
    assert change.item() == pytest.approx(16.0 * (0.875 - 1.0 / 11.0))
    assert rating_change(number(1000.0), number(1400.0), number(0.0), number(0.0)).item() == 0.0


ITERATIONS = torch.tensor([40, 10, 20, EMPTY, 30])
RATINGS = torch.tensor([1000.0, 1400.0, 600.0, 5000.0, 1000.0], dtype=torch.float64)


def test_recency_halves_with_every_half_life() -> None:
    config = OpponentPool(size=5, sampling="recency", half_life=1.0)
    found = sampling_probabilities(config, ITERATIONS, RATINGS, number(1000.0))
    weights = torch.tensor([1.0, 1.0 / 8, 1.0 / 4, 0.0, 1.0 / 2], dtype=torch.float64)
    torch.testing.assert_close(found, weights / weights.sum())


def test_rating_prefers_past_selves_that_win() -> None:
    config = OpponentPool(size=5, sampling="rating", hardness=2.0)
    found = sampling_probabilities(config, ITERATIONS, RATINGS, number(1000.0))
    # The rivals, at 1000, are expected to lose 1/2, 10/11, 1/11 and 1/2 of the games.
    weights = torch.tensor([0.5**2, (10 / 11) ** 2, (1 / 11) ** 2, 0.0, 0.5**2], dtype=torch.float64)
    torch.testing.assert_close(found, weights / weights.sum())


def test_uniform_gives_all_filled_slots_the_same_probability() -> None:
    found = sampling_probabilities(OpponentPool(size=5, sampling="uniform"), ITERATIONS, RATINGS, number(0.0))
    assert found.tolist() == [0.25, 0.25, 0.25, 0.0, 0.25]


def test_draws_follow_the_probabilities() -> None:
    probabilities = torch.tensor([0.5, 0.0, 0.3, 0.2, 0.0], dtype=torch.float64)
    numbers = torch.tensor([value for i in range(200) for value in uniforms(3, 0, i, 100)], dtype=torch.float64)
    counts = torch.bincount(draw_slots(probabilities, numbers), minlength=5) / len(numbers)
    torch.testing.assert_close(counts.double(), probabilities, atol=0.015, rtol=0.0)
    assert counts[1] == 0.0 and counts[4] == 0.0
    edges = torch.tensor([0.0, 0.5, 0.79999, 1.0], dtype=torch.float64)
    assert draw_slots(probabilities, edges).tolist() == [0, 2, 2, 3]


def test_draws_depend_on_seed_pool_and_iteration_only() -> None:
    first = uniforms(1, 0, 5, 3)
    assert first == uniforms(1, 0, 5, 3)
    assert all(first != other for other in (uniforms(2, 0, 5, 3), uniforms(1, 1, 5, 3), uniforms(1, 0, 6, 3)))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"every": 0}, "every of a pool of past selves must be 1 or more"),
        ({"share": 0.0}, "share of a pool of past selves must be above 0"),
        ({"half_life": 0.0}, "half_life of a pool"),
        ({"hardness": -1.0}, "hardness must be 0 or more"),
        ({"sampling": "best"}, "sampling must be one of recency, rating, uniform"),
    ],
)
def test_invalid_pools_are_refused(settings: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        OpponentPool(**settings)
