"""Schedules, KL early stopping, value normalization and evaluations on a GPU: graphs see what changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig

DEVICE = "cuda:0"
COMMON: dict[str, Any] = {"num_envs": 64, "device": DEVICE, "total_steps": 64 * 16 * 8, "reward_scale": 0.5}
POINTS = {"gamma": [(0, 0.9), (4096, 0.99)], "max_gradient_norm": [(0, 0.5), (4096, 0.1)]}
ON_POLICY = {**POINTS, "entropy_weight": [(0, 0.1), (4096, 0.0)], "value_weight": [(0, 0.5), (4096, 1.0)]}
PPO_CONFIG = PPOConfig(
    **COMMON, **ON_POLICY, num_steps=16, lam=[(0, 0.9), (4096, 0.95)], clip=[(0, 0.3), (4096, 0.1)], max_kl=0.02
)
CASES: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, replace(PPO_CONFIG, normalize_rewards=True, normalize_values=True)),
    "recurrent": (PPO, replace(PPO_CONFIG, policy=PolicyConfig(memory="gru", memory_size=16))),
    "a2c": (A2C, A2CConfig(**COMMON, **ON_POLICY, num_steps=16, normalize_values=True)),
    "vtrace": (VTrace, VTraceConfig(**COMMON, **ON_POLICY, num_steps=16, rho_clip=[(0, 1.5), (4096, 1.0)])),
    "dqn": (
        DQN,
        DQNConfig(
            **COMMON,
            **POINTS,
            learning_starts=640,
            replay_capacity=64 * 40,
            epsilon_start=[(0, 1.0), (4096, 0.1)],
            prioritized=True,
            priority_alpha=[(0, 0.6), (4096, 0.4)],
        ),
    ),
}


def parameters(trainer: Any) -> torch.Tensor:
    (learner,) = trainer.learners.values()
    flat: torch.Tensor = learner.optimizer.flat.cpu().clone()
    return flat


@pytest.mark.parametrize("name", CASES)
def test_graphs_use_the_current_values(name: str) -> None:
    trainer_class, config = CASES[name]
    graphed = parameters(trainer_class("CartPole-v1", config).learn())
    direct = parameters(trainer_class("CartPole-v1", replace(config, graphs=False)).learn())
    torch.testing.assert_close(graphed, direct, rtol=1e-3, atol=1e-4)
    assert torch.isfinite(graphed).all()


def test_a_schedule_that_only_graphs_could_miss() -> None:
    """The learning rate is on the device anyway; the clip range is a kernel's argument."""
    constant = replace(PPO_CONFIG, clip=0.3, max_kl=0.0)
    changing = replace(constant, clip=[(4096, 0.3), (4097, 0.01)])
    assert not torch.equal(
        parameters(PPO("CartPole-v1", constant).learn()), parameters(PPO("CartPole-v1", changing).learn())
    )


def test_skipped_steps_change_nothing() -> None:
    """With a limit that the second minibatch exceeds, an update is one optimizer step."""
    config = replace(PPO_CONFIG, max_kl=1e-12, learning_rate=0.01)
    trainer = PPO("CartPole-v1", config).learn()
    (stopping,) = trainer._kl_stopping.values()
    (learner,) = trainer.learners.values()
    assert float(stopping.steps) == 1.0
    assert float(learner.optimizer._powers[0]) == pytest.approx(0.9**trainer.iteration, rel=1e-6)


def test_evaluations_do_not_disturb_the_training() -> None:
    plain = PPO("CartPole-v1", PPO_CONFIG).learn()
    evaluated = PPO("CartPole-v1", replace(PPO_CONFIG, eval_every=2048, eval_episodes=8)).learn()
    assert torch.equal(parameters(plain), parameters(evaluated))
    assert evaluated.evaluation is not None and evaluated.evaluation.score > 0.0
