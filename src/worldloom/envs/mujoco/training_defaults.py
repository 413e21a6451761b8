"""Training defaults of Gymnasium's MuJoCo tasks."""

from __future__ import annotations

from typing import Any

from worldloom.envs.robot_defaults import ROBOT_PPO

_RUNNER: dict[str, Any] = {
    "num_envs": 64,
    "total_steps": 1_000_000,
    "num_steps": 64,
    "epochs": 10,
    "minibatches": 16,
    "learning_rate": 1e-3,
    "schedule": "linear",
    "normalize_rewards": True,
    "policy.normalize_observations": True,
}
"""PPO for robots that run along the x axis."""
_NETWORK: dict[str, Any] = {"policy.hidden": (256, 128, 64), "policy.activation": "elu", "policy.shared": True}

TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("InvertedPendulum-v5", "ppo"): {
        "num_envs": 32,
        "total_steps": 150_000,
        "num_steps": 64,
        "epochs": 10,
        "minibatches": 8,
        "gamma": 0.98,
        "lam": 0.9,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "normalize_rewards": True,
        "policy.normalize_observations": True,
    },
    ("Hopper-v5", "ppo"): _RUNNER,
    ("HalfCheetah-v5", "ppo"): _RUNNER,
    ("Ant-v5", "ppo"): _RUNNER | _NETWORK,
    ("Humanoid-v5", "ppo"): _RUNNER | _NETWORK | {"policy.initial_std": 0.5},
}
"""Settings that differ from the algorithm's defaults, by world and algorithm; ``policy.*`` for the network."""

_GPU: dict[str, Any] = ROBOT_PPO | {
    "normalize_rewards": False,
    "num_envs": 4096,
    "num_steps": 16,
    "epochs": 4,
    "minibatches": 2,
    "learning_rate": 3e-4,
}
GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("Ant-v5", "ppo"): _GPU | {"total_steps": 600 * 4096 * 16},
    ("Humanoid-v5", "ppo"): _GPU | {"total_steps": 900 * 4096 * 16},
}
"""Settings that differ on a GPU from those above."""
