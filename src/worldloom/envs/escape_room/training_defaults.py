"""Training defaults of Escape Room: PPO, both agents with one feed-forward policy."""

from __future__ import annotations

from typing import Any

ID = "EscapeRoom-v0"

TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 256,
        "num_steps": 40,
        "total_steps": 20_000_000,
        "epochs": 2,
        "minibatches": 4,
        # Cubes are moved long before the next room pays.
        "gamma": 0.998,
        "learning_rate": 3e-4,
        "entropy_weight": 0.01,
        "normalize_values": True,
        "policy.hidden": (256, 256, 256),
        "policy.activation": "relu",
        "policy.layer_norm": True,
    },
}
"""Settings that differ from the algorithm's defaults, by world and algorithm."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 8192,
        "total_steps": 2_000 * 8192 * 40,
    },
}
"""Further settings for a training on a GPU."""
