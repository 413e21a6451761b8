"""Eight Atari games by three engines behind one interface: worldloom, EnvPool, and Gymnasium's Python environments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from envpool_import import import_envpool

Engine = Literal["worldloom", "worldloom-gpu", "envpool", "gymnasium"]
ENGINES: tuple[Engine, ...] = ("worldloom", "envpool", "gymnasium")


@dataclass(frozen=True)
class Step:
    """What a step returns.

    Attributes:
        observations: Four grey frames, uint8 (num_envs, 4, 84, 84).
        rewards: Signs of the points, (num_envs,).
        dones: Whether a life or a game ended, (num_envs,).
        points: The points, not clipped, (num_envs,).
        game_over: Whether a game ended, (num_envs,).
    """

    observations: np.ndarray
    rewards: np.ndarray
    dones: np.ndarray
    points: np.ndarray
    game_over: np.ndarray


class Games:
    """``num_envs`` games with frame skip 4, up to 30 no-ops, lost lives as ends and clipped rewards."""

    def __init__(self, engine: Engine, game: str, num_envs: int, seed: int) -> None:
        makers: dict[str, Callable[[str, int, int], Any]] = {
            "worldloom": functools.partial(_worldloom, "cpu"),
            "worldloom-gpu": functools.partial(_worldloom, "cuda:0"),
            "envpool": _envpool,
            "gymnasium": _gymnasium,
        }
        self.env = makers[engine](game, num_envs, seed)
        self.num_actions = int(getattr(self.env, "single_action_space", self.env.action_space).n)
        self._read: Callable[[Any, Any, dict[str, Any]], Step] = (
            _read_gymnasium if engine == "gymnasium" else _read_envpool
        )
        self._options = {"seed": seed} if engine == "gymnasium" else {}

    def reset(self) -> np.ndarray:
        """The first observations."""
        return np.asarray(self.env.reset(**self._options)[0])

    def step(self, actions: np.ndarray) -> Step:
        """Step all games with actions, int32 (num_envs,). A game that ended begins anew in its next step."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        return self._read((np.asarray(observations), np.asarray(rewards)), (terminated, truncated), info)

    def close(self) -> None:
        self.env.close()


SHARED = {"episodic_life": True, "reward_clip": True}
"""Settings of EnvPool's games in CleanRL's program."""


def _worldloom(device: str, game: str, num_envs: int, seed: int) -> Any:
    import worldloom.envpool as envpool

    return envpool.make(game, "gymnasium", num_envs=num_envs, seed=seed, device=device, **SHARED)


def _envpool(game: str, num_envs: int, seed: int) -> Any:
    return import_envpool().make(game, env_type="gymnasium", num_envs=num_envs, seed=seed, **SHARED)


def _read_envpool(results: Any, ends: Any, info: dict[str, Any]) -> Step:
    observations, rewards = results
    terminated, truncated = ends
    over = (np.asarray(info["terminated"]) != 0) | truncated
    return Step(observations, rewards, terminated | truncated, np.asarray(info["reward"]), over)


class EpisodicLife(gymnasium.Wrapper):
    """Ends an episode with a life; the next episode continues the game. ``info["game_over"]`` is the game's own end."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.lives, self.over = 0, True

    def step(self, action: Any) -> Any:
        observation, points, terminated, truncated, info = self.env.step(action)
        self.over = bool(terminated or truncated)
        lost = 0 < info["lives"] < self.lives
        self.lives = info["lives"]
        return observation, points, terminated or lost, truncated, {**info, "game_over": self.over}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if not self.over:
            observation, _, _, _, info = self.step(0)
        if self.over:
            observation, info = self.env.reset(seed=seed, options=options)
            self.lives, self.over = info["lives"], False
        return observation, {**info, "game_over": False}


def _make_game(game: str) -> Any:
    import ale_py
    from gymnasium import wrappers

    gymnasium.register_envs(ale_py)
    env: Any = gymnasium.make(f"ALE/{game}", frameskip=1, repeat_action_probability=0.0)
    env = wrappers.AtariPreprocessing(env, noop_max=30, frame_skip=4, screen_size=84)
    return wrappers.FrameStackObservation(EpisodicLife(env), 4)


def _gymnasium(game: str, num_envs: int, seed: int) -> Any:
    from gymnasium.vector import SyncVectorEnv

    return SyncVectorEnv([functools.partial(_make_game, game)] * num_envs)


def _read_gymnasium(results: Any, ends: Any, info: dict[str, Any]) -> Step:
    observations, points = results
    terminated, truncated = ends
    dones = terminated | truncated
    return Step(observations, np.sign(points).astype(np.float32), dones, points, dones & info["game_over"])
