"""Training defaults of HideSeek: PPO, a policy for each team, attention over agents, boxes and ramps."""

from __future__ import annotations

from typing import Any

ID = "HideSeek-v0"

TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 64,
        "num_steps": 48,
        "total_steps": 2_000_000,
        "minibatches": 4,
        "epochs": 2,
        "gamma": 0.998,
        "lam": 0.95,
        "learning_rate": 3e-4,
        "entropy_weight": 0.01,
        "max_gradient_norm": 5.0,
        # Returns of 145 steps, with penalties of 10 per step, are too large for a critic.
        "normalize_rewards": True,
        "policy.network": "attention",
        "policy.attention_size": 64,
        "policy.attention_heads": 4,
        "policy.hidden": (128,),
        "policy.activation": "relu",
        "policy.normalize_observations": True,
    },
}
"""Settings that differ from the algorithm's defaults; ``--policy.memory lstm`` adds a memory."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    (ID, "ppo"): {
        "num_envs": 4096,
        "num_steps": 40,
        "total_steps": 4_000_000_000,
        "minibatches": 8,
    },
}
"""Further settings for a training on a GPU."""
