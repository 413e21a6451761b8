"""Tag on a grid in NumPy: the rules, written down plainly, for one world or for several beside each other.

Arrays of several worlds have one more axis, the first, and so may the numbers of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOVES = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
"""What the five actions add to (x, y)."""


@dataclass
class Rules:
    taggers: int
    runners: int
    full_observation: bool = True
    grid_length: Any = 10
    episode_length: Any = 100
    wall_hit_penalty: Any = 0.1
    tag_reward_for_tagger: Any = 10.0
    tag_penalty_for_runner: Any = 2.0
    step_cost_for_tagger: Any = 0.01


class TagGrid:
    """A world, or several. Taggers come first, then runners.

    Attributes:
        places: Where everybody is, shape (..., players, 2); (-1, -1) for a runner that has left, from the step after it
            was tagged on.
        active: Which of the runners are in the game, shape (..., runners).
        time: Steps of the episode, shape (...).
        rewards: Of the last step, shape (..., players).
    """

    def __init__(self, rules: Rules, places: np.ndarray) -> None:
        self.rules = rules
        self.places = np.array(places)
        self.active = np.ones((*self.places.shape[:-2], rules.runners), bool)
        self.time = np.zeros(self.places.shape[:-2], int)
        self.rewards = np.zeros(self.places.shape[:-1])

    def start(self, places: np.ndarray, where: Any = True) -> None:
        """Begin an episode with everybody at ``places``; of several worlds, in those ``where`` it is true."""
        where = np.broadcast_to(where, self.time.shape)
        self.places = np.where(where[..., None, None], places, self.places)
        self.active = self.active | where[..., None]
        self.time = np.where(where, 0, self.time)

    def step(self, actions: np.ndarray) -> tuple[Any, Any]:
        """Take one step with an action for everybody, shape (..., players).

        Returns: whether the episode terminated, and whether its time is over.
        """
        rules = self.rules
        playing = np.concatenate([np.ones((*self.time.shape, rules.taggers), bool), self.active], axis=-1)
        wanted = self.places + MOVES[actions]
        moved = np.clip(wanted, 0, np.asarray(rules.grid_length)[..., None, None])
        hits = playing & (moved != wanted).any(axis=-1)
        self.places = np.where(playing[..., None], moved, -1)

        taggers, runners = self.places[..., : rules.taggers, :], self.places[..., rules.taggers :, :]
        tagged = self.active & (runners[..., :, None, :] == taggers[..., None, :, :]).all(axis=-1).any(axis=-1)
        self.active = self.active & ~tagged
        count = tagged.sum(axis=-1, keepdims=True)
        cost, prize, fine, wall = (
            np.asarray(value)[..., None]
            for value in (
                rules.step_cost_for_tagger,
                rules.tag_reward_for_tagger,
                rules.tag_penalty_for_runner,
                rules.wall_hit_penalty,
            )
        )
        for_taggers = np.where(count > 0, prize * count, -cost) * np.ones(rules.taggers)
        for_runners = np.where(self.active & (count == 0), cost, 0.0) - np.where(tagged, fine, 0.0)
        self.rewards = np.concatenate([for_taggers, for_runners], axis=-1) - np.where(hits, wall, 0.0)
        self.time = self.time + 1
        return ~self.active.any(axis=-1), self.time >= rules.episode_length

    def observations(self) -> np.ndarray:
        """What everybody sees, shape (..., players, 4 players + 1) or (..., players, 6)."""
        rules = self.rules
        players = rules.taggers + rules.runners
        length = np.asarray(rules.grid_length)[..., None, None]
        shape = (*self.time.shape, players)
        types = np.broadcast_to(np.repeat([0.0, 1.0], [rules.taggers, rules.runners]), shape)
        time = np.broadcast_to((self.time / rules.episode_length)[..., None, None], (*shape, 1))
        if rules.full_observation:
            scaled = self.places / length
            everyone = np.concatenate([scaled[..., 0], scaled[..., 1], types], axis=-1)
            everyone = np.broadcast_to(everyone[..., None, :], (*shape, 3 * players))
            return np.concatenate([everyone, np.broadcast_to(np.eye(players), (*shape, players)), time], axis=-1)
        return np.concatenate([self.places / length, self.targets() / length, types[..., None], time], axis=-1)

    def targets(self) -> np.ndarray:
        """The place of everybody's nearest opponent, the one with the lowest id of several, shape (..., players, 2).

        A tagger looks for runners in the game. When all are tagged, it looks for those that it still sees, which were
        tagged just now.
        """
        taggers, runners = self.places[..., : self.rules.taggers, :], self.places[..., self.rules.taggers :, :]
        seen = np.where(self.active.any(axis=-1, keepdims=True), self.active, runners[..., 0] >= 0)
        apart = ((taggers[..., :, None, :] - runners[..., None, :, :]) ** 2).sum(axis=-1)  # (..., taggers, runners)
        of_taggers = np.where(seen[..., None, :], apart, np.iinfo(apart.dtype).max).argmin(axis=-1)
        of_runners = apart.argmin(axis=-2)
        return np.concatenate(
            [
                np.take_along_axis(runners, of_taggers[..., None], axis=-2),
                np.take_along_axis(taggers, of_runners[..., None], axis=-2),
            ],
            axis=-2,
        )
