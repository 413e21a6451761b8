"""Training defaults of Hanabi: PPO by self-play, one policy for all players, with action masks."""

from __future__ import annotations

from typing import Any

SELF_PLAY: dict[str, Any] = {
    "num_envs": 128,
    "num_steps": 64,
    "total_steps": 5_000_000,
    "epochs": 4,
    "minibatches": 8,
    "learning_rate": 7e-4,
    "schedule": "linear",
    "entropy_weight": 0.01,
    "policy.hidden": (256, 256),
    "policy.activation": "relu",
}
SMALL: dict[str, Any] = SELF_PLAY | {
    "num_envs": 256,
    "num_steps": 32,
    "total_steps": 2_000_000,
    "learning_rate": 1e-3,
    # With one life a wrong card costs the whole score: without much exploration players stop after the first cards.
    "entropy_weight": [[0, 0.15], [1_200_000, 0.01]],
    "policy.hidden": (128, 128),
}
TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("Hanabi-v0", "ppo"): SELF_PLAY,
    ("HanabiSmall-v0", "ppo"): SMALL,
    ("HanabiVerySmall-v0", "ppo"): SMALL,
}
"""Settings that differ from the algorithm's defaults, by world and algorithm."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("Hanabi-v0", "ppo"): {
        "num_envs": 4096,
        "num_steps": 64,
        "total_steps": 700_000_000,
        "minibatches": 8,
        "learning_rate": 8e-4,
        # With a constant 0.01 two of three seeds stay below a score of 18.
        "entropy_weight": [[0, 0.05], [150_000_000, 0.01]],
        "policy.hidden": (512, 512),
        "precision": "bf16",
    },
}
"""Further settings for a training on a GPU."""
