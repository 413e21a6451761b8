"""The common part of learners: one policy in training with its agents, network, optimizer and metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import ClassVar

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.config.piecewise_linear import PiecewiseLinear, config_at, schedules
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.device.device_numbers import Number
from worldloom.learn.device.torch_settings import autocast, seeded_torch
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.native.dense_network import DenseNetwork, UnsupportedNetworkError
from worldloom.learn.native.support import supported_network
from worldloom.learn.networks.custom.module_check import try_module
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics
from worldloom.learn.training.optimizer import FlatAdam


class PolicyLearner(ABC):
    """One policy in training.

    Args:
        name: The policy's name.
        policy_group: The agents it controls, and whether it is trained.
        config: Its settings.
        simulation: The worlds.
        number: Its index among the policies, which separates their random streams.
        ranks: The processes that train together.
        seed: Seed of the network's initial parameters; ``number`` is added to it.
        metrics: How many metrics an update reports.
    """

    policy: Policy | QNetwork
    episodes: EpisodeStatistics
    own_network: ClassVar[str] = ""
    """The algorithm, where no other algorithm has such a network; empty for an actor-critic."""

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: TrainConfig,
        simulation: Simulation,
        number: int,
        ranks: Ranks,
        seed: int,
        metrics: int,
    ) -> None:
        self.pool, self.saved = policy_group.pool, policy_group.saved
        if self.saved is not None:
            config = self.saved.applied_to(config)
        self.name, self.train = name, policy_group.train
        self.schedules = schedules(config)
        """The settings that change during training, by name."""
        self._full_config = config
        self.config = config_at(config, 0)
        """The settings with their current values."""
        self.simulation, self.ranks = simulation, ranks
        agents = parse_agents(policy_group.agents, simulation.definition)
        self.agent_group = AgentGroup(simulation, agents, config.action_masks, config.policy)
        self.device = self.agent_group.device
        self.first_row = simulation.world_offset * self.agent_group.agents
        """Global index of the first row of this process."""
        if self.saved is not None:
            self.saved.check(name, self.agent_group, self.own_network)
        self._device_numbers = {name: torch.zeros((), device=self.device) for name in self.schedules}
        self._validate(policy_group.network is not None)
        with seeded_torch(seed + number):  # networks are initialized from these random numbers only
            self.policy = self._build_network(policy_group.network).to(self.device)
        if policy_group.network is not None:
            with self.autocast():
                try_module(self.policy, policy_group.network, self.agent_group.observations())
        if self.saved is not None:
            self.saved.copy_to(self.policy)
        for tensor in self.policy.state_dict().values():  # a given module may differ between processes
            ranks.broadcast_(tensor)
        if config.compile:
            self.policy.network.compile()
        self.optimizer = FlatAdam(self.policy.parameters(), config.learning_rate, config.max_gradient_norm, ranks)
        self.native_reason = ""
        """Why the network is trained with PyTorch's operations; empty where it is trained with native kernels."""
        self.metrics = torch.zeros(metrics, device=self.device)
        """Metrics of the last update, in the order of the trainer's ``metric_names``."""
        self.summary = torch.zeros(4 + metrics, dtype=torch.float64, device=self.device)
        """What the host receives of an iteration, see :meth:`~worldloom.learn.training.trainer.Trainer.summaries`."""

    @abstractmethod
    def _validate(self, custom_network: bool) -> None:
        """InputError where the algorithm cannot train these agents, or memory does not suffice."""

    @abstractmethod
    def _build_network(self, network: nn.Module | None) -> Policy | QNetwork:
        """The network of the settings, or one around ``network``."""

    def native_network(self) -> DenseNetwork | None:
        """The layers of the policy where it is trained with native kernels; else None."""
        try:
            return supported_network(self.policy, self.config, self.device)
        except UnsupportedNetworkError as reason:
            self.native_reason = str(reason)
            return None

    def valid_rows(self) -> torch.Tensor | None:
        """The rows whose current observation is used, bool [rows]; None for all."""
        return None

    def autocast(self) -> AbstractContextManager[object]:
        """The precision that the network runs in."""
        return autocast(self.device, self.config.precision)

    def schedule(self, steps: int, total_steps: int) -> None:
        """Set the numbers that change during training for an iteration that starts after ``steps`` of the training."""
        if self.schedules:
            self.config = config_at(self._full_config, steps)
            for name, number in self._device_numbers.items():
                number.fill_(getattr(self.config, name))
        if self.config.schedule == "linear":
            fraction = max(0.0, 1.0 - steps / total_steps)
            self.optimizer.learning_rate.fill_(self.config.learning_rate * fraction)
        elif "learning_rate" in self.schedules:
            self.optimizer.learning_rate.fill_(self.config.learning_rate)
        if "max_gradient_norm" in self.schedules:
            self.optimizer.max_gradient_norm = self.setting("max_gradient_norm")

    def set_numbers(self, values: Mapping[str, float]) -> None:
        """Replace schedules by constant numbers from the next iteration on.

        Captured CUDA graphs read the numbers of schedules from the device, so they stay valid. A number that was not
        scheduled from the start is part of them: InputError.
        """
        fixed = [name for name in values if name not in self.schedules]
        if fixed:
            raise InputError(f"{fixed[0]} cannot be changed during training: make it a schedule from the start")
        points = {name: PiecewiseLinear((0, value)) for name, value in values.items()}
        self._full_config = replace(self._full_config, **points)  # type: ignore[arg-type]
        self.schedules = schedules(self._full_config)

    def setting(self, name: str) -> Number:
        """The current value of a number of the config.

        On a GPU a number that changes during training is a tensor [], so that captured graphs use its current value.
        """
        if self.device.type == "cuda" and name in self.schedules:
            return self._device_numbers[name]
        value: float = getattr(self.config, name)
        return value

    def summarize(self) -> None:
        """Write ``summary``: episode sums, learning rate and metrics over all processes; the sums start again at 0."""
        sums = self.episodes.total()
        self.ranks.sum_(sums)
        self.summary[:3].copy_(sums)
        self.summary[3].copy_(self.optimizer.learning_rate)
        self.summary[4 : 4 + len(self.metrics)].copy_(self.ranks.mean_(self.metrics.clone()))
        sums.zero_()

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state that the next iteration depends on. Names with ``rows/`` belong to the worlds of this process."""
        state = {f"policy/{k}": v for k, v in self.policy.state_dict().items()}
        state |= {f"optimizer/{k}": v for k, v in self.optimizer.tensors().items()}
        state |= {f"rows/{k}": v for k, v in self.episodes.tensors().items()}
        return state | {"metrics": self.metrics}
