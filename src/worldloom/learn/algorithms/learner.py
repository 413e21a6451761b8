"""A policy in training: its seats, network, optimiser and settings. A world may have several, each with its own."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup, AgentSlice, agent_counts, parse_agents
from worldloom.learn.config.train_config import RolloutConfig, TrainConfig
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.losses.advantages import add_bootstrap_values
from worldloom.learn.networks.memory_check import TRAINING_COPIES, require_memory, require_network, step_bytes
from worldloom.learn.networks.normalization import RewardScaler
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.minibatches import MinibatchShuffler
from worldloom.learn.rollout.rollout_actor import RolloutActor
from worldloom.learn.rollout.storage import Storage
from worldloom.learn.training.optimizer import FlatAdam
from worldloom.learn.training.restore_checks import COUNTER_RANGE, OPTIMIZER_RANGES, load_checked

MIN_LEARNING_RATE, MAX_LEARNING_RATE, LEARNING_RATE_FACTOR = 1e-6, 1e-2, 1.5
"""Bounds of a step size that follows the divergence, and by how much it changes at once."""

RESERVED_NAMES = ("worlds", "window", "turn")
"""Names of other things in a saved training."""


@dataclass(frozen=True)
class PolicyGroup:
    """Agents that share a policy.

    Attributes:
        agents: Who they are: kinds of entity such as ``Wolf``, ``Wolf,Sheep`` for both, or ``Wolf[0:2]`` for some.
        config: Their own settings; None for those of the training. Roll-outs are equally long for all.
        train: Whether they learn; otherwise they only play.
        network: A module to use as the policy: observations in, (logits or means, value) out, or with DQN a value per choice. None for that of the settings.
    """

    agents: str
    config: TrainConfig | None = None
    train: bool = True
    network: nn.Module | None = None


class HasAgentGroup(Protocol):
    """Anything that plays some agents."""

    agent_group: AgentGroup


class Learner:
    """One policy in training.

    Args:
        name: Of the policy.
        team: Whom it plays, and how it learns.
        config: Settings of the training, where the team has none of its own.
        simulation: The worlds.
        number: Of the policy among several, which tells their random numbers apart.
        ranks: The processes that train together.
        metrics: How many numbers an update tells of itself.
    """

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: RolloutConfig,
        simulation: Simulation,
        number: int,
        ranks: Ranks,
        metrics: int,
    ) -> None:
        self.name, self.train, self.ranks = name, policy_group.train, ranks
        own = policy_group.config or config
        assert isinstance(own, RolloutConfig)
        together = [
            name for name in ("num_steps", "steps_per_update", "total_steps", "overlap") if hasattr(config, name)
        ]
        self.config = replace(own, **{name: getattr(config, name) for name in together})
        self.agent_group = AgentGroup(
            simulation, parse_agents(policy_group.agents, simulation.definition), self.config.action_masks
        )
        self.device = self.agent_group.device
        self._require_memory(policy_group.network is None, config.num_steps)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(config.seed + number)  # the only one that initialises a network
            self.policy = Policy(self.agent_group.spec, self.config.policy, policy_group.network).to(self.device)
        if self.config.compile:
            self.policy.network.compile()
        self.optimizer = FlatAdam(
            self.policy.parameters(), self.config.learning_rate, self.config.max_gradient_norm, ranks
        )
        if self.train and not self.optimizer.parameters:
            raise InputError(f"policy '{name}' has no parameters to train: give its team train=False")
        for (
            tensor
        ) in self.policy.state_dict().values():  # a module that was handed in may start differently in every process
            ranks.broadcast_(tensor)
        first_row = simulation.world_offset * self.agent_group.agents
        self.scale = (
            RewardScaler(self.agent_group.rows, self.config.gamma).to(self.device)
            if self.config.normalize_rewards
            else None
        )
        self.actor = RolloutActor(
            self.agent_group,
            self.policy,
            config.num_steps,
            config.seed,
            self.config,
            first_row=first_row,
            stream=number,
        )
        self.overlap = self.train and self.config.overlap
        """Whether it learns while it plays, as it was before."""
        if self.overlap:
            self.actor.policy = copy.deepcopy(self.policy).requires_grad_(False)
        self._copied = self.actor.storage.empty_like() if self.overlap and not self.actor.storage.sliding else None
        self.shuffle = MinibatchShuffler(self.agent_group.rows, self.device, config.seed, first_row)
        self.metrics = torch.zeros(metrics, device=self.device)
        """What the last update tells of itself."""
        self.summary = torch.zeros(4 + metrics, dtype=torch.float64, device=self.device)

    def _require_memory(self, own_network: bool, steps: int) -> None:
        """InputError where the network or a roll-out of ``steps`` steps cannot fit into memory."""
        if own_network:
            require_network(
                self.name, self.agent_group.spec, self.config.policy, self.device, TRAINING_COPIES, critic=True
            )
        memory = 0 if self.config.policy.memory == "none" else self.config.policy.memory_size
        needed = self.agent_group.rows * steps * step_bytes(self.agent_group.spec, memory)
        require_memory(
            f"a roll-out of {steps:,} steps of {self.agent_group.rows:,} agents",
            needed,
            self.device,
            "make num_steps or num_envs smaller",
        )

    def schedule(self, fraction: float) -> None:
        """Set the step size for an iteration, of which ``fraction`` of all are done."""
        if self.config.schedule == "linear":
            self.optimizer.learning_rate.fill_(self.config.learning_rate * max(0.0, 1.0 - fraction))

    def adapt_learning_rate(self, divergence: torch.Tensor, target: float) -> None:
        """Make the step size smaller where the policy moved by more than twice ``target``, larger where by less than half of it; on the device."""
        if self.config.schedule == "kl":
            rate = self.optimizer.learning_rate
            changed = torch.where(
                divergence > 2.0 * target,
                rate / LEARNING_RATE_FACTOR,
                torch.where(divergence < 0.5 * target, rate * LEARNING_RATE_FACTOR, rate),
            )
            rate.copy_(changed.clamp(MIN_LEARNING_RATE, MAX_LEARNING_RATE))

    def finalize_rewards(self, new: int) -> None:
        """After a roll-out of ``new`` steps: scale its rewards, and add what was to come where an episode was cut off."""
        kept = self.actor.storage
        if self.scale is not None:
            rewards, weights = kept.rewards[-new:], None if kept.weights is None else kept.weights[-new:]
            self.scale.update(rewards, kept.dones[-new:], weights, self.ranks.sum_)
            rewards.copy_(self.scale.scale(rewards))
        if kept.truncations is not None:
            before = torch.nan_to_num(kept.values[-new - 1 : -1], 0.0, 0.0, 0.0)
            kept.rewards[-new:] += self.config.gamma * before * kept.truncations[-new:]
        if kept.finals:
            add_bootstrap_values(kept.rewards, kept.final_steps, kept.final_values, self.config.gamma)

    def kept(self) -> Storage:
        """The roll-out, to learn from: a copy of it where the next one is taken meanwhile."""
        return self.actor.storage if self._copied is None else self._copied.copy_(self.actor.storage)

    def sync_actor_policy(self) -> None:
        """Let what is learned so far play, where that is apart from what learns."""
        if self.overlap:
            with torch.no_grad():
                for played, learned in zip(
                    self.actor.policy.state_dict().values(), self.policy.state_dict().values(), strict=True
                ):
                    played.copy_(learned)

    def update_statistics(self, new: int) -> None:
        """After an update: take the last ``new`` steps into the statistics that observations are normalised with, from the next roll-out on."""
        kept = self.actor.storage
        if self.policy.normalizer is not None:
            weights = None if kept.weights is None else kept.weights[-new:]
            self.policy.normalizer.update(kept.newest(new), weights, self.ranks.sum_)

    def summarize(self) -> None:
        """Put together what the host is told of the iteration."""
        sums = self.actor.episodes.total()
        self.ranks.sum_(sums)
        self.summary[:3].copy_(sums)
        self.summary[3].copy_(self.optimizer.learning_rate)
        self.summary[4:].copy_(self.ranks.mean_(self.metrics.clone()))
        sums.zero_()

    def tensors(self) -> dict[str, torch.Tensor]:
        """What the next iteration depends on; names with ``rows/`` belong to the worlds of this process."""
        found = {f"policy/{k}": v for k, v in self.policy.state_dict().items()}
        found |= {f"optimizer/{k}": v for k, v in self.optimizer.tensors().items()}
        found |= {
            "sampler": self.actor.sampler.tick,
            "shuffle": self.shuffle.tick,
            "metrics": self.metrics,
            "rows/state": self.actor.state,
        }
        found |= {f"rows/{k}": v for k, v in self.actor.episodes.tensors().items()}
        if self.scale is not None:
            found |= {f"scale/{k}" if v.ndim == 0 else f"rows/scale/{k}": v for k, v in self.scale.state_dict().items()}
        return found

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take back what :meth:`tensors` gave. Where the rows are missing, new episodes begin; InputError where anything else is."""
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


def resolve_policy_groups(
    simulation: Simulation,
    config: TrainConfig,
    network: nn.Module | None,
    policy_groups: Mapping[str, PolicyGroup] | None,
) -> dict[str, PolicyGroup]:
    """The teams that were given, or one policy for each kind of agent."""
    if policy_groups is None:
        return default_policy_groups(simulation, network)
    if network is not None:
        raise InputError("a network and teams cannot both be given: give each team its network")
    trained = [
        {id(parameter) for parameter in policy_group.network.parameters()}
        for policy_group in policy_groups.values()
        if policy_group.network is not None
    ]
    if len(set().union(*trained)) < sum(map(len, trained)):
        raise InputError(
            "two teams cannot train the same parameters: name the agents of both in one team, as in 'Wolf,Sheep'"
        )
    for name, policy_group in policy_groups.items():
        if not re.fullmatch(r"[\w.-]+", name) or name in RESERVED_NAMES:
            raise InputError(
                f"a policy cannot be called '{name}': use letters, digits, '_', '-' and '.', and none of {', '.join(RESERVED_NAMES)}"
            )
        if policy_group.config is not None and not isinstance(policy_group.config, type(config)):
            raise InputError(
                f"team '{name}' has the settings {type(policy_group.config).__name__}, but this training takes {type(config).__name__}"
            )
    return dict(policy_groups)


def default_policy_groups(simulation: Simulation, network: nn.Module | None) -> dict[str, PolicyGroup]:
    kinds = list(agent_counts(simulation.definition))
    if network is not None and len(kinds) > 1:
        raise InputError(
            f"world '{simulation.definition.id}' has the agents {', '.join(kinds)}: give each a team with its network"
        )
    return {kind: PolicyGroup(kind, network=network) for kind in kinds}


def check_policy_groups(simulation: Simulation, learners: Mapping[str, HasAgentGroup]) -> None:
    """Every agent must be played by one policy, and by one only."""
    left = {(t, slot) for t, count in agent_counts(simulation.definition).items() for slot in range(count)}
    for name, learner in learners.items():
        for seat in _agents_of(learner.agent_group.slices, simulation):
            if seat not in left:
                raise InputError(
                    f"{seat[0]} {seat[1]} is played by two policies, one of them '{name}': give every agent one"
                )
            left.remove(seat)
    if left:
        table, slot = min(left)
        raise InputError(f"no policy plays {table} {slot}: name every agent in one team")


def _agents_of(slices: tuple[AgentSlice, ...], simulation: Simulation) -> list[tuple[str, int]]:
    counts = agent_counts(simulation.definition)
    return [(m.table, slot) for m in slices for slot in (range(counts[m.table]) if m.slots is None else m.slots)]
