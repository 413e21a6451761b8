"""A policy in training by an on-policy algorithm: rollouts, rewards, minibatches and statistics."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.extension import PREFIX as EXTENSIONS
from worldloom.learn.algorithms.extension import ExtensionFactory, NewSteps, make_extensions
from worldloom.learn.algorithms.policy_learner import PolicyLearner
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.device.device_numbers import Number
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.losses.advantages import add_bootstrap_values
from worldloom.learn.native.dense_network import describe_policy
from worldloom.learn.native.inference import Inference
from worldloom.learn.native.policy_step import PolicyStep
from worldloom.learn.networks.memory_check import TRAINING_COPIES, require_memory, require_network, step_bytes
from worldloom.learn.networks.normalization import RewardScaler, RunningMoments
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.minibatches import MinibatchShuffler
from worldloom.learn.rollout.rollout_actor import RolloutActor
from worldloom.learn.rollout.storage import Storage
from worldloom.learn.training.restore_checks import COUNTER_RANGE, OPTIMIZER_RANGES, load_checked

MIN_LEARNING_RATE, MAX_LEARNING_RATE, LEARNING_RATE_FACTOR = 1e-6, 1e-2, 1.5
"""Bounds of the learning rate with the kl schedule, and the factor of one change."""
SHARED_SETTINGS = ("num_steps", "steps_per_update", "total_steps", "overlap")
"""Settings that a policy group cannot have of its own."""
VALUES = "values/"
"""Prefix of the names of the value targets' moments."""


class Learner(PolicyLearner):
    """One policy of an on-policy trainer.

    Args:
        name: The policy's name.
        policy_group: The agents it controls, and how it is trained.
        config: Settings of the trainer, used where the policy group has none.
        simulation: The worlds.
        number: Its index among the policies, which separates their random streams.
        ranks: The processes that train together.
        metrics: How many metrics an update reports.
        extensions: What makes the extensions of the policy, by name.
    """

    policy: Policy
    config: RolloutConfig

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: RolloutConfig,
        simulation: Simulation,
        number: int,
        ranks: Ranks,
        metrics: int,
        extensions: Mapping[str, ExtensionFactory] | None = None,
    ) -> None:
        own = policy_group.config or config
        assert isinstance(own, RolloutConfig)
        own = replace(own, **{name: getattr(config, name) for name in SHARED_SETTINGS if hasattr(config, name)})
        super().__init__(name, policy_group, own, simulation, number, ranks, config.seed, metrics)
        if self.train and not self.optimizer.parameters:
            raise InputError(f"policy '{name}' has no parameters to train: give its policy group train=False")
        rows = self.agent_group.rows
        self.scale = RewardScaler(rows, own.gamma).to(self.device) if own.normalize_rewards else None
        self.value_moments = RunningMoments(()).to(self.device) if own.normalize_values else None
        """Running mean and variance of the value targets; None without value normalization."""
        if self.value_moments is not None and self.saved is not None and self.saved.value_moments:
            saved = {f"{VALUES}{key}": tensor for key, tensor in self.saved.value_moments.items()}
            load_checked(f"policy '{self.saved.name}' of {self.saved.source}", self._value_tensors(), saved, {})
        self._rollout_moments = self.value_moments
        """Those that the acting policy's critic was trained with."""
        self.actor = RolloutActor(
            self.agent_group,
            self.policy,
            own.num_steps,
            config.seed,
            own,
            first_row=self.first_row,
            stream=number,
            weighted=self.pool is not None,
        )
        self.episodes = self.actor.episodes
        self.overlap = self.train and own.overlap
        """Whether a copy of the policy acts while the policy itself is updated."""
        if self.overlap:
            self.actor.policy = copy.deepcopy(self.policy).requires_grad_(False)
            self._rollout_moments = copy.deepcopy(self.value_moments)
        self._set_native()
        self._copied = self.actor.storage.empty_like() if self.overlap and not self.actor.storage.sliding else None
        self.shuffle = MinibatchShuffler(rows, self.device, config.seed, self.first_row)
        self.extensions = make_extensions(extensions or {}, self, config.seed + number) if self.train else {}
        """Parts that users added, by name; none for a policy that is not trained."""

    def _set_native(self) -> None:
        """Use native kernels for the rollout and the update where the network has them."""
        self.native_step: PolicyStep | None = None
        """Takes optimizer steps with native kernels; None where PyTorch does."""
        network = self.native_network()
        if network is not None:
            self.native_step = PolicyStep(self.policy, network, self.optimizer)
            self.actor.inference = Inference(describe_policy(self.actor.policy) if self.overlap else network)

    def _validate(self, custom_network: bool) -> None:
        """InputError where the network or a rollout cannot fit into memory."""
        spec, config, rows = self.agent_group.spec, self.config, self.agent_group.rows
        if not custom_network:
            require_network(self.name, spec, config.policy, self.device, TRAINING_COPIES, critic=True)
        state_size = 0 if config.policy.memory == "none" else config.policy.memory_size
        require_memory(
            f"a rollout of {config.num_steps:,} steps of {rows:,} agents",
            rows * config.num_steps * step_bytes(spec, state_size),
            self.device,
            "make num_steps or num_envs smaller",
        )

    def _build_network(self, network: nn.Module | None) -> Policy:
        return Policy(self.agent_group.spec, self.config.policy, network)

    def adapt_learning_rate(self, divergence: torch.Tensor, target: Number) -> None:
        """Adapt the learning rate to the KL divergence of an update, on the device.

        It is lowered where the divergence is above twice ``target``, and raised where it is below half of it.
        """
        if self.config.schedule == "kl":
            rate = self.optimizer.learning_rate
            changed = torch.where(
                divergence > 2.0 * target,
                rate / LEARNING_RATE_FACTOR,
                torch.where(divergence < 0.5 * target, rate * LEARNING_RATE_FACTOR, rate),
            )
            rate.copy_(changed.clamp(MIN_LEARNING_RATE, MAX_LEARNING_RATE))

    def apply_extensions(self, new: int) -> None:
        """Let the extensions process the last ``new`` steps. They may change the rewards."""
        storage = self.actor.storage
        for extension in self.extensions.values():
            rewards, weights = storage.rewards[-new:], None if storage.weights is None else storage.weights[-new:]
            steps = NewSteps(storage.newest(new), storage.actions[-new:], rewards, storage.dones[-new:], weights)
            extension.on_rollout(steps)
            if steps.rewards is not rewards:
                rewards.copy_(steps.rewards)

    def finalize_rewards(self, new: int) -> None:
        """Scale the rewards of the last ``new`` steps, and add bootstrap values where episodes were truncated."""
        storage = self.actor.storage
        if self.scale is not None:
            rewards, weights = storage.rewards[-new:], None if storage.weights is None else storage.weights[-new:]
            self.scale.update(rewards, storage.dones[-new:], weights, self.ranks.sum_)
            rewards.copy_(self.scale.scale(rewards))
        if "reward_scale" in self.schedules or self.config.reward_scale != 1.0:
            storage.rewards[-new:] *= self.setting("reward_scale")
        if storage.truncations is not None:
            previous = torch.nan_to_num(storage.values[-new - 1 : -1], 0.0, 0.0, 0.0)
            storage.rewards[-new:] += self.setting("gamma") * previous * storage.truncations[-new:]
        if storage.finals:
            add_bootstrap_values(storage.rewards, storage.final_steps, storage.final_values, self.setting("gamma"))

    def summarize(self) -> None:
        super().summarize()
        start = 4 + len(self.metrics)
        for extension in self.extensions.values():
            end = start + len(extension.metrics)
            self.summary[start:end].copy_(self.ranks.mean_(extension.metrics.clone()))
            start = end

    def schedule(self, steps: int, total_steps: int) -> None:
        super().schedule(steps, total_steps)
        if self.scale is not None:
            self.scale.gamma = self.setting("gamma")

    # -- value normalization -----------------------------------------------------------------------------------------

    def denormalized(self, values: torch.Tensor) -> torch.Tensor:
        """Values as the trained critic predicts them, in units of the returns."""
        return values if self.value_moments is None else self.value_moments.destandardize(values)

    @torch.no_grad()
    def denormalize_rollout(self, new: int, valued: bool) -> None:
        """Convert the values of a rollout to units of the returns, with the statistics at its start.

        Args:
            new: The number of its steps: the last ones of the storage.
            valued: Whether there is a value of the observation after the last step.
        """
        storage, moments = self.actor.storage, self._rollout_moments
        if moments is not None:
            predicted = storage.values[-new - 1 : None if valued else -1]
            predicted.copy_(moments.destandardize(predicted))
            storage.final_values.copy_(moments.destandardize(storage.final_values))

    def normalize_targets(
        self, returns: torch.Tensor, values: torch.Tensor, weights: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add ``returns`` to the statistics, and normalize returns and values by them.

        They are not clipped, as in PopArt (van Hasselt et al., 2016): a clipped target would bias the critic.

        Args:
            returns: Value targets of a rollout, [T, N].
            values: Values predicted during the rollout, in units of the returns, [T, N].
            weights: 1 where an agent was active, else 0; None where all always are.

        Returns:
            Both as the critic should predict them. Without value normalization they are returned unchanged.
        """
        moments = self.value_moments
        if moments is None:
            return returns, values
        moments.update(returns, weights, self.ranks.sum_)
        return moments.standardize(returns), moments.standardize(values)

    def training_storage(self) -> Storage:
        """The rollout to learn from: a copy where the next rollout overwrites it during the update."""
        return self.actor.storage if self._copied is None else self._copied.copy_(self.actor.storage)

    def sync_actor_policy(self) -> None:
        """Copy the trained parameters and value statistics to those of the rollout, where the two are separate."""
        if self.overlap:
            _copy_state(self.policy, self.actor.policy)
            if self.value_moments is not None and self._rollout_moments is not None:
                _copy_state(self.value_moments, self._rollout_moments)

    def update_statistics(self, new: int) -> None:
        """Add the last ``new`` steps to the observation statistics, after an update and before the next rollout."""
        storage = self.actor.storage
        if self.policy.normalizer is not None:
            weights = None if storage.weights is None else storage.weights[-new:]
            self.policy.normalizer.update(storage.newest(new), weights, self.ranks.sum_)

    def tensors(self) -> dict[str, torch.Tensor]:
        state = super().tensors()
        state |= {"sampler": self.actor.sampler.tick, "shuffle": self.shuffle.tick, "rows/state": self.actor.state}
        if self.scale is not None:
            state |= {f"scale/{k}" if v.ndim == 0 else f"rows/scale/{k}": v for k, v in self.scale.state_dict().items()}
        for name, extension in self.extensions.items():
            state |= {f"{EXTENSIONS}{name}/{key}": tensor for key, tensor in extension.tensors().items()}
        return state | self._value_tensors()

    def _value_tensors(self) -> dict[str, torch.Tensor]:
        """The moments of the value targets, by their names in a checkpoint."""
        moments = {} if self.value_moments is None else self.value_moments.state_dict()
        return {f"{VALUES}{key}": tensor for key, tensor in moments.items()}

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Restore what :meth:`tensors` returned. Missing rows start at 0; InputError where anything else is missing."""
        own = self.tensors()
        load_checked(
            f"policy '{self.name}'",
            own,
            tensors,
            {"sampler": COUNTER_RANGE, "shuffle": COUNTER_RANGE, **OPTIMIZER_RANGES},
            optional=("rows/",),
        )
        for name in own:
            if name.startswith("rows/") and name not in tensors:
                own[name].zero_()
        self.sync_actor_policy()


@torch.no_grad()
def _copy_state(source: nn.Module, target: nn.Module) -> None:
    """Copy parameters and buffers, in place."""
    for own, other in zip(target.state_dict().values(), source.state_dict().values(), strict=True):
        own.copy_(other)
