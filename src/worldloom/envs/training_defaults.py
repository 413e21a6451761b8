"""Training defaults of the classic control and toy text worlds."""

from __future__ import annotations

from typing import Any

_MOUNTAIN_CAR_REPLAY: dict[str, Any] = {
    "num_envs": 32,
    "total_steps": 48_000,
    "learning_starts": 6_400,
    "batch_size": 128,
    "updates": 3,
    # The only reward lies at the end of an episode.
    "n_step": 5,
    "tau": 0.01,
    "learning_rate": 1e-3,
    # The car reaches the goal only where it is pushed in one direction for many steps.
    "noise_correlation": 0.95,
    "policy.hidden": (64, 64),
    "policy.normalize_observations": True,
}
_PENDULUM_REPLAY: dict[str, Any] = {
    "num_envs": 16,
    "total_steps": 20_000,
    "learning_starts": 1_600,
    "batch_size": 128,
    "updates": 4,
    "gamma": 0.95,
    "tau": 0.02,
    "learning_rate": 2e-3,
    "policy.hidden": (64, 64),
}
"""What SAC and TD3 share in a world."""

TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("CartPole-v1", "ppo"): {
        "num_envs": 64,
        "total_steps": 120_000,
        "epochs": 8,
        "gamma": 0.98,
        "lam": 0.9,
        "learning_rate": 3e-3,
        "schedule": "linear",
    },
    ("CartPole-v1", "a2c"): {
        "num_envs": 32,
        "total_steps": 400_000,
        "learning_rate": 3e-3,
        "schedule": "linear",
        "value_weight": 1.0,
        "entropy_weight": 0.01,
        # Returns near 100 saturate a small critic.
        "normalize_rewards": True,
    },
    ("CartPole-v1", "vtrace"): {
        "num_envs": 64,
        "total_steps": 300_000,
        "gamma": 0.98,
        "learning_rate": 3e-3,
        "schedule": "linear",
        "value_weight": 1.0,
        "entropy_weight": 0.01,
        "normalize_rewards": True,
    },
    ("CartPole-v1", "dqn"): {
        # All steps but the last have the same reward, so the signal lies far ahead.
        "n_step": 20,
    },
    ("Acrobot-v1", "ppo"): {
        "num_envs": 64,
        "total_steps": 200_000,
        "epochs": 8,
        "learning_rate": 3e-3,
        "schedule": "linear",
        "policy.normalize_observations": True,
    },
    ("MountainCarContinuous-v0", "ppo"): {
        "num_envs": 64,
        "total_steps": 400_000,
        "num_steps": 64,
        "epochs": 8,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "normalize_rewards": True,
        "policy.normalize_observations": True,
        # High initial exploration: the goal is first reached by chance.
        "policy.initial_std": 2.0,
    },
    ("Pendulum-v1", "ppo"): {
        "num_envs": 64,
        "total_steps": 300_000,
        "num_steps": 64,
        "epochs": 10,
        "minibatches": 8,
        "gamma": 0.95,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "normalize_rewards": True,
        "policy.normalize_observations": True,
        "policy.initial_std": 0.7,
    },
    ("MountainCarContinuous-v0", "sac"): _MOUNTAIN_CAR_REPLAY,
    ("MountainCarContinuous-v0", "td3"): {
        **_MOUNTAIN_CAR_REPLAY,
        "exploration_noise": 0.8,
    },
    ("Pendulum-v1", "sac"): _PENDULUM_REPLAY,
    ("Pendulum-v1", "td3"): {
        **_PENDULUM_REPLAY,
        "total_steps": 24_000,
        "learning_rate": 1e-3,
        "exploration_noise": 0.2,
        "exploration_noise_min": 0.05,
    },
    ("FrozenLake-v1", "ppo"): {
        "num_envs": 64,
        "total_steps": 100_000,
        "gamma": 0.98,
        "learning_rate": 3e-3,
        "entropy_weight": 0.01,
    },
    ("CliffWalking-v1", "ppo"): {
        "num_envs": 64,
        "total_steps": 200_000,
        "epochs": 8,
        "learning_rate": 3e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
    },
    ("MountainCar-v0", "ppo"): {
        "num_envs": 64,
        "total_steps": 800_000,
        "num_steps": 128,
        "epochs": 8,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
        "policy.normalize_observations": True,
    },
    ("Taxi-v3", "ppo"): {
        "num_envs": 64,
        "total_steps": 600_000,
        "epochs": 8,
        "learning_rate": 3e-3,
        "schedule": "linear",
        "entropy_weight": 0.02,
        "normalize_rewards": True,
    },
    ("Catch-v0", "ppo"): {
        "num_envs": 64,
        "total_steps": 100_000,
        "epochs": 8,
        "learning_rate": 3e-3,
        "schedule": "linear",
    },
    ("Blackjack-v1", "ppo"): {
        "num_envs": 64,
        "total_steps": 200_000,
        "epochs": 8,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
    },
}
"""Settings that differ from the algorithm's defaults, by world and algorithm; ``policy.*`` for the network."""

GPU_TRAINING_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("CartPole-v1", "ppo"): {"num_envs": 1024, "total_steps": 40 * 1024 * 32},
    ("Acrobot-v1", "ppo"): {"num_envs": 1024, "total_steps": 120 * 1024 * 32},
    ("MountainCarContinuous-v0", "ppo"): {"num_envs": 1024, "total_steps": 60 * 1024 * 64},
    ("Pendulum-v1", "ppo"): {"num_envs": 1024, "total_steps": 80 * 1024 * 64},
    ("FrozenLake-v1", "ppo"): {"num_envs": 256, "total_steps": 60 * 256 * 32},
    ("CliffWalking-v1", "ppo"): {
        "num_envs": 256,
        "total_steps": 200 * 256 * 32,
        # High entropy at first: the cells beside the cliff must be known before the policy chooses a path.
        "entropy_weight": ((0, 0.1), (1_400_000, 0.0)),
    },
    ("MountainCar-v0", "ppo"): {"num_envs": 1024, "total_steps": 60 * 1024 * 128},
    ("Taxi-v3", "ppo"): {"num_envs": 1024, "total_steps": 100 * 1024 * 32},
    ("Catch-v0", "ppo"): {"num_envs": 1024, "total_steps": 30 * 1024 * 32},
    ("Blackjack-v1", "ppo"): {"num_envs": 1024, "total_steps": 40 * 1024 * 32},
}
"""Settings that differ on a GPU from those above: as many worlds as reach the score soonest by the wall clock."""
