"""Continuous Tag in plain NumPy, in double precision: written from the rules, to be compared with and measured against.

Arrays have one entry per agent, taggers first. Further axes before that are worlds; with none of them it is one world.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SETTINGS: dict[str, float] = {
    "grid_length": 10.0,
    "max_acceleration": 1.0,
    "min_acceleration": -1.0,
    "max_turn": np.pi / 2.0,
    "min_turn": -np.pi / 2.0,
    "max_speed": 1.0,
    "skill_level_tagger": 1.0,
    "skill_level_runner": 1.0,
    "edge_hit_penalty": 0.0,
    "tagging_distance": 0.01,
    "tag_reward_for_tagger": 1.0,
    "tag_penalty_for_runner": -1.0,
    "step_penalty_for_tagger": 0.0,
    "step_reward_for_runner": 0.0,
    "end_of_game_reward_for_runner": 1.0,
    "runner_exits_game_after_tagged": True,
}


class TagContinuous:
    """The game.

    Attributes:
        x, y, speed, direction, acceleration: Shape (..., agents).
        in_game: Likewise, truth values.
        time: Steps of the episode, shape (...).
        margin: How near each decision of the last step was to going the other way, by name: ``edge`` and ``speed`` of
            shape (..., agents), ``tag`` and ``nearest_tagger`` of shape (..., runners), ``nearest`` of shape
            (..., agents).
    """

    def __init__(
        self,
        taggers: int = 1,
        runners: int = 10,
        neighbours: int = 0,
        acceleration_levels: int = 10,
        turn_levels: int = 10,
        episode_length: Any = 100,
        worlds: tuple[int, ...] = (),
        **settings: Any,
    ) -> None:
        """Settings are numbers, or arrays with one value per world."""
        self.taggers, self.agents, self.neighbours = taggers, taggers + runners, neighbours
        self.levels = (acceleration_levels, turn_levels)
        self.episode_length = np.asarray(episode_length)
        self.settings = {name: np.asarray(settings.get(name, value))[..., None] for name, value in SETTINGS.items()}
        assert set(settings) <= set(SETTINGS)
        self.is_tagger = np.arange(self.agents) < taggers
        self.margin: dict[str, Array] = {}
        shape = (*worlds, self.agents)
        self.x, self.y, self.speed, self.direction, self.acceleration = (np.zeros(shape) for _ in range(5))
        self.in_game = np.ones(shape, bool)
        self.time = np.zeros(worlds, int)

    @property
    def runners_left(self) -> Array:
        return self.in_game[..., self.taggers :].sum(axis=-1)

    def reset(self, rng: np.random.Generator) -> Array:
        """A new episode at random places; the observations."""
        side = self.settings["grid_length"]
        self.x, self.y = (side * rng.random(self.x.shape) for _ in range(2))
        self.direction = rng.integers(0, 4, self.x.shape) * np.pi / 2.0
        self.speed, self.acceleration = np.zeros(self.x.shape), np.zeros(self.x.shape)
        self.in_game = np.ones(self.x.shape, bool)
        self.time = np.zeros_like(self.time)
        return self.observe()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Take one step with ``actions`` (..., agents, 2).

        Returns: observations (..., agents, n), rewards (..., agents), terminated (...) and truncated (...).
        """
        self.time = self.time + 1
        edge_hit = self.move(actions)
        observations = self.observe()
        rewards = self.reward(edge_hit)
        return observations, rewards, self.runners_left == 0, self.time == self.episode_length

    def move(self, actions: Array) -> Array:
        """Everyone moves; who ran against the edge, shape (..., agents)."""
        s = self.settings
        fastest = s["max_speed"] * np.where(self.is_tagger, s["skill_level_tagger"], s["skill_level_runner"])
        self.acceleration = self.acceleration + self.chosen(actions[..., 0], self.levels[0], "acceleration")
        self.direction = (
            (self.direction + self.chosen(actions[..., 1], self.levels[1], "turn")) % (2.0 * np.pi) * self.in_game
        )
        wanted = self.speed + self.acceleration
        self.speed = np.clip(wanted, 0.0, fastest) * self.in_game
        self.margin["speed"] = np.where(
            self.in_game & (self.acceleration != 0.0), np.minimum(abs(wanted), abs(wanted - fastest)), np.inf
        )
        self.acceleration = np.where((self.speed <= 0.0) | (self.speed >= fastest), 0.0, self.acceleration)
        x, y = self.x + self.speed * np.cos(self.direction), self.y + self.speed * np.sin(self.direction)
        self.x, self.y = np.clip(x, 0.0, s["grid_length"]), np.clip(y, 0.0, s["grid_length"])
        distances = [abs(v - bound) for v in (x, y) for bound in (0.0, s["grid_length"])]
        self.margin["edge"] = np.where(self.speed > 0.0, np.minimum.reduce(distances), np.inf)
        return (x != self.x) | (y != self.y)

    def chosen(self, choice: Array, levels: int, what: str) -> Array:
        """What choices stand for: nothing, or one of equal steps from the least to the most."""
        low, high = self.settings[f"min_{what}"], self.settings[f"max_{what}"]
        steps = np.linspace(low, high, levels, axis=-1) if levels > 1 else low[..., None]
        table = np.concatenate([np.zeros((*steps.shape[:-1], 1)), steps], axis=-1)
        table = np.broadcast_to(table, (*choice.shape, levels + 1))
        return np.take_along_axis(table, choice[..., None], axis=-1)[..., 0]

    def reward(self, edge_hit: Array) -> Array:
        """Tags, and what they and the step are worth, shape (..., agents)."""
        s = self.settings
        rewards = (
            np.where(self.is_tagger, s["step_penalty_for_tagger"], s["step_reward_for_runner"])
            + edge_hit * s["edge_hit_penalty"]
        )
        rewards = np.where(self.in_game, rewards, 0.0)
        gaps = np.hypot(*(v[..., self.taggers :, None] - v[..., None, : self.taggers] for v in (self.x, self.y)))
        nearest, gap = gaps.argmin(axis=-1), gaps.min(axis=-1)
        reach, here = s["tagging_distance"] * s["grid_length"], self.in_game[..., self.taggers :]
        tagged = here & (gap < reach)
        by_tagger = (tagged[..., None] & (nearest[..., None] == np.arange(self.taggers))).sum(axis=-2)
        rewards[..., : self.taggers] += by_tagger * s["tag_reward_for_tagger"]
        rewards[..., self.taggers :] += tagged * s["tag_penalty_for_runner"]
        here = here & ~(tagged & s["runner_exits_game_after_tagged"].astype(bool))
        self.in_game[..., self.taggers :] = here
        over = self.time == self.episode_length
        rewards[..., self.taggers :] += (here & over[..., None]) * s["end_of_game_reward_for_runner"]
        self.margin["tag"] = np.where(tagged | here, abs(gap - reach), np.inf)
        second = np.partition(gaps, 1, axis=-1)[..., 1] if self.taggers > 1 else np.full(gap.shape, np.inf)
        self.margin["nearest_tagger"] = np.where(tagged, second - gap, np.inf)
        return rewards

    def observe(self) -> Array:
        """What everyone sees, shape (..., agents, 7 * others + 1)."""
        s = self.settings
        scaled = [self.x / (np.sqrt(2.0) * s["grid_length"]), self.y / (np.sqrt(2.0) * s["grid_length"])]
        scaled += [
            self.speed / (s["max_speed"] + 1e-10),
            self.acceleration / (s["max_speed"] + 1e-10),
            self.direction / (2.0 * np.pi),
        ]
        pairs = (*self.x.shape, self.agents)
        features = [v[..., None, :] - v[..., :, None] for v in scaled]
        features += [
            np.broadcast_to(self.is_tagger, pairs).astype(float),
            np.broadcast_to(self.in_game[..., None, :], pairs).astype(float),
        ]
        seen, there = self.seen(), self.in_game[..., :, None]
        blocks = [np.where(seen >= 0, np.take_along_axis(f, np.maximum(seen, 0), axis=-1), 0.0) for f in features]
        blind = range(7) if self.neighbours else range(5)
        blocks = [np.where(there, b, 0.0) if i in blind else b for i, b in enumerate(blocks)]
        time = np.broadcast_to((self.time / self.episode_length)[..., None, None], there.shape) * there
        return np.concatenate([*blocks, time], axis=-1)

    def seen(self) -> Array:
        """The numbers of the agents that each agent sees, shape (..., agents, others); -1 for none."""
        if not self.neighbours:
            others = np.array([[j for j in range(self.agents) if j != i] for i in range(self.agents)])
            return np.broadcast_to(others, (*self.x.shape, self.agents - 1))
        apart = np.hypot(*(v[..., None, :] - v[..., :, None] for v in (self.x, self.y)))
        apart = np.where(self.in_game[..., None, :] & ~np.eye(self.agents, dtype=bool), apart, np.inf)
        order = np.argsort(apart, axis=-1, kind="stable")[..., : self.neighbours + 1]
        sorted_apart = np.take_along_axis(apart, order, axis=-1)
        with np.errstate(invalid="ignore"):  # two who are not there differ by nothing
            steps = np.diff(sorted_apart, axis=-1)
        self.margin["nearest"] = np.where(steps > 0.0, steps, np.inf).min(axis=-1, initial=np.inf)
        found = np.where(np.isfinite(sorted_apart), order, -1)[..., : self.neighbours]
        missing = self.neighbours - found.shape[-1]
        return np.concatenate([found, np.full((*found.shape[:-1], missing), -1)], axis=-1) if missing else found
