"""Extensions of algorithms on a GPU, in and outside of CUDA graphs."""

from dataclasses import replace

import torch
from torch import nn

from worldloom.learn.algorithms.extension import Extension
from worldloom.learn.algorithms.ppo import PPO, PPOConfig

CONFIG = PPOConfig(num_envs=256, num_steps=16, device="cuda:0", total_steps=256 * 16 * 6)


class Predictor(Extension):
    """Adds the error of a network that predicts the observation from a half of it."""

    metric_names = ("predictor/error",)

    def __init__(self, learner):
        super().__init__(learner)
        self.network = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def on_rollout(self, steps):
        (seen,) = steps.observations.values()
        errors = (self.network(seen[..., 2:]) - seen[..., :2]).square().mean(-1)
        steps.rewards += errors.detach()
        self.optimizer.step(errors.mean())
        self.metrics[0] = errors.detach().mean()


def trained(config):
    trainer = PPO("CartPole-v1", config, extensions={"predictor": Predictor}).learn()
    return trainer.learners["Cart"].extensions["predictor"].tensors()


def test_captured_and_direct_extensions_agree():
    captured, direct = trained(CONFIG), trained(replace(CONFIG, graphs=False))
    for name, tensor in captured.items():
        torch.testing.assert_close(tensor, direct[name], rtol=1e-3, atol=1e-4)
    assert float(captured["metrics"][0]) > 0.0


def test_extensions_run_beside_the_next_rollout():
    tensors = trained(replace(CONFIG, overlap=True))
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
