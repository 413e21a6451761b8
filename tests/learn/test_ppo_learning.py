"""PPO: worlds with known answers are solved, and modules of the user are trained."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from thorough import sample
from torch import Tensor, nn
from worlds import CORRIDOR

from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig


@pytest.mark.parametrize(("memory", "solved"), sample([("none", False), ("gru", True)], 1))
def test_a_task_that_needs_a_memory_is_solved_with_one_only(memory: str, solved: bool) -> None:
    config = PPOConfig(
        num_envs=64,
        num_steps=16,
        minibatches=4,
        epochs=4,
        learning_rate=3e-3,
        schedule="linear",
        seed=0,
        device="cpu",
        total_steps=64 * 16 * 30,
    )
    config = replace(config, entropy_weight=0.01, policy=PolicyConfig(hidden=(16,), memory=memory, memory_size=16))
    score = PPO(CORRIDOR, config).learn().score
    assert score > 0.9 if solved else score < 0.4


class Odd(nn.Module):
    """A module from outside with layers of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.fixed = nn.Linear(4, 8), nn.Linear(8, 8).requires_grad_(False)
        self.actor, self.critic = nn.Linear(8, 2), nn.Linear(8, 1)

    def forward(self, sight: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.tanh(self.fixed(torch.tanh(self.body(sight))))
        return self.actor(hidden), self.critic(hidden)


def test_a_module_from_outside_is_trained_in_place() -> None:
    module = Odd()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    PPO("CartPole-v1", PPOConfig(num_envs=8, num_steps=8, device="cpu", total_steps=256), network=module).learn()
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]) == name.startswith("fixed"), name
