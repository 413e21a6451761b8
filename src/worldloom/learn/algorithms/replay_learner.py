"""The common part of learners with a replay buffer: what is stored of each step, and the saved state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Protocol

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.algorithms.policy_learner import PolicyLearner
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.replay_config import ReplayConfig
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.losses.td_loss import MASK
from worldloom.learn.networks.memory_check import FLOAT, require_memory, require_network, step_bytes
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
from worldloom.learn.rollout.replay_buffer import ReplayBuffer
from worldloom.learn.training.restore_checks import (
    COUNTER_RANGE,
    FLOAT32_MAX,
    OPTIMIZER_RANGES,
    Ranges,
    load_checked,
)

REPLAY = "rows/replay/"
"""Prefix of the names of the replay buffer's tensors."""


class Explorer(Protocol):
    """Draws the random part of actions in training."""

    @property
    def tick(self) -> torch.Tensor:
        """Number of draws, int64 [1] on the device."""

    def advance(self, count: int) -> None:
        """Add ``count`` to the tick."""


class ReplayLearner(PolicyLearner):
    """One policy that is trained from a replay buffer.

    Args:
        name: The policy's name.
        policy_group: The agents it controls, and whether it is trained.
        config: Its settings.
        simulation: The worlds, with next-step autoreset.
        number: Its index among ``policies``, which separates their random streams.
        policies: The number of policies.
        ranks: The processes that train together.
        metrics: How many metrics an update reports.
    """

    config: ReplayConfig
    explorer: Explorer

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: ReplayConfig,
        simulation: Simulation,
        number: int,
        policies: int,
        ranks: Ranks,
        metrics: int,
    ) -> None:
        super().__init__(name, policy_group, config, simulation, number, ranks, config.seed, metrics)
        self.metrics.fill_(torch.nan)  # until the first update
        rows, action = self.agent_group.rows, self.agent_group.spec.action
        self.process_seed = (config.seed + ((ranks.rank * policies + number) << 32)) % 2**64
        """Seed of what differs between processes and policies: batches, and noise in updates."""
        self.replay = self._make_replay_buffer() if self.train else None
        """The replay buffer; None for a frozen policy."""
        self.progress = torch.zeros(1, device=self.device)
        """Fraction of the training that is done, 0 to 1."""
        self.episodes = EpisodeStatistics(
            rows, self.device, config.clip_rewards, config.episodic_life and self.agent_group.lives() is not None
        )
        self._observations = {
            k: torch.zeros((rows, *spec.shape), dtype=spec.dtype, device=self.device)
            for k, spec in self._stored_specs().items()
        }
        self._actions = torch.zeros((rows, action.width), dtype=action.dtype, device=self.device)
        self.valid, self._dones = (torch.zeros(rows, dtype=torch.bool, device=self.device) for _ in range(2))
        self._weights, self._rewards = (torch.zeros(rows, device=self.device) for _ in range(2))
        no_count = torch.empty(0, dtype=torch.int32, device=self.device)
        self._no_finals = (no_count.view(0, 0), no_count, no_count)

    @abstractmethod
    def _network_inputs(self) -> Mapping[str, ObservationSpec]:
        """The observations that the networks take, by name."""

    @abstractmethod
    def _choose(self, mask: torch.Tensor | None, step: int) -> None:
        """Write the actions of :meth:`observed` to ``_actions`` and to the worlds. ``mask`` holds allowed choices."""

    def _require_memory(self, copies: int, values: PolicyConfig) -> None:
        """InputError where the network's parameters, replay buffer or a batch cannot fit into memory.

        Args:
            copies: Copies of the parameters; 0 for a custom network.
            values: The settings of the network that predicts values.
        """
        config, spec, rows = self.config, self.agent_group.spec, self.agent_group.rows
        if copies:
            require_network(self.name, spec, config.policy, self.device, copies, critic=False)
        steps = config.replay_capacity // (rows * self.ranks.size) if self.train else 0
        needed = steps * rows * step_bytes(spec, stack=config.stack)
        require_memory(
            f"a replay of {config.replay_capacity:,} transitions", needed, self.device, "make replay_capacity smaller"
        )
        width = values.hidden[-1] if values.hidden else 1
        needed = FLOAT * config.atoms * (copies * width + config.batch_size // self.ranks.size)
        require_memory(f"a distribution with {config.atoms:,} atoms", needed, self.device, "make atoms smaller")
        needed = config.batch_size // self.ranks.size * 2 * step_bytes(spec)
        require_memory(f"a batch of {config.batch_size:,} transitions", needed, self.device, "make batch_size smaller")

    def _stored_specs(self) -> dict[str, ObservationSpec]:
        """What is stored before a step: the observations, and the action mask."""
        specs = dict(self._network_inputs())
        if self.agent_group.mask() is not None:
            specs[MASK] = ObservationSpec((self.agent_group.spec.action.parameters,), torch.bool)
        return specs

    def _make_replay_buffer(self) -> ReplayBuffer:
        config, rows = self.config, self.agent_group.rows
        steps = config.replay_capacity // (rows * self.ranks.size)
        if steps < config.n_step + config.stack:
            everywhere = rows * self.ranks.size
            least = everywhere * (config.n_step + config.stack)
            raise InputError(
                f"a replay_capacity of {config.replay_capacity} is too little for {everywhere} agents at once: "
                f"make it {least} or more, or num_envs smaller"
            )
        stacks = {
            k: config.stack for k, s in self._network_inputs().items() if s.is_image and s.shape[0] == config.stack
        }
        if config.stack > 1 and not stacks:
            raise InputError(
                f"world '{self.simulation.definition.id}' has no image observation with {config.stack} frames "
                "as its first axis: leave stack at 1"
            )
        if stacks and self.agent_group.may_return:
            raise InputError(
                f"the agents of policy '{self.name}' come and go, so that a stack of frames may belong to two of them: "
                "leave stack at 1"
            )
        priorities = None
        if config.prioritized:
            priorities = ReplayPriorities(
                steps, rows, self.device, alpha=config.priority_alpha, beta=config.priority_beta, seed=self.process_seed
            )
        action = self.agent_group.spec.action
        return ReplayBuffer(
            self._stored_specs(),
            action.width,
            action.dtype,
            rows,
            steps,
            self.device,
            stack=stacks,
            n_step=config.n_step,
            gamma=config.gamma,
            seed=self.process_seed,
            priorities=priorities,
        )

    # -- acting ------------------------------------------------------------------------------------------------------

    def schedule(self, steps: int, total_steps: int) -> None:
        """As in the base class; also the discount factor, and the progress that anneals the priorities."""
        super().schedule(steps, total_steps)
        self.progress.fill_(min(1.0, steps / total_steps))
        if self.replay is not None:
            self.replay.gamma = self.setting("gamma")
            if self.replay.priorities is not None:
                self.replay.priorities.alpha = self.setting("priority_alpha")

    def act(self, step: int) -> None:
        """Observe and act. ``step`` is the step within the iteration."""
        for key, values in self.agent_group.observations().items():
            if key not in self._observations:  # of a critic
                continue
            # A faulty world may show NaN in the last step of an episode. At another step the training is stopped.
            if values.is_floating_point():
                torch.nan_to_num(values, 0.0, 0.0, 0.0, out=self._observations[key])
            else:
                self._observations[key].copy_(values)
        mask = self.agent_group.mask()
        if mask is not None:
            mask = self._observations[MASK].copy_(mask)
        self.valid_rows()
        self._choose(mask, step)

    def valid_rows(self) -> torch.Tensor:
        """Write ``valid``: the agents that act, bool [rows]. In a world that has finished, a step only resets."""
        finished = self.simulation.world["finished"].torch()
        torch.logical_not(finished[:, None].expand(-1, self.agent_group.agents).reshape(-1), out=self.valid)
        if self.agent_group.may_leave:
            self.valid &= self.agent_group.active()
        return self.valid

    def observed(self) -> dict[str, torch.Tensor]:
        """The observations before the last step, by name, [N, ...]."""
        return {k: v for k, v in self._observations.items() if k != MASK}

    def record(self, step: int) -> None:
        """Record the result of the step in the statistics and the replay buffer."""
        self._weights.copy_(self.valid)
        self.episodes.record(self.agent_group, step, self._weights, self._rewards, self._dones, self._no_finals)
        if "reward_scale" in self.schedules or self.config.reward_scale != 1.0:
            self._rewards *= self.setting("reward_scale")
        if self.replay is not None:
            terminated, truncated = self.agent_group.terminated(), self.agent_group.truncated()
            if len(self.episodes.lives):
                terminated = terminated | (self._dones & ~truncated)  # a lost life counts as a termination
            self.replay.add(self._observations, self._actions, self._rewards, terminated, truncated, self.valid)

    def summarize(self) -> None:
        """As in the base class; also adds the last observations to the normalization statistics."""
        if self.policy.normalizer is not None and self.train:
            self.policy.normalizer.update(self.observed(), self._weights, self.ranks.sum_)
        super().summarize()

    # -- saved state -------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, torch.Tensor]:
        state = super().tensors() | {"explorer": self.explorer.tick}
        if self.replay is not None:
            state |= {f"{REPLAY}{k}": v for k, v in self.replay.tensors().items()}
        return state

    @property
    def action_range(self) -> tuple[float, float]:
        """Least and greatest element of an action."""
        return 0, self.agent_group.spec.action.parameters - 1

    def ranges(self) -> Ranges:
        """Bounds of the saved tensors, by name."""
        counters = ("explorer", f"{REPLAY}cursor", f"{REPLAY}tick", f"{REPLAY}priorities.tick")
        return {
            **OPTIMIZER_RANGES,
            **dict.fromkeys(counters, COUNTER_RANGE),
            f"{REPLAY}actions": self.action_range,
            f"{REPLAY}priorities.priorities": (0.0, FLOAT32_MAX),
            f"{REPLAY}priorities.greatest": (0.0, FLOAT32_MAX),
            f"{REPLAY}priorities.beta": (0.0, 1.0),
        }

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Restore what :meth:`tensors` returned. Missing rows and replay stay; InputError for anything else missing."""
        load_checked(f"policy '{self.name}'", self.tensors(), tensors, self.ranges(), optional=("rows/",))
        if self.replay is not None and self.replay.priorities is not None:
            self.replay.priorities.clear_padding()
