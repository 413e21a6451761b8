"""Staggered first episodes, the notice about episodes that outlast the training, and unfinished episodes."""

import numpy as np
import torch
from worlds import CLOCK

from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.episode_starts import longest_episode, stagger_episodes

CONFIG = {"num_envs": 40, "num_steps": 5, "total_steps": 600, "device": "cpu"}


class Counts(Callback):
    """Finished episodes after every iteration."""

    def __init__(self):
        self.counts = []

    def on_iteration(self, trainer, progress):
        self.counts.append(progress.metrics["episode/count"])


def counts(**settings):
    seen = Counts()
    PPO(CLOCK, PPOConfig(**{**CONFIG, "num_steps": 1, "total_steps": 400, **settings})).learn(callbacks=seen)
    return seen.counts


def test_episodes_of_equal_length_end_at_different_steps():
    assert counts() == [0, 0, 0, 0, 40, 40, 40, 40, 40, 80]
    staggered = counts(stagger=True)
    assert all(0 < after - before < 40 for before, after in zip([0, *staggered], staggered, strict=False))
    assert counts(stagger=True) == staggered != counts(stagger=True, seed=1)


def test_steps_are_below_the_limit_of_each_world_and_independent_of_the_processes():
    limits = np.tile([5, 0, 100, 1], 100)
    worlds = Simulation(CLOCK, 400, "cpu", seed=0, config={"max_steps": limits})
    stagger_episodes(worlds, 3, 400)
    steps = worlds.world["step"].numpy().copy()
    assert np.all(steps < np.maximum(limits, 1)) and set(steps[limits == 5]) == {0, 1, 2, 3, 4}
    part = Simulation(CLOCK, 100, "cpu", seed=0, config={"max_steps": limits[100:200]}, world_offset=100)
    stagger_episodes(part, 3, 400)
    assert np.array_equal(part.world["step"].numpy(), steps[100:200])


def test_a_resumed_training_keeps_its_staggered_episodes():
    config = PPOConfig(**CONFIG, stagger=True)
    straight = PPO(CLOCK, config).learn()
    first = PPO(CLOCK, config).learn(200)
    tensors, plain = first.state()
    tensors = {name: torch.as_tensor(tensor).clone() for name, tensor in tensors.items()}
    second = PPO(CLOCK, config)
    second.load_state(tensors, plain)
    second.learn()
    for key, tensor in straight.state()[0].items():
        assert torch.equal(torch.as_tensor(second.state()[0][key]), torch.as_tensor(tensor)), key


def test_a_world_that_outlasts_the_training_is_announced():
    trainer = PPO("NChain-v0", PPOConfig(**CONFIG))
    assert longest_episode(trainer.simulation) == 1000
    sentence = "episodes may last up to 1,000 steps, and the training takes 15 steps in each world"
    assert trainer.notice.startswith(sentence)
    assert "no best checkpoint" in trainer.notice and "evaluate with eval_every" in trainer.notice
    assert "best checkpoint" not in PPO("NChain-v0", PPOConfig(**CONFIG, eval_every=100)).notice
    assert PPO(CLOCK, PPOConfig(**CONFIG)).notice == ""


def test_stagger_without_a_limit_is_announced():
    worlds = Simulation(CLOCK, 40, "cpu", seed=0, config={"max_steps": 0})
    assert "stagger has no effect" in PPO(worlds, PPOConfig(**CONFIG, stagger=True)).notice


def test_unfinished_episodes_are_counted():
    trainer = PPO("NChain-v0", PPOConfig(**CONFIG)).learn()
    unfinished = trainer.unfinished_episodes()
    assert unfinished.episodes == 40 and unfinished.mean_length == 15.0 and unfinished.mean_return > 0.0
    assert PPO(CLOCK, PPOConfig(**CONFIG)).learn().unfinished_episodes().episodes == 0
