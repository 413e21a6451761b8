"""TD3: a deterministic actor with delayed updates and smoothed targets, learned from a replay buffer.

After Fujimoto et al., 2018. Worlds may explore with different amounts of noise, as in FastTD3 (Seo et al., 2025).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.continuous import CRITIC_METRICS, ContinuousTrainer
from worldloom.learn.algorithms.continuous_learner import ContinuousLearner
from worldloom.learn.config.continuous_config import TD3Config
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.replay_buffer import TransitionBatch

__all__ = ["TD3", "TD3Config", "TD3Learner"]


class TD3Learner(ContinuousLearner):
    """One policy in training with TD3.

    Attributes:
        target_policy: The target actor.
        noise_scale: Standard deviation of each agent's exploration noise, [N, 1].
    """

    config: TD3Config
    own_network = "td3"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.target_policy: Policy = copy.deepcopy(self.policy).requires_grad_(False)
        self.target_policy.normalizer = self.policy.normalizer
        if self.config.compile:
            self.target_policy.network.compile()
        worlds = self.simulation.num_worlds * self.ranks.size
        least, most = self.config.exploration_noise_min, self.config.exploration_noise
        by_world = torch.linspace(least, most, worlds, device=self.device) if worlds > 1 else torch.tensor([most])
        own = by_world[self.simulation.world_offset :][: self.simulation.num_worlds]
        self.noise_scale = own.repeat_interleave(self.agent_group.agents).to(self.device)[:, None]

    def explore(self, parameters: Tensor, noise: Tensor) -> Tensor:
        return torch.clamp(parameters.tanh() + self.noise_scale * noise, -1.0, 1.0)

    def next_actions(self, observations: Mapping[str, Tensor]) -> tuple[Tensor, float]:
        """Actions of the target actor with clipped noise; nothing is subtracted."""
        parameters = self.parameters(self.target_policy, observations)
        bound = self.config.target_noise_clip
        noise = self.noise.draw(*parameters.shape) * self.config.target_noise
        return torch.clamp(parameters.tanh() + torch.clamp(noise, -bound, bound), -1.0, 1.0), 0.0

    def update_actor(self, batch: TransitionBatch, mean: WeightedMean) -> Tensor:
        """One step of the actor on -Q; returns the loss, [1]."""
        with self.autocast():
            actions = self.parameters(self.policy, batch.observations).tanh()
            values = self.value(batch.observations, actions)
        loss = mean(-values)
        self.optimizer.step(loss)
        return loss.detach().view(1)

    def target_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        return [*super().target_pairs(), (self.target_policy.network, self.policy.network)]

    def tensors(self) -> dict[str, Tensor]:
        target = self.target_policy.network.state_dict()
        return super().tensors() | {f"target/actor/{k}": v for k, v in target.items()}


class TD3(ContinuousTrainer[TD3Learner]):
    """Trains policies for continuous actions with TD3: ``TD3("Pendulum-v1", TD3Config()).learn()``.

    An environment that is given must have next-step autoreset. See :class:`PolicyTrainer` for the arguments.
    """

    config: TD3Config
    config_class = TD3Config
    metric_names = (*CRITIC_METRICS, "loss/policy")

    def _make_learner(
        self, name: str, policy_group: PolicyGroup, config: TD3Config, number: int, policies: int
    ) -> TD3Learner:
        own, metrics = self._config_of(policy_group), len(self.metric_names)
        return TD3Learner(name, policy_group, own, self.simulation, number, policies, self.ranks, metrics)
