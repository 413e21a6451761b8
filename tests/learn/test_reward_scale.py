"""A constant factor of the rewards: in training only, after clipping and normalization."""

import pytest
import torch
from worlds import CLOCK

from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig


@pytest.mark.parametrize("settings", [{}, {"clip_rewards": True}])
def test_stored_rewards_are_scaled_and_returns_are_not(settings):
    config = PPOConfig(num_envs=4, num_steps=5, total_steps=40, device="cpu", gamma=0.0, reward_scale=0.25, **settings)
    trainer = PPO(CLOCK, config).learn()
    assert torch.equal(trainer.learners["Ticker"].actor.storage.rewards, torch.full((5, 4), 0.25))
    assert trainer.score == 5.0


def test_the_replay_holds_scaled_rewards():
    config = DQNConfig(num_envs=4, total_steps=40, device="cpu", reward_scale=0.25, learning_starts=10**6)
    trainer = DQN(CLOCK, config).learn()
    replay = trainer.learners["Ticker"].replay
    assert set(replay.rewards[replay.valid].tolist()) == {0.25}
    assert trainer.score == 5.0
