"""Training defaults of the locomotion tasks."""

from __future__ import annotations

from typing import Any

from worldloom.envs.robot_defaults import ROBOT_PPO

_ANT: dict[str, Any] = ROBOT_PPO | {
    "num_envs": 64,
    "total_steps": 4_000_000,
    "num_steps": 64,
    "minibatches": 4,
    "policy.hidden": (256, 128, 64),
}
_HUMANOID: dict[str, Any] = ROBOT_PPO | {
    "num_envs": 64,
    "total_steps": 20_000_000,
    "num_steps": 128,
    "epochs": 5,
    "minibatches": 4,
    "learning_rate": 5e-4,
    "policy.hidden": (400, 200, 100),
    "policy.initial_std": 0.5,
}
_FLAGRUN: dict[str, Any] = _HUMANOID | {"num_envs": 16, "policy.hidden": (512, 256, 128)}
_TERRAIN: dict[str, Any] = _HUMANOID | {"policy.network": "two_branch", "policy.hidden": (512, 256, 128)}

_PPO = {
    "LocomotionAnt-v0": _ANT,
    "LocomotionHumanoid-v0": _HUMANOID,
    "FlagrunHarder-v0": _FLAGRUN,
    "FlagrunTerrain-v0": _TERRAIN,
}
TRAINING_DEFAULTS = {(world, "ppo"): settings for world, settings in _PPO.items()}
"""Settings that differ from the algorithm's defaults, by world and algorithm; ``policy.*`` for the network."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("LocomotionAnt-v0", "ppo"): {
        "num_envs": 4096,
        "num_steps": 16,
        "minibatches": 2,
        "total_steps": 900 * 4096 * 16,
    },
    ("LocomotionHumanoid-v0", "ppo"): {"num_envs": 4096, "num_steps": 32, "total_steps": 1500 * 4096 * 32},
    ("FlagrunHarder-v0", "ppo"): {"num_envs": 1024, "num_steps": 32, "total_steps": 6000 * 1024 * 32},
    ("FlagrunTerrain-v0", "ppo"): {"num_envs": 4096, "num_steps": 32, "total_steps": 1500 * 4096 * 32},
}
"""Settings that differ on a GPU from those above."""
