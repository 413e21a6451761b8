"""Elo ratings on the device.

The expected score of a side with rating a against one with rating b is E = 1 / (1 + 10 ** ((b - a) / 400)). Thousands
of episodes may end in one iteration, so an iteration counts as one game whose score s is the mean of theirs (1 for a
win, 0.5 for a draw, 0 for a loss): the first rating changes by K (s - E), the second by the opposite.
"""

from __future__ import annotations

import torch
from torch import Tensor

INITIAL_RATING = 1000.0
"""Rating of every policy at the start of a training."""
K_FACTOR = 16.0
"""Maximum change of a rating by one game, K."""
SCALE = 400.0
"""Difference of ratings at which the stronger side is expected to win ten times as often as the weaker one."""


def expected_score(rating: Tensor, other: Tensor) -> Tensor:
    """Expected score, 0 to 1, of a side with ``rating`` against a side with rating ``other``."""
    return 1.0 / (1.0 + torch.pow(10.0, (other - rating) / SCALE))


def rating_change(rating: Tensor, other: Tensor, score: Tensor, games: Tensor) -> Tensor:
    """The change of ``rating``, and minus that of ``other``: K times the mean score minus the expected one.

    Args:
        rating, other: Ratings of the two sides.
        score: Sum of the scores of the first side.
        games: Number of games; the change is 0 where there were none.
    """
    change = K_FACTOR * (score / games.clamp_min(1.0) - expected_score(rating, other))
    return torch.where(games > 0.0, change, torch.zeros_like(change))
