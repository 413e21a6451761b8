"""Training defaults of the COVID-19 economy: A2C as published, and PPO with settings tuned for worldloom."""

from __future__ import annotations

from typing import Any

ECONOMY: dict[str, dict[str, Any]] = {
    "a2c": {
        "num_envs": 60,
        "num_steps": 90,
        "total_steps": 5_000_000,
        "gamma": 0.98,
        "learning_rate": 1e-3,
        "value_weight": 1.0,
        "entropy_weight": 0.05,
        "normalize_rewards": True,
        "policy.normalize_observations": True,
    },
    "ppo": {
        "num_envs": 8,
        "num_steps": 540,
        "total_steps": 200_000,
        "minibatches": 10,
        # Levels affect deaths months later: whole episodes with little bootstrapping.
        "gamma": 0.999,
        "lam": 0.995,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
        "policy.normalize_observations": True,
    },
}
TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (f"CovidEconomy{name}-v0", algorithm): settings
    for name in ("", "Synthetic")
    for algorithm, settings in ECONOMY.items()
}
"""Settings that differ from the algorithm's defaults, by world and algorithm."""

POLICY_SETTINGS: dict[tuple[str, str], dict[str, dict[str, Any]]] = {
    # The planner decides every 90 days, so that its entropy bonus is higher at first, as published with WarpDrive.
    (f"CovidEconomy{name}-v0", "a2c"): {"Planner": {"entropy_weight": [[0, 0.5], [50_000_000, 0.05]]}}
    for name in ("", "Synthetic")
}
"""Settings of single policies, by world, algorithm and policy."""
