"""Training defaults of Atari games: for a GPU with thousands of consoles, for a CPU with a few, and for single games.

Rewards are clipped to their sign, and a lost life ends the bootstrap of returns. Episodes are still whole games, so
that reported returns and those of an evaluation are scores.
"""

from __future__ import annotations

from typing import Any

Values = dict[str, Any]

COMMON: Values = {"clip_rewards": True, "episodic_life": True, "policy.network": "auto"}
GPU: Values = {"precision": "bf16", "schedule": "linear", "total_steps": 20_000_000}
CPU: Values = {"schedule": "linear", "total_steps": 10_000_000}

ON_GPU: dict[str, Values] = {
    "ppo": {
        # A step of 4,096 consoles takes as long as one of 512, and the update overlaps with the next steps.
        "num_envs": 4096,
        "num_steps": 32,
        "minibatches": 32,
        "epochs": 3,
        "learning_rate": 7e-4,
        "clip": 0.1,
        "entropy_weight": 0.01,
        "overlap": True,
        "save_rollout": False,
        "total_steps": 100_000_000,
    },
    "a2c": {
        "num_envs": 1024,
        "num_steps": 8,
        "learning_rate": 1e-3,
        "entropy_weight": 0.01,
        "save_rollout": False,
    },
    "vtrace": {
        # An update on 1,280 samples after every step of all consoles: one batch of all would give too few updates.
        "num_envs": 1024,
        "num_steps": 20,
        "batches": 16,
        "steps_per_update": 1,
        "learning_rate": 6e-4,
        "entropy_weight": 0.01,
        "save_window": False,
    },
    "dqn": {
        "num_envs": 128,
        "replay_capacity": 400_000,
        "batch_size": 512,
        "updates": 2,
        "learning_starts": 40_000,
        "learning_rate": 2.5e-4,
        "tau": 0.01,
        "epsilon_end": 0.01,
        "epsilon_fraction": 0.1,
        "stack": 4,
        "save_replay": False,
        "total_steps": 10_000_000,
    },
}
ON_CPU: dict[str, Values] = {
    "ppo": {
        "num_envs": 16,
        "num_steps": 128,
        "minibatches": 8,
        "epochs": 4,
        "learning_rate": 2.5e-4,
        "clip": 0.1,
        "entropy_weight": 0.01,
    },
    "a2c": {"num_envs": 16, "num_steps": 8, "learning_rate": 7e-4, "entropy_weight": 0.01},
    "vtrace": {
        "num_envs": 16,
        "num_steps": 20,
        "batches": 4,
        "steps_per_update": 5,
        "learning_rate": 6e-4,
        "entropy_weight": 0.01,
        "save_window": False,
    },
    "dqn": {
        "num_envs": 8,
        "replay_capacity": 100_000,
        "batch_size": 64,
        "updates": 1,
        "learning_starts": 10_000,
        "learning_rate": 1e-4,
        "tau": 0.01,
        "epsilon_end": 0.01,
        "epsilon_fraction": 0.1,
        "stack": 4,
        "save_replay": False,
    },
}

GAMES: dict[tuple[str, str], Values] = {
    # All rewards have the same size and a short delay.
    ("Pong", "ppo"): {"clip": 0.2, "total_steps": 40_000_000},
    ("Pong", "a2c"): {"total_steps": 15_000_000},
    ("Pong", "vtrace"): {"learning_rate": 7e-4, "total_steps": 8_000_000},
    ("Pong", "dqn"): {"total_steps": 4_000_000},
    # Episodes get long with skill, and the tunnel is found late.
    ("Breakout", "ppo"): {"total_steps": 150_000_000},
    ("Breakout", "a2c"): {"total_steps": 60_000_000},
    ("Breakout", "vtrace"): {"total_steps": 60_000_000},
    ("MsPacman", "ppo"): {"total_steps": 150_000_000},
    ("Assault", "ppo"): {"total_steps": 150_000_000},
    ("Asterix", "ppo"): {"total_steps": 150_000_000},
}
"""Overrides by game and algorithm, on a GPU."""


def atari_defaults(world: str, algorithm: str, gpu: bool) -> Values:
    """The config values for an Atari id, such as ``Pong-v5`` or ``ALE/Pong-v5:frame_skip=2``."""
    values = {**COMMON, **(GPU if gpu else CPU), **(ON_GPU if gpu else ON_CPU).get(algorithm, {})}
    games = _game_names(world)
    return {**values, **(GAMES.get((games[0], algorithm), {}) if gpu and len(games) == 1 else {})}


def _game_names(world: str) -> list[str]:
    """The names of the games in an id."""
    return [name.removeprefix("ALE/").partition("-v")[0] for name in world.partition(":")[0].split("+")]
