"""The algorithms by name."""

from __future__ import annotations

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.serialization import config_from_dict, config_to_dict
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.training.trainer import Trainer

__all__ = ["ALGORITHMS", "algorithm", "config_from_dict", "config_to_dict"]

ALGORITHMS: dict[str, tuple[type[Trainer], type[TrainConfig]]] = {
    "ppo": (PPO, PPOConfig),
    "a2c": (A2C, A2CConfig),
    "vtrace": (VTrace, VTraceConfig),
    "dqn": (DQN, DQNConfig),
}
"""Trainer and config class of every algorithm."""


def algorithm(name: str) -> tuple[type[Trainer], type[TrainConfig]]:
    """The trainer and the config class of an algorithm; InputError for an unknown name."""
    if name not in ALGORITHMS:
        raise InputError(f"there is no algorithm {short_repr(name)}: there are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]
