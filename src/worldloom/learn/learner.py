"""A policy in training: its seats, network, optimiser and settings. A world may have several, each with its own."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import nn

from worldloom.core.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.advantages import add_final_values
from worldloom.learn.config import RolloutConfig, TrainConfig
from worldloom.learn.memory_needs import TRAINED, require_memory, require_network, step_bytes
from worldloom.learn.normalize import RewardScale
from worldloom.learn.optimizer import FlatAdam
from worldloom.learn.policy import Policy
from worldloom.learn.ranks import Ranks
from worldloom.learn.restored import COUNTER, OPTIMIZER, take_over
from worldloom.learn.rollout import Player
from worldloom.learn.seats import Member, Seats, acting_kinds, parse_members
from worldloom.learn.shuffle import Shuffle
from worldloom.learn.storage import Storage

LEAST_RATE, GREATEST_RATE, RATE_FACTOR = 1e-6, 1e-2, 1.5
"""Bounds of a step size that follows the divergence, and by how much it changes at once."""

RESERVED = ("worlds", "window", "turn")
"""Names of other things in a saved training."""


@dataclass(frozen=True)
class Team:
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


class Seated(Protocol):
    """Anything that plays some agents."""

    seats: Seats


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

    def __init__(self, name: str, team: Team, config: RolloutConfig, simulation: Simulation, number: int, ranks: Ranks, metrics: int) -> None:
        self.name, self.train, self.ranks = name, team.train, ranks
        own = team.config or config
        assert isinstance(own, RolloutConfig)
        together = [name for name in ("num_steps", "steps_per_update", "total_steps", "overlap") if hasattr(config, name)]
        self.config = replace(own, **{name: getattr(config, name) for name in together})
        self.seats = Seats(simulation, parse_members(team.agents, simulation.definition), self.config.action_masks)
        self.device = self.seats.device
        self._require_memory(team.network is None, config.num_steps)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(config.seed + number)  # the only one that initialises a network
            self.policy = Policy(self.seats.spec, self.config.policy, team.network).to(self.device)
        if self.config.compile:
            self.policy.network.compile()
        self.optimizer = FlatAdam(self.policy.parameters(), self.config.learning_rate, self.config.max_gradient_norm, ranks)
        if self.train and not self.optimizer.parameters:
            raise InputError(f"policy '{name}' has no parameters to train: give its team train=False")
        for tensor in self.policy.state_dict().values():  # a module that was handed in may start differently in every process
            ranks.follow_(tensor)
        first_row = simulation.world_offset * self.seats.agents
        self.scale = RewardScale(self.seats.rows, self.config.gamma).to(self.device) if self.config.normalize_rewards else None
        self.player = Player(
            self.seats,
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
            self.player.policy = copy.deepcopy(self.policy).requires_grad_(False)
        self._copied = self.player.storage.like() if self.overlap and not self.player.storage.sliding else None
        self.shuffle = Shuffle(self.seats.rows, self.device, config.seed, first_row)
        self.metrics = torch.zeros(metrics, device=self.device)
        """What the last update tells of itself."""
        self.summary = torch.zeros(4 + metrics, dtype=torch.float64, device=self.device)

    def _require_memory(self, own_network: bool, steps: int) -> None:
        """InputError where the network or a roll-out of ``steps`` steps cannot fit into memory."""
        if own_network:
            require_network(self.name, self.seats.spec, self.config.policy, self.device, TRAINED, critic=True)
        memory = 0 if self.config.policy.memory == "none" else self.config.policy.memory_size
        needed = self.seats.rows * steps * step_bytes(self.seats.spec, memory)
        require_memory(f"a roll-out of {steps:,} steps of {self.seats.rows:,} agents", needed, self.device, "make num_steps or num_envs smaller")

    def schedule(self, fraction: float) -> None:
        """Set the step size for an iteration, of which ``fraction`` of all are done."""
        if self.config.schedule == "linear":
            self.optimizer.learning_rate.fill_(self.config.learning_rate * max(0.0, 1.0 - fraction))

    def follow_divergence(self, divergence: torch.Tensor, target: float) -> None:
        """Make the step size smaller where the policy moved by more than twice ``target``, larger where by less than half of it; on the device."""
        if self.config.schedule == "kl":
            rate = self.optimizer.learning_rate
            changed = torch.where(divergence > 2.0 * target, rate / RATE_FACTOR, torch.where(divergence < 0.5 * target, rate * RATE_FACTOR, rate))
            rate.copy_(changed.clamp(LEAST_RATE, GREATEST_RATE))

    def finish_rewards(self, new: int) -> None:
        """After a roll-out of ``new`` steps: scale its rewards, and add what was to come where an episode was cut off."""
        kept = self.player.storage
        if self.scale is not None:
            rewards, weights = kept.rewards[-new:], None if kept.weights is None else kept.weights[-new:]
            self.scale.update(rewards, kept.dones[-new:], weights, self.ranks.sum_)
            rewards.copy_(self.scale.scale(rewards))
        if kept.cuts is not None:
            before = torch.nan_to_num(kept.values[-new - 1 : -1], 0.0, 0.0, 0.0)
            kept.rewards[-new:] += self.config.gamma * before * kept.cuts[-new:]
        if kept.finals:
            add_final_values(kept.rewards, kept.final_steps, kept.final_values, self.config.gamma)

    def kept(self) -> Storage:
        """The roll-out, to learn from: a copy of it where the next one is taken meanwhile."""
        return self.player.storage if self._copied is None else self._copied.copy_(self.player.storage)

    def hand_over(self) -> None:
        """Let what is learned so far play, where that is apart from what learns."""
        if self.overlap:
            with torch.no_grad():
                for played, learned in zip(self.player.policy.state_dict().values(), self.policy.state_dict().values(), strict=True):
                    played.copy_(learned)

    def update_statistics(self, new: int) -> None:
        """After an update: take the last ``new`` steps into the statistics that observations are normalised with, from the next roll-out on."""
        kept = self.player.storage
        if self.policy.normalizer is not None:
            weights = None if kept.weights is None else kept.weights[-new:]
            self.policy.normalizer.update(kept.newest(new), weights, self.ranks.sum_)

    def summarize(self) -> None:
        """Put together what the host is told of the iteration."""
        sums = self.player.episodes.total()
        self.ranks.sum_(sums)
        self.summary[:3].copy_(sums)
        self.summary[3].copy_(self.optimizer.learning_rate)
        self.summary[4:].copy_(self.ranks.mean_(self.metrics.clone()))
        sums.zero_()

    def tensors(self) -> dict[str, torch.Tensor]:
        """What the next iteration depends on; names with ``rows/`` belong to the worlds of this process."""
        found = {f"policy/{k}": v for k, v in self.policy.state_dict().items()}
        found |= {f"optimizer/{k}": v for k, v in self.optimizer.tensors().items()}
        found |= {"sampler": self.player.sampler.tick, "shuffle": self.shuffle.tick, "metrics": self.metrics, "rows/state": self.player.state}
        found |= {f"rows/{k}": v for k, v in self.player.episodes.tensors().items()}
        if self.scale is not None:
            found |= {f"scale/{k}" if v.ndim == 0 else f"rows/scale/{k}": v for k, v in self.scale.state_dict().items()}
        return found

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take back what :meth:`tensors` gave. Where the rows are missing, new episodes begin; InputError where anything else is."""
        own = self.tensors()
        take_over(f"policy '{self.name}'", own, tensors, {"sampler": COUNTER, "shuffle": COUNTER, **OPTIMIZER}, optional=("rows/",))
        for name in own:
            if name.startswith("rows/") and name not in tensors:
                own[name].zero_()
        self.hand_over()


def choose_teams(simulation: Simulation, config: TrainConfig, network: nn.Module | None, teams: Mapping[str, Team] | None) -> dict[str, Team]:
    """The teams that were given, or one policy for each kind of agent."""
    if teams is None:
        return default_teams(simulation, network)
    if network is not None:
        raise InputError("a network and teams cannot both be given: give each team its network")
    trained = [{id(parameter) for parameter in team.network.parameters()} for team in teams.values() if team.network is not None]
    if len(set().union(*trained)) < sum(map(len, trained)):
        raise InputError("two teams cannot train the same parameters: name the agents of both in one team, as in 'Wolf,Sheep'")
    for name, team in teams.items():
        if not re.fullmatch(r"[\w.-]+", name) or name in RESERVED:
            raise InputError(f"a policy cannot be called '{name}': use letters, digits, '_', '-' and '.', and none of {', '.join(RESERVED)}")
        if team.config is not None and not isinstance(team.config, type(config)):
            raise InputError(f"team '{name}' has the settings {type(team.config).__name__}, but this training takes {type(config).__name__}")
    return dict(teams)


def default_teams(simulation: Simulation, network: nn.Module | None) -> dict[str, Team]:
    kinds = list(acting_kinds(simulation.definition))
    if network is not None and len(kinds) > 1:
        raise InputError(f"world '{simulation.definition.id}' has the agents {', '.join(kinds)}: give each a team with its network")
    return {kind: Team(kind, network=network) for kind in kinds}


def check_teams(simulation: Simulation, learners: Mapping[str, Seated]) -> None:
    """Every agent must be played by one policy, and by one only."""
    left = {(t, slot) for t, count in acting_kinds(simulation.definition).items() for slot in range(count)}
    for name, learner in learners.items():
        for seat in _seats_of(learner.seats.members, simulation):
            if seat not in left:
                raise InputError(f"{seat[0]} {seat[1]} is played by two policies, one of them '{name}': give every agent one")
            left.remove(seat)
    if left:
        table, slot = min(left)
        raise InputError(f"no policy plays {table} {slot}: name every agent in one team")


def _seats_of(members: tuple[Member, ...], simulation: Simulation) -> list[tuple[str, int]]:
    counts = acting_kinds(simulation.definition)
    return [(m.table, slot) for m in members for slot in (range(counts[m.table]) if m.slots is None else m.slots)]
