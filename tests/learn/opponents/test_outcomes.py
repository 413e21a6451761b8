"""Scores of games: draws are recognized although rewards are rounded."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from worldloom.learn.opponents.outcomes import Outcomes


class Side:
    """Agents with given rewards, one per world."""

    may_leave = False

    def __init__(self, worlds: int) -> None:
        self.given = torch.zeros(worlds)

    def rewards(self) -> torch.Tensor:
        return self.given


class Game:
    """One game per world between two sides of one agent each; ``play`` takes the rewards of every step."""

    def __init__(self, margin: float = 0.0) -> None:
        self.sides = {"first": Side(1), "second": Side(1)}
        self.ended = torch.zeros(1, dtype=torch.bool)
        flags = SimpleNamespace(torch=lambda: self.ended)
        simulation = SimpleNamespace(terminated=flags, truncated=flags)
        coefficients = {"first": torch.ones(1, 1), "second": -torch.ones(1, 1)}
        blocks, margins = torch.zeros(1, dtype=torch.int64), torch.tensor([margin])
        self.outcomes = Outcomes(simulation, self.sides, coefficients, blocks, margins)  # type: ignore[arg-type]

    def play(self, first: list[float], second: list[float]) -> float:
        """The score of the first side in one game."""
        self.outcomes.sums.zero_()
        for step, (ours, theirs) in enumerate(zip(first, second, strict=True)):
            self.sides["first"].given, self.sides["second"].given = torch.tensor([ours]), torch.tensor([theirs])
            self.ended.fill_(step == len(first) - 1)
            self.outcomes.record()
        score, games = self.outcomes.sums[0].tolist()
        assert games == 1.0
        return float(score)


@pytest.mark.parametrize(
    ("first", "second", "score"),
    [
        ([0.1, 0.1, 0.1], [0.3, 0.0, 0.0], 0.5),
        ([0.1] * 1_000, [100.0] + [0.0] * 999, 0.5),
        ([1e-4] * 7, [7e-4] + [0.0] * 6, 0.5),
        ([1.0, -1.0] * 500, [0.0] * 999 + [0.001], 0.0),  # a small difference after many rewards is none of rounding
        ([0.1, 0.1, 0.1001], [0.3, 0.0, 0.0], 1.0),
        ([0.0], [0.0], 0.5),
    ],
)
def test_equal_returns_are_draws(first: list[float], second: list[float], score: float) -> None:
    game = Game()
    assert game.play(first, second) == score
    assert game.play(second, first) == 1.0 - score


def test_a_difference_that_equals_the_margin_is_a_draw() -> None:
    game = Game(margin=0.3)
    assert game.play([0.1, 0.1, 0.1], [0.0, 0.0, 0.0]) == 0.5
    assert game.play([0.1, 0.1, 0.11], [0.0, 0.0, 0.0]) == 1.0
