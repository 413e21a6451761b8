"""Presets of Atari trainings: game, target score, algorithm and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Preset:
    """World, target score, algorithm and overrides of the game's defaults."""

    game: str
    target: float
    algo: str
    changes: dict[str, Any]


PONG, BREAKOUT = ("Pong-v5", 18.0), ("Breakout-v5", 300.0)
OFTEN = {"batches": 16, "steps_per_update": 1}
"""An optimizer step after every step of all consoles, on a 16th of them: the most updates per game."""
PRESETS = {
    "pong-vtrace": Preset(
        *PONG, "vtrace", {**OFTEN, "num_envs": 1024, "learning_rate": 7e-4, "total_steps": 20_000_000}
    ),
    "pong-vtrace-wide": Preset(
        *PONG, "vtrace", {**OFTEN, "num_envs": 2048, "learning_rate": 1e-3, "total_steps": 30_000_000}
    ),
    # Minibatches of 4,096: the smallest that keep a large GPU busy.
    "pong-ppo": Preset(
        *PONG,
        "ppo",
        {
            "num_envs": 1024,
            "num_steps": 32,
            "minibatches": 8,
            "epochs": 3,
            "learning_rate": 1e-3,
            "clip": 0.2,
            "total_steps": 20_000_000,
        },
    ),
    # The update overlaps with the next rollout, which is slower: many optimizer steps cost nothing.
    "pong-ppo-often": Preset(
        *PONG,
        "ppo",
        {
            "num_envs": 2048,
            "num_steps": 32,
            "minibatches": 32,
            "epochs": 3,
            "learning_rate": 5e-4,
            "clip": 0.2,
            "total_steps": 30_000_000,
        },
    ),
    # A step of 4,096 consoles takes as long as one of 512.
    "pong-ppo-wide": Preset(
        *PONG,
        "ppo",
        {
            "num_envs": 4096,
            "num_steps": 32,
            "minibatches": 32,
            "epochs": 3,
            "learning_rate": 7e-4,
            "clip": 0.2,
            "total_steps": 40_000_000,
        },
    ),
    "breakout-ppo": Preset(
        *BREAKOUT,
        "ppo",
        {
            "num_envs": 1024,
            "num_steps": 64,
            "minibatches": 16,
            "epochs": 3,
            "learning_rate": 8e-4,
            "clip": 0.1,
            "total_steps": 60_000_000,
        },
    ),
    "breakout-ppo-wide": Preset(
        *BREAKOUT,
        "ppo",
        {
            "num_envs": 8192,
            "num_steps": 32,
            "minibatches": 32,
            "epochs": 3,
            "learning_rate": 7e-4,
            "clip": 0.1,
            "total_steps": 150_000_000,
        },
    ),
    "breakout-vtrace": Preset(
        *BREAKOUT, "vtrace", {**OFTEN, "num_envs": 2048, "learning_rate": 6e-4, "total_steps": 150_000_000}
    ),
    # The games of the settings that `worldloom train` starts from, as they are.
    "mspacman-ppo": Preset("MsPacman-v5", 1500.0, "ppo", {}),
    "assault-ppo": Preset("Assault-v5", 800.0, "ppo", {}),
    "asterix-ppo": Preset("Asterix-v5", 1000.0, "ppo", {}),
}
Name = Literal[
    "pong-vtrace",
    "pong-vtrace-wide",
    "pong-ppo",
    "pong-ppo-wide",
    "pong-ppo-often",
    "breakout-ppo",
    "breakout-ppo-wide",
    "breakout-vtrace",
    "mspacman-ppo",
    "assault-ppo",
    "asterix-ppo",
]
