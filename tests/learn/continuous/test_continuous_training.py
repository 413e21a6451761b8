"""SAC and TD3: learning in a small world, metrics, several agents, options, and refused worlds and settings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from continuous_worlds import ALGORITHMS, RANGE, SMALL, Archer, Range, make_trainer, only, place, shoot
from thorough import covering
from worlds import CLOCK, YARD

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn import evaluate, make_actors
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.sac import SAC
from worldloom.learn.algorithms.td3 import TD3
from worldloom.learn.config.continuous_config import SACConfig, TD3Config
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import METRICS, Progress
from worldloom.learn.training.trainer import Trainer

LEARNING: dict[str, Any] = {
    **SMALL,
    "num_envs": 16,
    "total_steps": 3_200,
    "batch_size": 64,
    "learning_starts": 320,
    "updates": 2,
    "replay_capacity": 10_000,
    "gamma": 0.0,
    "learning_rate": 1e-2,
    "policy": PolicyConfig(hidden=(32,), activation="relu"),
}
TWO_ARCHERS = wl.Definition("Archers-test", Range, {Archer: 2}, step=(shoot,), observe=(place,), max_steps=6)


OPTIONS: list[dict[str, Any]] = [
    {"precision": "bf16"},
    {"prioritized": True, "policy_delay": 2, "updates": 1},
    {"policy": PolicyConfig(hidden=(8,), layer_norm=True, normalize_observations=True), "critic_hidden": (12, 9)},
    {"noise_correlation": 0.9, "learning_rate": [(0, 1e-3), (240, 1e-4)], "tau": [(0, 0.1), (240, 0.01)]},
]


class Wheel(wl.Entity):
    """Turns without bounds."""

    turn: wl.Action(wl.Box())
    sight: wl.Observation(1)
    reward: wl.Reward


class Road(wl.World):
    pass


@wl.system
def roll(wheel: Wheel):
    wheel.reward = wheel.turn


ROAD = wl.Definition("Road-test", Road, {Wheel: 1}, step=(roll,), max_steps=4)


class Diary(Callback):
    def __init__(self) -> None:
        self.progress: list[Progress] = []

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.progress.append(progress)


@pytest.mark.parametrize(("name", "atoms"), covering(ALGORITHMS, [21, 0]))
def test_it_learns_to_aim(name: str, atoms: int) -> None:
    """A random policy has a return near -14 in six shots."""
    trainer_class, config = ALGORITHMS[name]
    settings = {**LEARNING, "atoms": atoms, "v_min": -6.0, "v_max": 0.0}
    trainer = trainer_class(RANGE, replace(config, **settings))
    trainer.learn()
    worlds = wl.Simulation(RANGE, 64, "cpu", seed=9)
    result = evaluate(worlds, make_actors(trainer.learners, worlds), 64)
    assert result.mean_return > -1.0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_metric_has_a_value_after_the_first_update(name: str) -> None:
    diary, trainer = Diary(), make_trainer(name)
    trainer.learn(callbacks=[diary])
    assert all(set(p.metrics) <= set(METRICS) for p in diary.progress)
    waiting = [math.isnan(p.metrics["loss/policy"]) for p in diary.progress]
    assert waiting == [True] * 9 + [False] * 51, "40 steps come before the first update"
    assert all(math.isfinite(v) for v in diary.progress[-1].metrics.values())
    assert "it is trained by" in trainer.kernels()["Archer"]


@pytest.mark.parametrize(("name", "changes"), covering(ALGORITHMS, OPTIONS))
def test_options_train(name: str, changes: dict[str, Any]) -> None:
    trainer = make_trainer(name, TWO_ARCHERS, **changes)
    learner = only(trainer)
    before = [learner.optimizer.flat.clone(), learner.critic_optimizer.flat.clone()]
    trainer.learn()
    for old, new in zip(before, (learner.optimizer.flat, learner.critic_optimizer.flat), strict=True):
        assert new.isfinite().all() and not torch.equal(old, new)
    if learner.policy.normalizer is not None:
        assert learner.policy.normalizer.names == ["sight", "wind"]


def test_first_actions_are_uniform_and_later_ones_those_of_the_policy() -> None:
    quiet = {"exploration_noise": 0.0, "exploration_noise_min": 0.0}
    trainer = make_trainer("td3", num_envs=64, learning_starts=64 * 20, replay_capacity=64 * 40, **quiet)
    trainer.learn(64 * 20)
    random = only(trainer).replay.actions[:10].flatten()
    assert random.min() < -0.95 and random.max() > 0.95 and abs(float(random.square().mean()) - 1 / 3) < 0.04
    trainer.learn(64 * 22)
    assert only(trainer).replay.actions[20].abs().max() < 0.5, "the first policy acts near the centre"


def test_worlds_explore_by_different_amounts() -> None:
    trainer = make_trainer("td3", TWO_ARCHERS, exploration_noise=0.7, exploration_noise_min=0.1)
    scale = only(trainer).noise_scale.squeeze(1)
    torch.testing.assert_close(scale, torch.tensor([0.1, 0.3, 0.5, 0.7]).repeat_interleave(2))


@pytest.mark.parametrize(
    ("world", "match"),
    [
        (CLOCK, "the agents of world 'Clock-test' act with choices, and SAC takes real numbers only"),
        (YARD, "act with choices and real numbers, and SAC takes real numbers only"),
        (ROAD, "Wheel.turn of world 'Road-test' has an infinite bound"),
    ],
)
def test_other_actions_are_refused(world: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        SAC(world, SACConfig(**SMALL))


def test_networks_and_pools_are_refused() -> None:
    with pytest.raises(InputError, match="TD3 builds its actor and its critics from the settings of policy"):
        TD3(RANGE, TD3Config(**SMALL), network=torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match="not recurrent, and memory is 'gru'"):
        SAC(RANGE, SACConfig(**{**SMALL, "policy": PolicyConfig(memory="gru")}))
    groups = {"archers": PolicyGroup("Archer[0]", pool=OpponentPool()), "other": PolicyGroup("Archer[1]")}
    with pytest.raises(InputError, match="trained by sac, which has no pools of past selves"):
        SAC(TWO_ARCHERS, SACConfig(**SMALL), policy_groups=groups)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"policy_delay": 0}, "policy_delay must be 1 or more"),
        ({"noise_correlation": 1.0}, "noise_correlation must be at least 0 and less than 1"),
        ({"critic_hidden": (0,)}, "hidden must hold the units"),
        ({"atoms": 1}, "atoms must be 0, or 2 or more"),
        ({"atoms": 5, "v_min": 1.0, "v_max": 1.0}, "v_min must be less than v_max"),
        ({"exploration_noise": -0.1}, "exploration_noise must be 0 or more"),
        ({"target_noise": [(0, 0.1), (9, 0.2)]}, "target_noise cannot change during training"),
        ({"eval_stochastic": True}, "eval_stochastic does not apply to TD3"),
        ({"schedule": "kl"}, "schedule kl does not apply to TD3"),
        ({"tau": 0.0}, "tau must be greater than 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        TD3Config(**settings)


def test_the_temperature_is_positive() -> None:
    with pytest.raises(InputError, match="temperature must be greater than 0"):
        SACConfig(temperature=0.0)
