"""The algorithms by name, and their settings as plain data and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.registry import ALGORITHMS, algorithm, config_from_dict, config_to_dict
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.training.trainer import Trainer


def test_every_algorithm_has_a_trainer_and_settings() -> None:
    assert algorithm("ppo") == (PPO, PPOConfig)
    for trainer, config in ALGORITHMS.values():
        assert issubclass(trainer, Trainer) and issubclass(config, TrainConfig)
    with pytest.raises(InputError, match="no algorithm 'sarsa': there are ppo, a2c"):
        algorithm("sarsa")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_settings_survive_json(name: str) -> None:
    _, kind = algorithm(name)
    config = replace(
        kind(), seed=7, learning_rate=1e-4, policy=PolicyConfig(hidden=(32, 16), normalize_observations=True)
    )
    again = config_from_dict(kind, json.loads(json.dumps(config_to_dict(config))))
    assert again == config and type(again) is kind and again.policy.hidden == (32, 16)


def test_whole_numbers_do_for_real_ones() -> None:
    assert config_from_dict(PPOConfig, {"gamma": 1, "max_gradient_norm": 2}) == PPOConfig(
        gamma=1.0, max_gradient_norm=2.0
    )


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"gama": 0.9}, "no setting 'gama'"),
        ({"policy": {"hiden": [1]}}, "no setting 'policy.hiden'"),
        ({"policy": 3}, "'policy' must be an object with settings"),
        ({"num_envs": 1.5}, "'num_envs' cannot be 1.5"),
        ({"num_envs": True}, "'num_envs' cannot be True"),
        ({"gamma": "high"}, "'gamma' cannot be 'high'"),
        ({"schedule": "cosine"}, "'schedule' cannot be 'cosine'"),
        ({"policy": {"hidden": ["wide"]}}, "'policy.hidden' cannot be"),
        ({"gamma": 1.5}, "gamma must lie between 0 and 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        config_from_dict(PPOConfig, values)
