"""Settings that suit a world: what the command line starts from, and shows as defaults, where a world and an algorithm have an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from worldloom.atari.env.family import AtariFamily
from worldloom.atari.training_defaults import atari_defaults
from worldloom.core.base.device import resolve
from worldloom.core.model.families import family_of
from worldloom.learn.config.train_config import TrainConfig

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
        # What is closed today is felt in deaths months later: whole episodes, of which hardly anything is left to guess.
        "gamma": 0.999,
        "lam": 0.995,
        "learning_rate": 1e-3,
        "schedule": "linear",
        "entropy_weight": 0.01,
        "normalize_rewards": True,
        "policy.normalize_observations": True,
    },
}
"""Of the three: A2C as it was published for Tag, and PPO as it learns well here."""

TUNED_SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
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
        # Values of 100 drive a small critic's units into saturation, where it learns nothing more.
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
        # Every step but the last brings the same reward: what tells actions apart lies far ahead.
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
        # Wide at first: the goal is found by chance, with pushes that last.
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
    **{("TagGrid-v0", algorithm): settings for algorithm, settings in GRID_TAG.items()},
    **{("TagGridTraining-v0", algorithm): settings for algorithm, settings in GRID_TAG.items()},
    **{
        (f"TagContinuous{name}-v0", algorithm): settings
        for name in ("", "Training", "Demo")
        for algorithm, settings in CONTINUOUS_TAG.items()
    },
    **{
        (f"CovidEconomy{name}-v0", algorithm): settings
        for name in ("", "Synthetic")
        for algorithm, settings in ECONOMY.items()
    },
}
"""By world and algorithm: settings other than the algorithm's own; those of the network as ``policy.hidden`` and so on."""


SHARED_POLICIES: dict[str, dict[str, str]] = {
    "TagGrid-v0": {"players": "Tagger,Runner"},
    "TagGridTraining-v0": {"players": "Tagger,Runner"},
}
"""By world: who shares a policy, where it is not each kind with one of its own. Players on the grid see of which kind they are."""


def has_tuned_config(world: str, algorithm: str) -> bool:
    """Whether there are settings that suit a world."""
    return (world, algorithm) in TUNED_SETTINGS or isinstance(family_of(world), AtariFamily)


def tuned_config(world: str, algorithm: str, kind: type[TrainConfig], device: str = "auto") -> TrainConfig:
    """The settings to start from: those of ``kind``, changed as suits this world and algorithm.

    Args:
        world: The world's id.
        algorithm: The name of the algorithm.
        kind: The class of its settings.
        device: Where it will train, which matters to Atari's games: cpu, cuda:N, or auto for a GPU where there is one.
    """
    atari = isinstance(family_of(world), AtariFamily)
    values = (
        atari_defaults(world, algorithm, resolve(device)[0].is_cuda)
        if atari
        else TUNED_SETTINGS.get((world, algorithm), {})
    )
    return build_config(kind, values)


def build_config(kind: type[TrainConfig], values: Mapping[str, Any]) -> TrainConfig:
    """Settings of ``kind`` with ``values`` in their places; those of the network as ``policy.hidden`` and so on."""
    plain = {name: value for name, value in values.items() if "." not in name}
    config = kind(**plain)
    of_policy = {name.removeprefix("policy."): value for name, value in values.items() if name.startswith("policy.")}
    return replace(config, policy=replace(config.policy, **of_policy))
