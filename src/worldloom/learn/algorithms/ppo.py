"""PPO: proximal policy optimization with generalized advantage estimation (Schulman et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.config.piecewise_linear import PiecewiseLinear
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.config.validation import require_not_negative
from worldloom.learn.device.gather import gather
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.advantages import gae
from worldloom.learn.losses.policy_loss import loss_weights
from worldloom.learn.losses.ppo_loss import LossCoefficients, ppo_gradients, ppo_loss
from worldloom.learn.native.policy_step import PolicyMinibatch
from worldloom.learn.rollout.storage import Storage
from worldloom.learn.training.kl_stopping import KLStopping


@dataclass(frozen=True)
class PPOConfig(RolloutConfig):
    """Settings of PPO."""

    lam: float = 0.95
    """GAE lambda: 0 for one-step advantages, 1 for Monte Carlo returns."""
    epochs: int = 4
    """Epochs: passes over each rollout."""
    minibatches: int = 4
    """Minibatches per epoch; each is one optimizer step."""
    clip: float = 0.2
    """Clip range of the probability ratio: [1 - clip, 1 + clip]."""
    value_clip: float = 0.0
    """Clip range of the value function's change; 0 for no clipping."""
    normalize_advantages: bool = True
    """Standardize the advantages of each minibatch to mean 0 and standard deviation 1."""
    target_kl: float = 0.01
    """Target KL divergence of an update, in nats; used by the kl schedule."""
    max_kl: float = 0.0
    """KL early stopping: skip the remaining optimizer steps of an update once the approximate KL divergence of a
    minibatch exceeds this value, in nats; 0 for no early stopping. 0.02 is usual."""

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
        require_not_negative(self, "max_kl")
        for name in ("value_clip", "max_kl"):
            limit = getattr(self, name)
            if isinstance(limit, PiecewiseLinear) and not all(value > 0.0 for _, value in limit.points):
                raise InputError(f"the points of {name} must all be above 0, which switches it off: {limit}")
        if self.schedule == "kl" and self.max_kl > 0.0:
            raise InputError(
                "schedule kl and max_kl both react to the KL divergence: use one of them, the other at its default"
            )
        if self.schedule == "kl" and self.epochs * self.minibatches == 1:
            raise InputError(
                "with one epoch of one minibatch the KL divergence is measured before the policy changes: "
                "use more epochs or minibatches, or another schedule"
            )


class PPO(OnPolicyTrainer):
    """Trains policies with PPO: ``PPO("CartPole-v1", PPOConfig()).learn(1_000_000)``."""

    config_class = PPOConfig
    independent_updates = True
    metric_names = (
        "loss/policy",
        "loss/value",
        "loss/entropy",
        "update/kl",
        "update/clip_fraction",
        "update/gradient_norm",
        "update/explained_variance",
    )

    def _setup(self) -> None:
        super()._setup()
        self._kl_stopping = {
            name: KLStopping(learner.optimizer, learner.ranks)
            for name, learner in self.learners.items()
            if learner.train and _config(learner).max_kl > 0.0
        }
        """KL early stopping of the policies that have it."""

    def check(self, learner: Learner) -> None:
        config = _config(learner)
        if _by_rows(learner) and learner.agent_group.rows % config.minibatches:
            rows, parts = learner.agent_group.rows, config.minibatches
            if learner.policy.recurrent:
                problem = (
                    f"the {rows} agents of a process, whose policy is recurrent, "
                    f"cannot be divided evenly into {parts} minibatches"
                )
            else:
                problem = (
                    f"neither the {config.num_steps} steps of a rollout nor the {rows} agents of a process "
                    f"divide evenly into {parts} minibatches"
                )
            raise InputError(f"{problem}: change minibatches, num_steps or num_envs")

    def minibatch_samples(self, learner: Learner) -> int:
        return super().minibatch_samples(learner) // _config(learner).minibatches

    def update(self, learner: Learner, gathered: Storage) -> None:
        config = _config(learner)
        gamma, lam = learner.setting("gamma"), learner.setting("lam")
        advantages, returns = gae(gathered.rewards, gathered.values, gathered.dones, gamma, lam)
        mean = WeightedMean(gathered.weights, learner.ranks)
        explained = mean.explained_variance(gathered.values[:-1], returns)
        returns, old_values = learner.normalize_targets(returns, gathered.values[:-1], gathered.weights)
        if learner.value_moments is not None:
            gathered.values[:-1].copy_(old_values)
        native = self._native_minibatch(learner, gathered, advantages, returns)
        learner.metrics.zero_()
        stopping = self._kl_stopping.get(learner.name)
        if stopping is not None:
            stopping.begin()
        first = True
        for epoch in range(config.epochs):
            divergence, measured = torch.zeros((), device=learner.device), 0
            for part in self._parts(learner, epoch):
                if native is None:
                    metrics = self._step(learner, gathered, part, advantages, returns)
                else:
                    metrics = self._step_native(
                        learner, native, gathered.row_indices(part) if _by_rows(learner) else part
                    )
                if metrics is None:
                    break
                if first:  # the policy has not changed yet
                    first = False
                else:
                    divergence += metrics[3]
                    measured += 1
                learner.metrics[:6] += metrics
            if measured:
                learner.adapt_learning_rate(learner.ranks.mean_(divergence / measured), learner.setting("target_kl"))
        if stopping is None:
            learner.metrics[:6] /= config.epochs * config.minibatches
        else:
            learner.metrics[:6] = stopping.mean(learner.metrics[:6])
        learner.metrics[6].copy_(explained)
        learner.shuffle.advance(config.epochs)

    def _parts(self, learner: Learner, epoch: int) -> tuple[torch.Tensor, ...]:
        """A rollout in random minibatches: indices of steps, spread evenly over the rows; or whole rows."""
        config = _config(learner)
        if _by_rows(learner):
            return tuple(learner.shuffle.whole_rows(config.minibatches, epoch))
        return tuple(learner.shuffle.steps(config.num_steps, config.minibatches, epoch))

    def _step(
        self, learner: Learner, storage: Storage, part: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor
    ) -> torch.Tensor | None:
        """One optimizer step.

        Returns:
            Policy loss, value loss, entropy, divergence, clipped fraction and gradient norm, [6]; None where the update
            ended early.
        """
        if learner.device.type == "cuda" and not _by_rows(learner):
            return self._step_fused(learner, storage, part, advantages, returns)
        config = _config(learner)
        batch = (storage.gather_rows if _by_rows(learner) else storage.gather_steps)(part, advantages, returns)
        mean = WeightedMean(batch.weights, learner.ranks)
        if config.normalize_advantages:
            batch = replace(batch, advantages=mean.standardize(batch.advantages))
        with learner.autocast():
            losses = ppo_loss(learner.policy, batch, _coefficients(learner), mean)
        statistics = torch.stack(losses[1:]).detach()
        stopping = self._kl_stopping.get(learner.name)
        if stopping is not None and stopping.check(statistics, learner.setting("max_kl")):
            return None
        learner.optimizer.step(losses.total)
        return self._metrics_of(learner, statistics)

    def _native_minibatch(
        self, learner: Learner, storage: Storage, advantages: torch.Tensor, returns: torch.Tensor
    ) -> PolicyMinibatch | None:
        """Optimizer steps with native kernels; None where PyTorch takes them."""
        if learner.native_step is None:
            return None
        kept_advantages, kept_returns = learner.native_step.targets(storage.rewards)
        batch = storage.all_steps(kept_advantages.copy_(advantages), kept_returns.copy_(returns))
        config, settings = _config(learner), loss_weights(*_coefficients(learner))
        samples = len(batch.returns) // config.minibatches
        may_stop = learner.name in self._kl_stopping
        return learner.native_step.minibatch(
            batch, samples, settings, storage.starts, config.normalize_advantages, separate_step=may_stop
        )

    def _step_native(self, learner: Learner, minibatch: PolicyMinibatch, indices: torch.Tensor) -> torch.Tensor | None:
        """The same as :meth:`_step` with native kernels, on the steps at ``indices`` [B]."""
        statistics = minibatch.gradient(indices)
        stopping = self._kl_stopping.get(learner.name)
        if stopping is not None and stopping.check(statistics, learner.setting("max_kl")):
            return None
        minibatch.take_step()
        return self._metrics_of(learner, statistics)

    def _step_fused(
        self, learner: Learner, storage: Storage, indices: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor
    ) -> torch.Tensor:
        """The same with one kernel for the loss and its gradients."""
        config, policy = _config(learner), learner.policy
        mean = WeightedMean(None if storage.weights is None else storage.weights.flatten()[indices], learner.ranks)
        selected = gather(advantages, indices)
        if config.normalize_advantages:
            selected = mean.standardize(selected)
        with learner.autocast():
            parameters, values, _ = policy(
                {k: gather(v, indices) for k, v in storage.observations.items()}, learner.actor.state
            )
        gradients = ppo_gradients(
            policy, _coefficients(learner), storage, indices, selected, returns, parameters, values, mean.count
        )
        statistics = gradients.statistics.sum(1)
        stopping = self._kl_stopping.get(learner.name)
        if stopping is not None:
            stopping.check(statistics, learner.setting("max_kl"))
        learner.optimizer.step(*gradients.with_outputs(parameters, values, policy.log_std))
        return self._metrics_of(learner, statistics)

    def _metrics_of(self, learner: Learner, statistics: torch.Tensor) -> torch.Tensor:
        """The ``statistics`` [5] of a step and its gradient norm; zeros where the step was skipped."""
        metrics = torch.cat([statistics, learner.optimizer.gradient_norm.view(1)])
        stopping = self._kl_stopping.get(learner.name)
        return metrics if stopping is None else stopping.masked(metrics)


def _by_rows(learner: Learner) -> bool:
    """Whether minibatches consist of whole rows: for recurrent policies, and where the steps do not divide evenly."""
    return learner.policy.recurrent or learner.config.num_steps % _config(learner).minibatches != 0


def _coefficients(learner: Learner) -> LossCoefficients:
    """The current coefficients of the loss."""
    return LossCoefficients(*(learner.setting(name) for name in LossCoefficients._fields))


def _config(learner: Learner) -> PPOConfig:
    assert isinstance(learner.config, PPOConfig)
    return learner.config
