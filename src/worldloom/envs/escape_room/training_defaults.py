"""Training defaults of Escape Room: PPO, both agents with one feed-forward policy."""

from __future__ import annotations

from typing import Any

ID = "EscapeRoom-v0"

TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 128,
        "num_steps": 40,
        "total_steps": 20_000_000,
        "epochs": 3,
        "minibatches": 4,
        # Cubes are moved long before the next room pays.
        "gamma": 0.998,
        "learning_rate": 5e-4,
        "entropy_weight": 0.01,
        "normalize_values": True,
        # Otherwise all worlds are in the first room at the same time.
        "stagger": True,
        "policy.hidden": (256, 256),
        "policy.activation": "relu",
    },
}
"""Settings that differ from the algorithm's defaults, by world and algorithm."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 8192,
        "total_steps": 3_000 * 8192 * 40,
        "epochs": 2,
        "learning_rate": 3e-4,
        # With three normalized layers agents pass 1.7 rooms where two layers pass 1.0. CPUs lack native kernels for it.
        "policy.hidden": (256, 256, 256),
        "policy.layer_norm": True,
    },
}
"""Further settings for a training on a GPU."""
