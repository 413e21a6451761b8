"""Training defaults of Tag: A2C as published, and PPO with settings tuned for worldloom."""

from __future__ import annotations

from typing import Any

GRID_TAG: dict[str, dict[str, Any]] = {
    "a2c": {
        "num_envs": 2000,
        "num_steps": 100,
        "total_steps": 20_000_000,
        "gamma": 0.98,
        "learning_rate": 1e-3,
        "value_weight": 1.0,
        "entropy_weight": 0.05,
        "max_gradient_norm": 3.0,
        "policy.hidden": (32, 32),
        "policy.activation": "relu",
    },
    "ppo": {
        "num_envs": 256,
        "total_steps": 5_000_000,
        "gamma": 0.98,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
    },
}
CONTINUOUS_TAG: dict[str, dict[str, Any]] = {
    "a2c": {
        "num_envs": 100,
        "num_steps": 250,
        "total_steps": 5_000_000,
        "gamma": 0.98,
        "learning_rate": 1e-3,
        "value_weight": 1.0,
        "entropy_weight": 0.05,
        "policy.hidden": (256, 256),
        "policy.activation": "relu",
    },
    "ppo": {
        "num_envs": 128,
        "num_steps": 50,
        "total_steps": 5_000_000,
        "minibatches": 5,
        "gamma": 0.98,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
    },
}
TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    **{
        (id, algorithm): settings
        for id in ("TagGrid-v0", "TagGridTraining-v0")
        for algorithm, settings in GRID_TAG.items()
    },
    **{
        (f"TagContinuous{name}-v0", algorithm): settings
        for name in ("", "Training", "Demo")
        for algorithm, settings in CONTINUOUS_TAG.items()
    },
}
"""Settings that differ from the algorithm's defaults, by world and algorithm."""

SHARED_POLICIES: dict[str, dict[str, str]] = {
    "TagGrid-v0": {"players": "Tagger,Runner"},
    "TagGridTraining-v0": {"players": "Tagger,Runner"},
}
"""Kinds that share one policy, by world. Players on the grid observe their kind."""
