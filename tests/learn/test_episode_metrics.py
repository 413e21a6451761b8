"""Infos that a world declares as metrics: means of their last values in episodes."""

from __future__ import annotations

import math

import pytest

import worldloom as wl
from worldloom.core.base.errors import DefinitionError
from worldloom.learn import PPO, Callback, PPOConfig, Progress
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import evaluate
from worldloom.learn.training.trainer import Trainer


class Climber(wl.Entity):
    climb: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1)
    reward: wl.Reward
    height: wl.Info(int, metric=True)
    breath: wl.Info(float)  # no metric


class Mountain(wl.World):
    climbers_up: wl.Info(float, metric=True)


@wl.system
def ascend(climber: Climber, world: Mountain):
    climber.height += climber.id + 1
    climber.reward = 1.0


@wl.system
def count(world: Mountain):
    world.climbers_up = 0.0
    for climber in world.all(Climber):
        if climber.height >= 6:
            world.climbers_up += 1.0


MOUNTAIN = wl.register(
    "MetricMountain-v0", world=Mountain, entities={Climber: 3}, step=[ascend, count], max_steps=4, doc="A mountain."
)


class Collect(Callback):
    def __init__(self) -> None:
        self.metrics: list[dict[str, float]] = []

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.metrics.append(progress.metrics)


def test_evaluations_report_the_last_values_of_episodes() -> None:
    config = PPOConfig(num_envs=4, num_steps=8, total_steps=64, device="cpu", eval_every=32, eval_episodes=4)
    seen = Collect()
    trainer = PPO("MetricMountain-v0", config)
    trainer.learn(callbacks=seen)
    # After 4 steps the heights are 4, 8 and 12.
    assert seen.metrics[-1]["eval/height"] == 8.0 and seen.metrics[-1]["eval/climbers_up"] == 2.0
    assert "eval/breath" not in seen.metrics[-1]


def test_trainings_report_them_for_their_own_episodes() -> None:
    config = PPOConfig(num_envs=4, num_steps=2, total_steps=32, device="cpu", stagger=False)
    seen = Collect()
    PPO("MetricMountain-v0", config).learn(callbacks=seen)
    heights = [row["episode/height"] for row in seen.metrics]
    assert math.isnan(heights[0]) and heights[1:] == [8.0] * 3  # an episode has 4 steps, an iteration 2
    assert seen.metrics[-1]["episode/climbers_up"] == 2.0
    assert "episode/breath" not in seen.metrics[-1]


def test_the_result_of_an_evaluation_has_them() -> None:
    trainer = PPO("MetricMountain-v0", PPOConfig(num_envs=4, num_steps=8, total_steps=32, device="cpu"))
    with wl.Simulation("MetricMountain-v0", 2, "cpu", seed=0) as worlds:
        policies = {name: learner for name, learner in trainer.learners.items()}
        result = evaluate(worlds, make_actors(policies, worlds, stochastic=False, seed=0), 5)
    assert result.metrics == {"height": 8.0, "climbers_up": 2.0}


def test_a_metric_is_one_number() -> None:
    with pytest.raises(DefinitionError, match="a metric is one number"):
        wl.Info(float, 3, metric=True)
    with pytest.raises(DefinitionError, match="a metric is one number"):
        wl.Info(wl.vec2, metric=True)
