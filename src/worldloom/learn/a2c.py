"""A2C: advantage actor-critic with N-step returns; one step of the optimiser per roll-out."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from worldloom.core.errors import InputError
from worldloom.learn.actions import log_prob_entropy
from worldloom.learn.advantages import n_step_returns
from worldloom.learn.config import RolloutConfig
from worldloom.learn.learner import Learner
from worldloom.learn.means import Mean
from worldloom.learn.on_policy import OnPolicy, explained_variance


@dataclass(frozen=True)
class A2CConfig(RolloutConfig):
    """Settings of A2C."""

    num_steps: int = 16
    """Steps that every world takes between two updates."""
    learning_rate: float = 1e-3
    """Step size of the optimiser at the start."""
    n_steps: int = 0
    """Rewards that a return counts before it trusts the value; 0 for all up to the end of the roll-out."""
    normalize_advantages: bool = False
    """Bring the advantages to mean 0 and spread 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "kl":
            raise InputError("A2C moves its policy once per roll-out and has no divergence to follow: use schedule constant or linear")
        if not 0 <= self.n_steps <= self.num_steps:
            raise InputError(f"n_steps must lie between 0 and num_steps ({self.num_steps}), not be {self.n_steps}")


class A2C(OnPolicy):
    """Trains policies with A2C: ``A2C("CartPole-v1", A2CConfig()).learn(1_000_000)``."""

    settings = A2CConfig
    metric_names = ("loss/policy", "loss/value", "loss/entropy", "update/gradient_norm", "update/explained_variance")

    def update(self, learner: Learner) -> None:
        config, kept, policy = learner.config, learner.player.storage, learner.policy
        assert isinstance(config, A2CConfig)
        returns = n_step_returns(kept.rewards, kept.values, kept.dones, config.gamma, config.n_steps or config.num_steps)
        batch = kept.everything(returns - kept.values[:-1], returns)
        mean = Mean(batch.weights, learner.ranks)
        advantages = mean.standardize(batch.advantages) if config.normalize_advantages else batch.advantages
        with learner.player.autocast():
            parameters, values = batch.evaluate(policy)
            log_probs, entropies = log_prob_entropy(policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std)
        policy_loss = -mean(log_probs * advantages)
        value_loss = 0.5 * mean((values - batch.returns).square())
        entropy = mean(entropies)
        learner.optimizer.step(policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy)
        explained = explained_variance(batch.values, batch.returns, mean)
        learner.metrics.copy_(torch.stack([policy_loss, value_loss, entropy, learner.optimizer.gradient_norm, explained]).detach())
