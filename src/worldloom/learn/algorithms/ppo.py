"""PPO: proximal policy optimisation, with generalised advantage estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer, explained_variance
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.device.gather import gather
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.advantages import gae
from worldloom.learn.losses.policy_loss_kernels import LossGradients, loss_gradients, loss_weights
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import RolloutBatch, Storage


@dataclass(frozen=True)
class PPOConfig(RolloutConfig):
    """Settings of PPO."""

    lam: float = 0.95
    """How far advantages look ahead: 0 for one step, 1 for the whole episode."""
    epochs: int = 4
    """How often each roll-out is learned from."""
    minibatches: int = 4
    """Into how many parts a roll-out is divided; each makes a step of the optimiser."""
    clip: float = 0.2
    """A change of an action's probability counts up to this factor beside 1."""
    value_clip: float = 0.0
    """A change of a value counts up to this much; 0 for no limit."""
    normalize_advantages: bool = True
    """Bring the advantages of each minibatch to mean 0 and spread 1."""
    target_kl: float = 0.01
    """With the kl schedule: how far the policy should move in an update, in nats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epochs", "minibatches"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if not 0.0 <= self.lam <= 1.0:
            raise InputError(f"lam must lie between 0 and 1, not be {self.lam}")
        for name, least in (("clip", "greater than 0"), ("target_kl", "greater than 0"), ("value_clip", "0 or more")):
            value = getattr(self, name)
            if not (value > 0.0 or (value == 0.0 and name == "value_clip")):
                raise InputError(f"{name} must be {least}, not {value}")
        if self.schedule == "kl" and self.epochs * self.minibatches == 1:
            raise InputError(
                "with one epoch of one minibatch the policy has not moved when its divergence is measured: use more, or another schedule"
            )


class Losses(NamedTuple):
    """The parts of PPO's loss, each one number; ``divergence`` and ``clipped`` are for the eye."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor
    divergence: torch.Tensor
    clipped: torch.Tensor


def ppo_loss(policy: Policy, batch: RolloutBatch, config: PPOConfig, mean: WeightedMean) -> Losses:
    """The clipped objective on a minibatch, whose advantages are taken as they are."""
    parameters, values = batch.evaluate(policy)
    log_probs, entropies = log_prob_entropy(policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()
    bounded = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
    policy_loss = -mean(torch.min(ratio * batch.advantages, bounded * batch.advantages))
    errors = (values - batch.returns).square()
    if config.value_clip > 0.0:
        near = batch.values + (values - batch.values).clamp(-config.value_clip, config.value_clip)
        errors = torch.max(errors, (near - batch.returns).square())
    value_loss = 0.5 * mean(errors)
    entropy = mean(entropies)
    total = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
    with torch.no_grad():
        divergence = mean(ratio - 1.0 - log_ratio)
        clipped = mean((ratio != bounded).float())
    return Losses(total, policy_loss, value_loss, entropy, divergence, clipped)


def ppo_gradients(
    policy: Policy,
    config: PPOConfig,
    kept: Storage,
    places: torch.Tensor,
    advantages: torch.Tensor,
    returns: torch.Tensor,
    parameters: torch.Tensor,
    values: torch.Tensor,
    count: torch.Tensor | None,
) -> LossGradients:
    """The slopes of :func:`ppo_loss` on the steps at ``places`` of a roll-out, with their ``advantages`` and the ``returns`` of all."""
    settings = loss_weights(config.clip, config.value_clip, config.value_weight, config.entropy_weight)
    steps = kept.all_steps(returns, returns)
    return loss_gradients(
        policy.spec.action, settings, steps, places, advantages, parameters, values, policy.log_std, kept.starts, count
    )


class PPO(OnPolicyTrainer):
    """Trains policies with PPO: ``PPO("CartPole-v1", PPOConfig()).learn(1_000_000)``."""

    settings = PPOConfig
    metric_names = (
        "loss/policy",
        "loss/value",
        "loss/entropy",
        "update/kl",
        "update/clip_fraction",
        "update/gradient_norm",
        "update/explained_variance",
    )

    def check(self, learner: Learner) -> None:
        config = _config(learner)
        if _by_rows(learner) and learner.agent_group.rows % config.minibatches:
            rows, parts = learner.agent_group.rows, config.minibatches
            if learner.policy.recurrent:
                problem = f"the {rows} agents of a process, whose policy has a memory, cannot be divided evenly into {parts} minibatches"
            else:
                problem = f"neither the {config.num_steps} steps of a roll-out nor the {rows} agents of a process divide evenly into {parts} minibatches"
            raise InputError(f"{problem}: change minibatches, num_steps or num_envs")

    def minibatch_samples(self, learner: Learner) -> int:
        return super().minibatch_samples(learner) // _config(learner).minibatches

    def update(self, learner: Learner, gathered: Storage) -> None:
        config, kept = _config(learner), gathered
        advantages, returns = gae(kept.rewards, kept.values, kept.dones, config.gamma, config.lam)
        learner.metrics.zero_()
        first = True
        for epoch in range(config.epochs):
            divergence, measured = torch.zeros((), device=learner.device), 0
            for part in self._parts(learner, epoch):
                told = self._step(learner, kept, part, advantages, returns)
                if first:  # nothing has moved yet
                    first = False
                else:
                    divergence += told[3]
                    measured += 1
                learner.metrics[:5] += told
                learner.metrics[5] += learner.optimizer.gradient_norm
            if measured:
                learner.adapt_learning_rate(learner.ranks.mean_(divergence / measured), config.target_kl)
        learner.metrics[:6] /= config.epochs * config.minibatches
        learner.metrics[6].copy_(
            explained_variance(kept.values[:-1], returns, WeightedMean(kept.weights, learner.ranks))
        )
        learner.shuffle.advance(config.epochs)

    def _parts(self, learner: Learner, epoch: int) -> tuple[torch.Tensor, ...]:
        """A roll-out in random parts: places of its steps, spread over the parts row by row; or whole rows, for policies with a memory."""
        config = _config(learner)
        if _by_rows(learner):
            return tuple(learner.shuffle.whole_rows(config.minibatches, epoch))
        return tuple(learner.shuffle.steps(config.num_steps, config.minibatches, epoch))

    def _step(
        self, learner: Learner, kept: Storage, part: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor
    ) -> torch.Tensor:
        """Learn from one part. Returns policy loss, value loss, entropy, divergence and clipped share."""
        if learner.device.type == "cuda" and not _by_rows(learner):
            return self._step_fused(learner, kept, part, advantages, returns)
        config = _config(learner)
        batch = (kept.gather_rows if _by_rows(learner) else kept.gather_steps)(part, advantages, returns)
        mean = WeightedMean(batch.weights, learner.ranks)
        if config.normalize_advantages:
            batch = replace(batch, advantages=mean.standardize(batch.advantages))
        with learner.actor.autocast():
            losses = ppo_loss(learner.policy, batch, config, mean)
        learner.optimizer.step(losses.total)
        return torch.stack(losses[1:]).detach()

    def _step_fused(
        self, learner: Learner, kept: Storage, places: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor
    ) -> torch.Tensor:
        """The same with the loss and its slopes as one kernel."""
        config, policy = _config(learner), learner.policy
        mean = WeightedMean(None if kept.weights is None else kept.weights.flatten()[places], learner.ranks)
        chosen = gather(advantages, places)
        if config.normalize_advantages:
            chosen = mean.standardize(chosen)
        with learner.actor.autocast():
            parameters, values, _ = policy(
                {k: gather(v, places) for k, v in kept.observations.items()}, learner.actor.state
            )
        gradients = ppo_gradients(policy, config, kept, places, chosen, returns, parameters, values, mean.count)
        learner.optimizer.step(*gradients.with_outputs(parameters, values, policy.log_std))
        return gradients.statistics.sum(1)


def _by_rows(learner: Learner) -> bool:
    """Whether minibatches are made of whole rows: for policies with a memory, and where the steps cannot be divided evenly."""
    return learner.policy.recurrent or learner.config.num_steps % _config(learner).minibatches != 0


def _config(learner: Learner) -> PPOConfig:
    assert isinstance(learner.config, PPOConfig)
    return learner.config
