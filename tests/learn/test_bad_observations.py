"""An observation that is not finite is named, and the learning rate is not blamed for it."""

import math

import pytest
import torch
from worlds import CLOCK, FARM

from worldloom.core.simulation import Simulation
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.training.bad_observations import agent_name, find_bad_observation
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.divergence_check import DivergedError, DivergenceCheck

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Spoil(Callback):
    """Makes the observation of world 2 infinite after the second iteration, as a faulty world would."""

    def on_iteration(self, trainer, progress):
        if progress.iteration == 2:
            trainer.simulation["Ticker"]["sight"].torch()[2, 0, 4] = math.inf


@pytest.mark.parametrize(
    ("trainer_class", "config", "step"),
    [
        (PPO, PPOConfig(num_envs=4, num_steps=8, total_steps=320, device="cpu"), 16),
        (VTrace, VTraceConfig(num_envs=4, num_steps=8, steps_per_update=4, total_steps=320, device="cpu"), 8),
    ],
)
def test_world_agent_component_and_step_are_named(trainer_class, config, step):
    worlds = Simulation(CLOCK, 4, "cpu", seed=0, autoreset="same_step", checks=False)
    sentence = rf"'sight\[4\]' of Ticker 0 in world 2 is inf after {step} steps of each world, so .* iteration 3"
    with pytest.raises(DivergedError, match=sentence) as error:
        trainer_class(worlds, config).learn(callbacks=[DivergenceCheck(), Spoil()])
    assert "learning_rate" not in str(error.value) and "earlier checkpoints are kept" in str(error.value)


def test_a_policy_that_diverged_by_itself_is_not_excused():
    trainer = PPO(CLOCK, PPOConfig(num_envs=4, num_steps=8, total_steps=32, device="cpu"))
    assert find_bad_observation(trainer) == ""
    with torch.no_grad():
        next(trainer.learners["Ticker"].policy.parameters()).fill_(math.nan)
    with pytest.raises(DivergedError, match="smaller learning_rate"):
        trainer.learn(callbacks=[DivergenceCheck()])


def test_without_a_rollout_the_worlds_are_searched():
    trainer = DQN(CLOCK, DQNConfig(num_envs=4, total_steps=64, device="cpu"))
    trainer.simulation["Ticker"]["sight"].torch()[1, 0, 0] = math.nan
    expected = "observation 'sight[0]' of Ticker 0 in world 1 is nan after 0 steps of each world"
    assert find_bad_observation(trainer) == expected


def test_agents_of_several_kinds_have_names():
    groups = {"hunters": PolicyGroup("Wolf"), "rest": PolicyGroup("Sheep[1],Sheep[0],Sheep[2],Ram")}
    trainer = PPO(FARM, PPOConfig(num_envs=2, device="cpu"), policy_groups=groups)
    group = trainer.learners["rest"].agent_group
    assert [agent_name(group, index) for index in range(group.agents)] == ["Sheep 1", "Sheep 0", "Sheep 2", "Ram 0"]
