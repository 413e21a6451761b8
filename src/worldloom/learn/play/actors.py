"""Actors: trained policies that choose actions in worlds, without learning."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import torch

from worldloom.atari.env.family import AtariFamily
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.definition import Definition
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import mode
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

ATARI_EVALUATION_EPSILON = 0.05
"""Epsilon of a trained DQN policy in Atari worlds, as is usual: some games only start with a press of a button."""


class Actor(Protocol):
    """Chooses actions: (observations, state, mask) to (actions, state), all with a row per agent."""

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        """The recurrent state at the start of episodes, shape (rows, size)."""

    def act(
        self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions of shape (rows, width), and the next state."""


class PolicyActor:
    """Acts with an actor-critic policy: the most likely action, or with a sampler a sampled one."""

    def __init__(self, policy: Policy, sampler: Sampler | None = None) -> None:
        self.policy, self.sampler = policy, sampler
        self._required = network_inputs(policy.spec.observations, policy.config).actor

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        return self.policy.initial_state(rows, device)

    def act(
        self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        require_observations(observations, self._required)
        with evaluation_mode(self.policy):
            parameters, state = self.policy.act(dict(observations), state)
        spec = self.policy.spec.action
        if self.sampler is None:
            return mode(spec, parameters, mask), state
        rows = len(parameters)
        action = torch.empty((rows, spec.width), dtype=spec.dtype, device=parameters.device)
        unused = torch.empty((2, rows), device=parameters.device)
        self.sampler.sample(
            parameters, action=action, log_prob=unused[0], entropy=unused[1], mask=mask, log_std=self.policy.log_std
        )
        self.sampler.advance()
        return action, state


class QActor:
    """Takes the action with the highest value; with probability ``epsilon`` a random allowed one."""

    def __init__(self, network: QNetwork, epsilon: float = 0.0, rows: int = 0, seed: int = 0, stream: int = 0) -> None:
        self.network = network
        self._explorer = (
            EpsilonGreedy(rows, next(network.parameters()).device, seed, stream=stream) if epsilon > 0.0 else None
        )
        if self._explorer is not None:
            self._explorer.epsilon.fill_(epsilon)

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        return torch.zeros(rows, 0, device=device)

    def act(
        self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        require_observations(observations, self.network.observations)
        with evaluation_mode(self.network):
            values = self.network(dict(observations))
        if self._explorer is None:
            return mode(self.network.spec.action, values, mask), state
        action = torch.empty((len(values), 1), dtype=torch.int32, device=values.device)
        self._explorer.choose(values.float(), action, mask)
        self._explorer.advance(1)
        return action, state


def require_observations(observations: Mapping[str, torch.Tensor], required: Collection[str]) -> None:
    """InputError unless ``observations`` has all names of ``required``."""
    missing = [name for name in required if name not in observations]
    if missing:
        raise InputError(
            f"the policy needs the observation '{missing[0]}' and was given {', '.join(observations) or 'none'}: "
            f"give {', '.join(required)} by name, as AgentGroup.observations() does"
        )


def default_epsilon(world: Definition) -> float:
    """The default epsilon of a trained DQN policy in ``world``."""
    return ATARI_EVALUATION_EPSILON if isinstance(family_of(world.id), AtariFamily) else 0.0


class TrainedPolicy(Protocol):
    """A policy with its agents and settings; the learners of a trainer are such."""

    agent_group: AgentGroup
    policy: Policy | QNetwork
    config: TrainConfig


def make_actors(
    learners: Mapping[str, TrainedPolicy],
    simulation: Simulation,
    *,
    stochastic: bool = False,
    seed: int = 0,
    epsilon: float | None = None,
) -> dict[str, tuple[AgentGroup, Actor]]:
    """The policies of a trainer (``trainer.learners``) as actors, with their agent groups in other worlds.

    Args:
        learners: The policies by name. They may come from several trainers; together they control every agent.
        simulation: Worlds with the same kinds of agents, on the policies' device.
        stochastic: Sample actions as in training, instead of taking the most likely ones.
        seed: Seed of the samples.
        epsilon: Epsilon of DQN policies; None for the world's default.
    """
    epsilon = default_epsilon(simulation.definition) if epsilon is None else epsilon
    actors: dict[str, tuple[AgentGroup, Actor]] = {}
    for number, (name, learner) in enumerate(learners.items()):
        config = learner.config
        agent_group = AgentGroup(simulation, learner.agent_group.slices, config.action_masks, config.policy)
        if isinstance(learner.policy, QNetwork):
            actors[name] = agent_group, QActor(learner.policy, epsilon, agent_group.rows, seed, number)
        else:
            actors[name] = agent_group, policy_actor(learner.policy, agent_group, stochastic, seed, number)
    return actors


def policy_actor(policy: Policy, agent_group: AgentGroup, stochastic: bool, seed: int, stream: int) -> PolicyActor:
    """An actor for ``policy``, with a sampler where ``stochastic``."""
    action, rows, device = agent_group.spec.action, agent_group.rows, agent_group.device
    return PolicyActor(policy, Sampler(action, rows, device, seed, stream=stream) if stochastic else None)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names that moved to ``saved_run``, importable from here for one release."""
        if name not in ("SavedRun", "open_run"):
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        saved_run = importlib.import_module("worldloom.learn.runs.saved_run")
        warnings.warn(
            f"{__name__}.{name} is now worldloom.learn.{name}; the old path works until the next release",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(saved_run, name)
