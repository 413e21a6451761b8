"""A Q network in training: whom it plays, what it has seen, and the slower copy of it that targets are taken from."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.algorithms.learner import PolicyGroup
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.networks.memory_check import TRAINING_COPIES, require_memory, require_network, step_bytes
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
from worldloom.learn.rollout.replay_buffer import ReplayBuffer
from worldloom.learn.training.optimizer import FlatAdam
from worldloom.learn.training.restore_checks import COUNTER_RANGE, FLOAT32_MAX, OPTIMIZER_RANGES, load_checked

if TYPE_CHECKING:
    from worldloom.learn.algorithms.dqn import DQNConfig

MASK = "/mask"
"""What the allowed choices are called among the observations of a replay. No component can be called so."""
REPLAY = "rows/replay/"
"""What the names of the replay's tensors begin with."""


class QLearner:
    """One Q network in training.

    Args:
        name: Of the policy.
        team: Whom it plays, and whether it learns.
        config: Its settings.
        simulation: The worlds, with next-step autoreset.
        number: Of the policy among ``policies``, which tells their random numbers apart.
        policies: How many there are.
        ranks: The processes that train together.
        metrics: How many numbers an update tells of itself.
    """

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
        self.name, self.train, self.config, self.ranks, self.simulation = (
            name,
            policy_group.train,
            config,
            ranks,
            simulation,
        )
        self.agent_group = AgentGroup(
            simulation, parse_agents(policy_group.agents, simulation.definition), config.action_masks
        )
        self.device, rows = self.agent_group.device, self.agent_group.rows
        action = self.agent_group.spec.action
        if action.kind != "categorical" or action.width != 1:
            kind = "real numbers" if action.kind == "gaussian" else f"{action.width} choices at once"
            raise InputError(
                f"the agents of world '{simulation.definition.id}' act with {kind}, and DQN takes one choice among several: train with ppo"
            )
        self._require_memory(policy_group.network is None)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(config.seed + number)  # the only one that initialises a network
            self.policy = QNetwork(self.agent_group.spec, config.policy, policy_group.network).to(self.device)
        for (
            tensor
        ) in self.policy.state_dict().values():  # a module that was handed in may start differently in every process
            ranks.broadcast_(tensor)
        self.target = copy.deepcopy(self.policy).requires_grad_(False)
        """The network that targets are taken from."""
        self.target.normalizer = self.policy.normalizer
        if config.compile:
            self.policy.network.compile()
            self.target.network.compile()
        self.optimizer = FlatAdam(self.policy.parameters(), config.learning_rate, config.max_gradient_norm, ranks)
        self.explorer = EpsilonGreedy(
            rows, self.device, config.seed, simulation.world_offset * self.agent_group.agents, number
        )
        self.replay = (
            self._make_replay_buffer((config.seed + ((ranks.rank * policies + number) << 32)) % 2**64)
            if self.train
            else None
        )
        """What it has seen; None where it only plays."""
        self.progress = torch.zeros(1, device=self.device)
        """How much of the training is done, 0 to 1."""
        self.episodes = EpisodeStatistics(
            rows, self.device, config.clip_rewards, config.episodic_life and self.agent_group.lives() is not None
        )
        self.metrics = torch.full((metrics,), torch.nan, device=self.device)
        """What the last update tells of itself; NaN before the first."""
        self.summary = torch.zeros(4 + metrics, dtype=torch.float64, device=self.device)
        self._seen = {
            k: torch.zeros((rows, *spec.shape), dtype=spec.dtype, device=self.device)
            for k, spec in self._kept_specs().items()
        }
        self._actions = torch.zeros((rows, 1), dtype=action.dtype, device=self.device)
        self._valid, self._dones = (torch.zeros(rows, dtype=torch.bool, device=self.device) for _ in range(2))
        self._weights, self._rewards = (torch.zeros(rows, device=self.device) for _ in range(2))
        no_count = torch.empty(0, dtype=torch.int32, device=self.device)
        self._no_finals = (no_count.view(0, 0), no_count, no_count)

    def _require_memory(self, own_network: bool) -> None:
        """InputError where the network, the replay or a batch cannot fit into memory."""
        config, spec = self.config, self.agent_group.spec
        if own_network:
            require_network(self.name, spec, config.policy, self.device, TRAINING_COPIES + 1, critic=False)
        steps = config.replay_capacity // (self.agent_group.rows * self.ranks.size) if self.train else 0
        needed = steps * self.agent_group.rows * step_bytes(spec, stack=config.stack)
        require_memory(
            f"a replay of {config.replay_capacity:,} transitions", needed, self.device, "make replay_capacity smaller"
        )
        needed = config.batch_size // self.ranks.size * 2 * step_bytes(spec)
        require_memory(f"a batch of {config.batch_size:,} transitions", needed, self.device, "make batch_size smaller")

    def _kept_specs(self) -> dict[str, ObservationSpec]:
        """What is kept of a step before it is taken: the observations, and the choices that are allowed."""
        found = dict(self.agent_group.spec.observations)
        if self.agent_group.mask() is not None:
            found[MASK] = ObservationSpec((self.agent_group.spec.action.parameters,), torch.bool)
        return found

    def _make_replay_buffer(self, seed: int) -> ReplayBuffer:
        config, rows = self.config, self.agent_group.rows
        steps = config.replay_capacity // (rows * self.ranks.size)
        if steps < config.n_step + config.stack:
            everywhere = rows * self.ranks.size
            least = everywhere * (config.n_step + config.stack)
            raise InputError(
                f"a replay_capacity of {config.replay_capacity} is too little for {everywhere} agents at once: make it {least} or more, or num_envs smaller"
            )
        stacks = {
            k: config.stack
            for k, s in self.agent_group.spec.observations.items()
            if s.is_image and s.shape[0] == config.stack
        }
        if config.stack > 1 and not stacks:
            raise InputError(
                f"world '{self.simulation.definition.id}' shows no image with {config.stack} frames as its first axis: leave stack at 1"
            )
        priorities = None
        if config.prioritized:
            priorities = ReplayPriorities(
                steps, rows, self.device, alpha=config.priority_alpha, beta=config.priority_beta, seed=seed
            )
        action = self.agent_group.spec.action
        return ReplayBuffer(
            self._kept_specs(),
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

    def autocast(self) -> AbstractContextManager[object]:
        return torch.autocast(self.device.type, torch.bfloat16) if self.config.precision == "bf16" else nullcontext()

    # -- at play -----------------------------------------------------------------------------------------------------

    def schedule(self, fraction: float) -> None:
        """Set what changes over the training, of which ``fraction`` is done."""
        config = self.config
        self.progress.fill_(min(1.0, fraction))
        self.explorer.epsilon.fill_(config.epsilon(fraction) if self.train else config.epsilon_end)
        if config.schedule == "linear":
            self.optimizer.learning_rate.fill_(config.learning_rate * max(0.0, 1.0 - fraction))

    def act(self, step: int) -> None:
        """See, and act; ``step`` counts within the iteration."""
        for key, seen in self.agent_group.observations().items():
            if seen.is_floating_point():  # a faulty world may show anything in an episode's last step
                torch.nan_to_num(seen, 0.0, 0.0, 0.0, out=self._seen[key])
            else:
                self._seen[key].copy_(seen)
        mask = self.agent_group.mask()
        if mask is not None:
            mask = self._seen[MASK].copy_(mask)
        # A world that has finished only resets with this step, whatever its agents do.
        over = self.simulation.world["finished"].torch()
        torch.logical_not(over[:, None].expand(-1, self.agent_group.agents).reshape(-1), out=self._valid)
        if self.agent_group.may_leave:
            self._valid &= self.agent_group.active()
        with self.autocast():
            values = self.policy(self.observed())
        memory = self.agent_group.action_view()
        self.explorer.choose(values.contiguous(), self._actions, mask, memory, step)
        if memory is None:
            self.agent_group.write_actions(self._actions)

    def observed(self) -> dict[str, torch.Tensor]:
        """What was seen before the last step, by name, [N, ...]."""
        return {k: v for k, v in self._seen.items() if k != MASK}

    def record(self, step: int) -> None:
        """Keep what came of the step."""
        self._weights.copy_(self._valid)
        self.episodes.record(self.agent_group, step, self._weights, self._rewards, self._dones, self._no_finals)
        if self.replay is not None:
            terminated, truncated = self.agent_group.terminated(), self.agent_group.truncated()
            if len(self.episodes.lives):
                terminated = terminated | (self._dones & ~truncated)  # the end of a life counts as one
            self.replay.add(self._seen, self._actions, self._rewards, terminated, truncated, self._valid)

    def update_target(self) -> None:
        """Move the target network towards the one that is trained."""
        with torch.no_grad():
            for kept, trained in zip(self.target.parameters(), self.policy.parameters(), strict=True):
                kept.lerp_(trained, self.config.tau)
            for kept, trained in zip(self.target.buffers(), self.policy.buffers(), strict=True):
                kept.copy_(trained)

    def summarize(self) -> None:
        """Put together what the host is told of the iteration, and take what was seen last into the statistics of observations."""
        if self.policy.normalizer is not None and self.train:
            self.policy.normalizer.update(self.observed(), self._weights, self.ranks.sum_)
        sums = self.episodes.total()
        self.ranks.sum_(sums)
        self.summary[:3].copy_(sums)
        self.summary[3].copy_(self.optimizer.learning_rate)
        self.summary[4:].copy_(self.ranks.mean_(self.metrics.clone()))
        sums.zero_()

    # -- going on later ----------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, torch.Tensor]:
        """What the next iteration depends on; names with ``rows/`` belong to the worlds of this process."""
        found = {f"policy/{k}": v for k, v in self.policy.state_dict().items()}
        found |= {f"target/{k}": v for k, v in self.target.state_dict().items()}
        found |= {f"optimizer/{k}": v for k, v in self.optimizer.tensors().items()}
        found |= {"explorer": self.explorer.tick, "metrics": self.metrics}
        found |= {f"rows/{k}": v for k, v in self.episodes.tensors().items()}
        if self.replay is not None:
            found |= {f"{REPLAY}{k}": v for k, v in self.replay.tensors().items()}
        return found

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take back what :meth:`tensors` gave; rows and a replay that are missing stay as they are, InputError where anything else is."""
        counters = {
            "explorer": COUNTER_RANGE,
            f"{REPLAY}cursor": COUNTER_RANGE,
            f"{REPLAY}tick": COUNTER_RANGE,
            f"{REPLAY}priorities.tick": COUNTER_RANGE,
        }
        choices = {f"{REPLAY}actions": (0, self.agent_group.spec.action.parameters - 1)}
        drawn = {
            f"{REPLAY}priorities.priorities": (0.0, FLOAT32_MAX),
            f"{REPLAY}priorities.greatest": (0.0, FLOAT32_MAX),
            f"{REPLAY}priorities.beta": (0.0, 1.0),
        }
        load_checked(
            f"policy '{self.name}'",
            self.tensors(),
            tensors,
            {**OPTIMIZER_RANGES, **counters, **choices, **drawn},
            optional=("rows/",),
        )
        if self.replay is not None and self.replay.priorities is not None:
            self.replay.priorities.clear_padding()
