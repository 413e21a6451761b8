"""SAC: a stochastic actor that maximizes value and entropy, learned from a replay buffer (Haarnoja et al., 2018)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from worldloom.learn.actions.gaussian import clamp_log_std, squashed_sample
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.continuous import CRITIC_METRICS, ContinuousTrainer
from worldloom.learn.algorithms.continuous_learner import ContinuousLearner
from worldloom.learn.config.continuous_config import SACConfig
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.rollout.replay_buffer import TransitionBatch
from worldloom.learn.training.optimizer import FlatAdam
from worldloom.learn.training.restore_checks import OPTIMIZER_RANGES, Ranges

__all__ = ["SAC", "SACConfig", "SACLearner"]


class SACLearner(ContinuousLearner):
    """One policy in training with SAC.

    Attributes:
        log_temperature: Logarithm of the entropy temperature alpha, [1].
        target_entropy: Target of the policy's entropy, in nats.
    """

    config: SACConfig
    own_network = "sac"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        config = self.config
        self.log_temperature = nn.Parameter(torch.zeros(1, device=self.device))
        self._set_temperature()
        self.target_entropy = config.target_entropy * self.agent_group.spec.action.numbers
        self.temperature_optimizer = FlatAdam([self.log_temperature], config.learning_rate, ranks=self.ranks)

    @torch.no_grad()
    def _set_temperature(self) -> None:
        self.log_temperature.fill_(math.log(self.config.temperature))

    def schedule(self, steps: int, total_steps: int) -> None:
        super().schedule(steps, total_steps)
        self.temperature_optimizer.learning_rate.copy_(self.optimizer.learning_rate)

    def explore(self, parameters: Tensor, noise: Tensor) -> Tensor:
        return self._sample(parameters, noise)[0]

    def _sample(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions [B, numbers] and their log-probabilities [B]."""
        means, log_std = parameters.chunk(2, dim=-1)
        return squashed_sample(means, clamp_log_std(log_std), noise)

    def _sample_policy(self, observations: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        parameters = self.parameters(self.policy, observations)
        return self._sample(parameters, self.noise.draw(len(parameters), self.agent_group.spec.action.numbers))

    def next_actions(self, observations: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Sampled actions, and alpha times their log-probability."""
        actions, log_prob = self._sample_policy(observations)
        return actions, self.log_temperature.exp() * log_prob

    def update_actor(self, batch: TransitionBatch, mean: WeightedMean) -> Tensor:
        """One step of the actor on alpha log pi - Q, and of the temperature; returns loss, entropy and alpha, [3]."""
        temperature = self.log_temperature.detach().exp()
        with self.autocast():
            actions, log_prob = self._sample_policy(batch.observations)
            values = self.value(batch.observations, actions)
        loss = mean(temperature * log_prob - values)
        self.optimizer.step(loss)
        if self.config.auto_temperature:
            excess = mean(-log_prob.detach() - self.target_entropy)
            self.temperature_optimizer.step(self.log_temperature * excess)
        return torch.stack([loss, mean(-log_prob), self.log_temperature.exp().squeeze(0)]).detach()

    def tensors(self) -> dict[str, Tensor]:
        state = super().tensors() | {"temperature": self.log_temperature}
        return state | {f"temperature_optimizer/{k}": v for k, v in self.temperature_optimizer.tensors().items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """As in the base class. A temperature that is not adapted stays that of the settings."""
        super().load(tensors)
        if not self.config.auto_temperature:
            self._set_temperature()

    def ranges(self) -> Ranges:
        return {**super().ranges(), **{f"temperature_{name}": bounds for name, bounds in OPTIMIZER_RANGES.items()}}


class SAC(ContinuousTrainer[SACLearner]):
    """Trains policies for continuous actions with SAC: ``SAC("Pendulum-v1", SACConfig()).learn()``.

    An environment that is given must have next-step autoreset. See :class:`PolicyTrainer` for the arguments.
    """

    config: SACConfig
    config_class = SACConfig
    metric_names = (*CRITIC_METRICS, "loss/policy", "loss/entropy", "update/temperature")

    def _make_learner(
        self, name: str, policy_group: PolicyGroup, config: SACConfig, number: int, policies: int
    ) -> SACLearner:
        own, metrics = self._config_of(policy_group), len(self.metric_names)
        return SACLearner(name, policy_group, own, self.simulation, number, policies, self.ranks, metrics)
