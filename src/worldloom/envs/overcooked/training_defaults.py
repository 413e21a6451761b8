"""Training defaults of Overcooked: self-play with shared parameters and shaped rewards."""

from __future__ import annotations

from typing import Any

from worldloom.envs.overcooked.family import ID

TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 64,
        "num_steps": 128,
        "total_steps": 1_000_000,
        "minibatches": 8,
        "epochs": 4,
        "learning_rate": 2e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
        # Fully connected: faster than convolutions on the CPU, and sufficient for 11 soups per episode.
        "policy.network": "mlp",
        "policy.hidden": (64, 64),
        "policy.activation": "relu",
    },
}
"""Settings that differ from the algorithm's defaults, by world and algorithm; for all layouts."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 1024,
        "num_steps": 64,
        "total_steps": 300 * 1024 * 64,
    },
}
"""Further settings for a training on a GPU."""
