"""The algorithms by name."""

from __future__ import annotations

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.sac import SAC, SACConfig
from worldloom.learn.algorithms.td3 import TD3, TD3Config
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.serialization import config_from_dict, config_to_dict
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.training.trainer import Trainer

__all__ = ["ALGORITHMS", "algorithm", "config_from_dict", "config_to_dict", "register_algorithm"]

ALGORITHMS: dict[str, tuple[type[Trainer], type[TrainConfig]]] = {
    "ppo": (PPO, PPOConfig),
    "a2c": (A2C, A2CConfig),
    "vtrace": (VTrace, VTraceConfig),
    "dqn": (DQN, DQNConfig),
    "sac": (SAC, SACConfig),
    "td3": (TD3, TD3Config),
}
"""Trainer and config class of every algorithm."""


def algorithm(name: str) -> tuple[type[Trainer], type[TrainConfig]]:
    """The trainer and the config class of an algorithm; InputError for an unknown name."""
    if name not in ALGORITHMS:
        raise InputError(f"there is no algorithm {short_repr(name)}: there are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def register_algorithm(name: str, trainer_class: type[Trainer], config_class: type[TrainConfig]) -> None:
    """Make an algorithm known by ``name``, so that :func:`run_training` trains with it and resumes its runs.

    Args:
        name: Its name, as in ``config.json`` of a run.
        trainer_class: The trainer.
        config_class: Its settings: a frozen dataclass derived from those of an algorithm.
    """
    if not name.isidentifier() or ALGORITHMS.get(name, (trainer_class, config_class)) != (trainer_class, config_class):
        raise InputError(f"an algorithm needs a name of its own that is an identifier, such as ppo_rnd, not '{name}'")
    if not issubclass(trainer_class, Trainer) or trainer_class.config_class is not config_class:
        raise InputError(
            f"set config_class = {config_class.__name__} in {trainer_class.__name__}, a subclass of Trainer"
        )
    ALGORITHMS[name] = trainer_class, config_class
