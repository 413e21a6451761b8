"""A Q network in training: its replay buffer, exploration and target network."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.algorithms.policy_learner import PolicyLearner
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.losses.td_loss import MASK, QFunction
from worldloom.learn.native.dense_network import describe_q_network
from worldloom.learn.native.q_step import QInference, QStep
from worldloom.learn.networks.memory_check import TRAINING_COPIES, require_memory, require_network, step_bytes
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
from worldloom.learn.rollout.replay_buffer import ReplayBuffer
from worldloom.learn.training.restore_checks import COUNTER_RANGE, FLOAT32_MAX, OPTIMIZER_RANGES, load_checked

if TYPE_CHECKING:
    from worldloom.learn.algorithms.dqn import DQNConfig

REPLAY = "rows/replay/"
"""Prefix of the names of the replay buffer's tensors."""


class QLearner(PolicyLearner):
    """One Q network in training.

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

    policy: QNetwork
    config: DQNConfig
    is_q_learner = True

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: DQNConfig,
        simulation: Simulation,
        number: int,
        policies: int,
        ranks: Ranks,
        metrics: int,
    ) -> None:
        super().__init__(name, policy_group, config, simulation, number, ranks, config.seed, metrics)
        self.metrics.fill_(torch.nan)  # until the first update
        self.target = copy.deepcopy(self.policy).requires_grad_(False).eval()
        """The target network."""
        self.target.normalizer = self.policy.normalizer
        if config.compile:
            self.target.network.compile()
        self._set_native()
        rows, action = self.agent_group.rows, self.agent_group.spec.action
        self.explorer = EpsilonGreedy(rows, self.device, config.seed, self.first_row, number)
        seed = (config.seed + ((ranks.rank * policies + number) << 32)) % 2**64
        self.replay = self._make_replay_buffer(seed) if self.train else None
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
        self._actions = torch.zeros((rows, 1), dtype=action.dtype, device=self.device)
        self.valid, self._dones = (torch.zeros(rows, dtype=torch.bool, device=self.device) for _ in range(2))
        self._weights, self._rewards = (torch.zeros(rows, device=self.device) for _ in range(2))
        no_count = torch.empty(0, dtype=torch.int32, device=self.device)
        self._no_finals = (no_count.view(0, 0), no_count, no_count)

    def _set_native(self) -> None:
        """Use native kernels where the network has them."""
        self.native_step: QStep | None = None
        """Takes optimizer steps with native kernels; None where PyTorch does."""
        self.q_values: QFunction = self.policy
        """The trained network's values, by native kernels where possible."""
        self.target_values: QFunction = self.target
        """The target network's values, by native kernels where possible."""
        network = self.native_network()
        if network is not None:
            config, choices = self.config, self.agent_group.spec.action.parameters
            samples = config.batch_size // self.ranks.size
            self.native_step = QStep(network, self.optimizer, samples, choices, config.huber)
            self.q_values = QInference(network)
            self.target_values = QInference(describe_q_network(self.target))

    def _validate(self, custom_network: bool) -> None:
        """InputError for other actions than one discrete one, or where network, replay or a batch cannot fit."""
        config, spec, rows = self.config, self.agent_group.spec, self.agent_group.rows
        if self.pool is not None:
            raise InputError(
                f"policy '{self.name}' is trained by dqn, which has no pools of past selves: train with ppo, a2c or "
                "vtrace, or omit its pool (--self-play)"
            )
        if spec.action.kind != "categorical" or spec.action.width != 1:
            kind = {
                "gaussian": "real numbers",
                "mixed": "choices and real numbers",
                "categorical": f"{spec.action.width} choices at once",
            }[spec.action.kind]
            raise InputError(
                f"the agents of world '{self.simulation.definition.id}' act with {kind}, "
                "and DQN takes one choice among several: train with ppo"
            )
        if not custom_network:
            require_network(self.name, spec, config.policy, self.device, TRAINING_COPIES + 1, critic=False)
        steps = config.replay_capacity // (rows * self.ranks.size) if self.train else 0
        needed = steps * rows * step_bytes(spec, stack=config.stack)
        require_memory(
            f"a replay of {config.replay_capacity:,} transitions", needed, self.device, "make replay_capacity smaller"
        )
        needed = config.batch_size // self.ranks.size * 2 * step_bytes(spec)
        require_memory(f"a batch of {config.batch_size:,} transitions", needed, self.device, "make batch_size smaller")

    def _build_network(self, network: nn.Module | None) -> QNetwork:
        return QNetwork(self.agent_group.spec, self.config.policy, network)

    def _stored_specs(self) -> dict[str, ObservationSpec]:
        """What is stored before a step: the observations, and the action mask."""
        specs = dict(self.policy.observations)
        if self.agent_group.mask() is not None:
            specs[MASK] = ObservationSpec((self.agent_group.spec.action.parameters,), torch.bool)
        return specs

    def _make_replay_buffer(self, seed: int) -> ReplayBuffer:
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
            k: config.stack for k, s in self.policy.observations.items() if s.is_image and s.shape[0] == config.stack
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
                steps, rows, self.device, alpha=config.priority_alpha, beta=config.priority_beta, seed=seed
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
            seed=seed,
            priorities=priorities,
        )

    # -- acting ------------------------------------------------------------------------------------------------------

    def schedule(self, steps: int, total_steps: int) -> None:
        """As in the base class; also epsilon, and the progress that anneals the priorities."""
        super().schedule(steps, total_steps)
        fraction = steps / total_steps
        self.progress.fill_(min(1.0, fraction))
        epsilon = self.config.epsilon_start if "epsilon_start" in self.schedules else self.config.epsilon(fraction)
        self.explorer.epsilon.fill_(epsilon if self.train else self.config.epsilon_end)
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
        with self.autocast():
            q_values = self.q_values(self.observed())
        view = self.agent_group.action_view()
        assert not isinstance(view, tuple)
        self.explorer.choose(q_values.contiguous(), self._actions, mask, view, step)
        if view is None:
            self.agent_group.write_actions(self._actions)

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

    def update_target(self) -> None:
        """Move the target network towards the trained one by ``tau`` (Polyak averaging)."""
        with torch.no_grad():
            for average, trained in zip(self.target.parameters(), self.policy.parameters(), strict=True):
                average.lerp_(trained, self.config.tau)
            for copied, buffer in zip(self.target.buffers(), self.policy.buffers(), strict=True):
                copied.copy_(buffer)

    def summarize(self) -> None:
        """As in the base class; also adds the last observations to the normalization statistics."""
        if self.policy.normalizer is not None and self.train:
            self.policy.normalizer.update(self.observed(), self._weights, self.ranks.sum_)
        super().summarize()

    # -- saved state -------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, torch.Tensor]:
        state = super().tensors()
        state |= {f"target/{k}": v for k, v in self.target.state_dict().items()}
        state |= {"explorer": self.explorer.tick}
        if self.replay is not None:
            state |= {f"{REPLAY}{k}": v for k, v in self.replay.tensors().items()}
        return state

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Restore what :meth:`tensors` returned. Missing rows and replay stay; InputError for anything else missing."""
        counters = {
            "explorer": COUNTER_RANGE,
            f"{REPLAY}cursor": COUNTER_RANGE,
            f"{REPLAY}tick": COUNTER_RANGE,
            f"{REPLAY}priorities.tick": COUNTER_RANGE,
        }
        choices = {f"{REPLAY}actions": (0, self.agent_group.spec.action.parameters - 1)}
        priorities = {
            f"{REPLAY}priorities.priorities": (0.0, FLOAT32_MAX),
            f"{REPLAY}priorities.greatest": (0.0, FLOAT32_MAX),
            f"{REPLAY}priorities.beta": (0.0, 1.0),
        }
        load_checked(
            f"policy '{self.name}'",
            self.tensors(),
            tensors,
            {**OPTIMIZER_RANGES, **counters, **choices, **priorities},
            optional=("rows/",),
        )
        if self.replay is not None and self.replay.priorities is not None:
            self.replay.priorities.clear_padding()
