"""Schedules of numbers in a config: values, text, JSON, and errors."""

import copy
import json
import pickle
from dataclasses import replace

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.vtrace import VTraceConfig
from worldloom.learn.config.piecewise_linear import PiecewiseLinear, config_at, parse_points
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.serialization import config_from_dict, config_to_dict


def test_values_are_linear_between_points_and_constant_outside():
    schedule = PiecewiseLinear((100, 1.0), (200, 3.0), (300, 2.0))
    assert [schedule.at(steps) for steps in (0, 100, 150, 200, 275, 300, 10**12)] == [
        1.0,
        1.0,
        2.0,
        3.0,
        2.25,
        2.0,
        2.0,
    ]
    assert float(schedule) == 1.0


def test_text_and_copies_are_the_same_schedule():
    schedule = parse_points("0:0.01,1e6:0.001")
    assert schedule == PiecewiseLinear((0, 0.01), (1_000_000, 0.001)) != PiecewiseLinear((0, 0.01))
    assert schedule != 0.01 and parse_points(str(schedule)) == schedule
    assert copy.deepcopy(schedule) == pickle.loads(pickle.dumps(schedule)) == schedule
    assert len({schedule, parse_points("0:0.01,1e6:0.001")}) == 1


def test_a_config_with_points_survives_json():
    config = PPOConfig(entropy_weight=[(0, 0.5), (1e6, 0.05)], clip=PiecewiseLinear((0, 0.2), (500, 0.1)))
    assert isinstance(config.entropy_weight, PiecewiseLinear)
    plain = json.loads(json.dumps(config_to_dict(config)))
    assert plain["entropy_weight"] == [[0, 0.5], [1_000_000, 0.05]] and plain["gamma"] == 0.99
    assert config_from_dict(PPOConfig, plain) == config
    current = config_at(config, 250)
    assert (current.clip, current.entropy_weight) == pytest.approx((0.15, 0.5 - 0.45 * 250 / 1e6))
    assert config_at(PPOConfig(), 5) == PPOConfig()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: parse_points("0:1,5"), "points steps:value, such as 0:0.01,1e6:0.001"),
        (lambda: PiecewiseLinear(), "at least one point"),
        (lambda: PiecewiseLinear((0, 1.0), (0, 2.0)), "must increase from point to point"),
        (lambda: PiecewiseLinear((0.5, 1.0)), "a whole number of steps and a finite value"),
        (lambda: PiecewiseLinear((0, float("nan"))), "a whole number of steps and a finite value"),
        (lambda: PPOConfig(gamma=[(0, 0.9), (10, 1.5)]), "invalid at step 10: gamma must lie between 0 and 1"),
        (lambda: PPOConfig(clip=[0.1, 0.2]), r"clip cannot be \[0.1, 0.2\]: a schedule consists of points"),
        (lambda: PPOConfig(num_steps=[(0, 1)]), "num_steps must be a whole number"),
        (lambda: PPOConfig(value_clip=[(0, 0.2), (9, 0.0)]), "the points of value_clip must all be above 0"),
        (lambda: PPOConfig(learning_rate=[(0, 1e-3)], schedule="linear"), "use schedule constant"),
        (lambda: PPOConfig(schedule="kl", max_kl=0.1), "schedule kl and max_kl both react"),
        (lambda: DQNConfig(huber=[(0, 1.0)]), "huber cannot change during training"),
        (lambda: PolicyConfig(initial_std=PiecewiseLinear((0, 1.0))), "initial_std cannot change during training"),
        (lambda: VTraceConfig(rho_clip=[(0, 2.0), (9, 0.5)]), "invalid at step 9: c_clip must be at most rho_clip"),
        (lambda: config_from_dict(PPOConfig, {"clip": [[0]]}), "setting 'clip' cannot be"),
        (lambda: replace(PPOConfig(), reward_scale=0.0), "reward_scale must be greater than 0"),
    ],
)
def test_errors_say_what_is_wrong(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
