"""A2C: advantage actor-critic with n-step returns; one optimizer step per rollout."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.advantages import n_step_returns
from worldloom.learn.losses.policy_loss import loss_gradients, loss_weights
from worldloom.learn.native.policy_step import PolicyStep
from worldloom.learn.rollout.storage import RolloutBatch, Storage

MAX_OP_ELEMENTS = 1 << 29
"""On a GPU: about how many activations of one layer are kept at a time for the backward pass."""


@dataclass(frozen=True)
class A2CConfig(RolloutConfig):
    """Settings of A2C."""

    num_steps: int = 16
    """Rollout length: steps of every world between two updates."""
    learning_rate: float = 1e-3
    """Initial learning rate."""
    n_steps: int = 0
    """Number of rewards n of an n-step return; 0 for all up to the end of the rollout."""
    normalize_advantages: bool = False
    """Standardize the advantages to mean 0 and standard deviation 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "kl":
            raise InputError(
                "A2C takes one optimizer step per rollout, so schedule kl has no KL divergence to follow: "
                "use schedule constant or linear"
            )
        if not 0 <= self.n_steps <= self.num_steps:
            raise InputError(f"n_steps must lie between 0 and num_steps ({self.num_steps}), not be {self.n_steps}")


class A2C(OnPolicyTrainer):
    """Trains policies with A2C: ``A2C("CartPole-v1", A2CConfig()).learn(1_000_000)``."""

    config_class = A2CConfig
    independent_updates = True
    metric_names = ("loss/policy", "loss/value", "loss/entropy", "update/gradient_norm", "update/explained_variance")

    def update(self, learner: Learner, gathered: Storage) -> None:
        config, policy = learner.config, learner.policy
        assert isinstance(config, A2CConfig)
        if learner.native_step is not None:
            self._update_native(learner, learner.native_step, gathered)
            return
        predicted = gathered.values
        returns = n_step_returns(
            gathered.rewards,
            predicted,
            gathered.dones,
            learner.setting("gamma"),
            config.n_steps or config.num_steps,
        )
        targets, _ = learner.normalize_targets(returns, predicted[:-1], gathered.weights)
        batch = gathered.all_steps(returns - predicted[:-1], targets)
        mean = WeightedMean(batch.weights, learner.ranks)
        if config.normalize_advantages:
            batch = replace(batch, advantages=mean.standardize(batch.advantages))
        in_parts = learner.device.type == "cuda" and not policy.recurrent
        losses = self._step_in_parts(learner, batch, mean) if in_parts else self._step(learner, batch, mean)
        shape = batch.returns.shape
        explained = mean.explained_variance(predicted[:-1].reshape(shape), returns.reshape(shape))
        learner.metrics.copy_(torch.cat([losses, torch.stack([learner.optimizer.gradient_norm, explained])]))

    def _update_native(self, learner: Learner, step: PolicyStep, gathered: Storage) -> None:
        """The same with native kernels."""
        config = learner.config
        assert isinstance(config, A2CConfig)
        advantages, returns = step.targets(gathered.rewards)
        predicted = gathered.values
        window = (gathered.rewards, predicted, gathered.dones)
        n_step_returns(*window, config.gamma, config.n_steps or config.num_steps, returns=returns)
        torch.sub(returns, predicted[:-1], out=advantages)
        mean = WeightedMean(gathered.weights, learner.ranks)
        explained = mean.explained_variance(predicted[:-1], returns)
        returns.copy_(learner.normalize_targets(returns, predicted[:-1], gathered.weights)[0])
        settings = loss_weights(0.0, 0.0, config.value_weight, config.entropy_weight)
        batch, samples = gathered.all_steps(advantages, returns), returns.numel()
        minibatch = step.minibatch(batch, samples, settings, gathered.starts, config.normalize_advantages)
        learner.metrics[:3].copy_(minibatch.step(step.all_indices(samples))[:3])
        learner.metrics[3].copy_(learner.optimizer.gradient_norm)
        learner.metrics[4].copy_(explained)

    def _step(self, learner: Learner, batch: RolloutBatch, mean: WeightedMean) -> torch.Tensor:
        """One optimizer step. Returns policy loss, value loss and entropy."""
        policy = learner.policy
        with learner.autocast():
            parameters, values = batch.evaluate(policy)
            log_probs, entropies = log_prob_entropy(
                policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std
            )
        policy_loss = -mean(log_probs * batch.advantages)
        value_loss = 0.5 * mean((values - batch.returns).square())
        entropy = mean(entropies)
        value_weight, entropy_weight = learner.setting("value_weight"), learner.setting("entropy_weight")
        learner.optimizer.step(policy_loss + value_weight * value_loss - entropy_weight * entropy)
        return torch.stack([policy_loss, value_loss, entropy]).detach()

    def _step_in_parts(self, learner: Learner, batch: RolloutBatch, mean: WeightedMean) -> torch.Tensor:
        """The same with one kernel for the loss and its gradients, in parts whose activations fit into memory."""
        policy, optimizer = learner.policy, learner.optimizer
        weights = loss_weights(
            0.0, 0.0, learner.setting("value_weight"), learner.setting("entropy_weight"), learner.device
        )
        samples = len(batch.values)
        count = mean.count if mean.count is not None else torch.full((), float(samples), device=learner.device)
        part_size = max(1, MAX_OP_ELEMENTS // policy.width)
        losses = torch.zeros(3, device=learner.device)
        optimizer.gradient.zero_()
        for start in range(0, samples, part_size):
            part = batch.part(start, start + part_size)
            with learner.autocast():
                parameters, values = part.evaluate(policy)
            indices = torch.arange(len(values), device=learner.device)
            gradients = loss_gradients(
                policy.spec.action,
                weights,
                part,
                indices,
                part.advantages,
                parameters,
                values,
                policy.log_std,
                learner.actor.storage.starts,
                count,
            )
            optimizer.add(*gradients.with_outputs(parameters, values, policy.log_std))
            losses += gradients.statistics[:3].sum(1)
        optimizer.go()
        return losses
