"""Finished policies: read from the folder of a run, and seated in worlds to play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from worldloom.atari.env.family import AtariFamily
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.registry import Definition
from worldloom.core.registry.world_files import find
from worldloom.core.schedule.schedule import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import mode
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.networks.memory_check import require_network
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.play.evaluation import Actor
from worldloom.learn.runs.checkpoints import Checkpoint, Checkpoints
from worldloom.learn.runs.run_folder import read_config
from worldloom.learn.runs.training_run import TrainingRequest, agent_kinds, request_from_dict, resolve_world


class PolicyActor:
    """Plays with an actor: the likeliest action, or with a sampler one that is drawn."""

    def __init__(self, policy: Policy, sampler: Sampler | None = None) -> None:
        self.policy, self.sampler = policy, sampler

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        return self.policy.initial_state(rows, device)

    def act(
        self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        parameters, _, state = self.policy(dict(observations), state)
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


ATARI_EVALUATION_EPSILON = 0.05
"""How often a finished policy of DQN acts at random in an Atari world, as is usual there: a game that waits for its button would never begin otherwise."""


class QActor:
    """Plays the action with the highest value; with ``epsilon`` above 0 so often any that is allowed."""

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
        values = self.network(dict(observations))
        if self._explorer is None:
            return mode(self.network.spec.action, values, mask), state
        action = torch.empty((len(values), 1), dtype=torch.int32, device=values.device)
        self._explorer.choose(values.float(), action, mask)
        self._explorer.advance(1)
        return action, state


def default_epsilon(world: Definition) -> float:
    """How often a finished policy of DQN acts at random in ``world`` unless somebody says otherwise."""
    return ATARI_EVALUATION_EPSILON if isinstance(family_of(world.id), AtariFamily) else 0.0


class TrainedPolicy(Protocol):
    """A policy in training, or after it: what it plays with, and whom."""

    agent_group: AgentGroup
    policy: torch.nn.Module
    config: TrainConfig


def make_actors(
    learners: Mapping[str, TrainedPolicy],
    simulation: Simulation,
    *,
    stochastic: bool = False,
    seed: int = 0,
    epsilon: float | None = None,
) -> dict[str, tuple[AgentGroup, Actor]]:
    """The policies of a training (``trainer.learners``), as they are now, with their seats in other worlds.

    Args:
        learners: The policies by name; of several trainings too, as long as everybody in ``simulation`` is played by one.
        simulation: Worlds of the same kinds of agents, on the policies' device.
        stochastic: Draw actions as in the training, instead of the likeliest ones.
        seed: Where those draws start.
        epsilon: How often policies of DQN act at random; None for what is usual in the world.
    """
    often = default_epsilon(simulation.definition) if epsilon is None else epsilon
    found: dict[str, tuple[AgentGroup, Actor]] = {}
    for number, (name, learner) in enumerate(learners.items()):
        agent_group = AgentGroup(simulation, learner.agent_group.slices, learner.config.action_masks)
        if isinstance(learner.policy, QNetwork):
            found[name] = agent_group, QActor(learner.policy, often, agent_group.rows, seed, number)
        else:
            assert isinstance(learner.policy, Policy)
            sampler = (
                Sampler(agent_group.spec.action, agent_group.rows, agent_group.device, seed, stream=number)
                if stochastic
                else None
            )
            found[name] = agent_group, PolicyActor(learner.policy, sampler)
    return found


@dataclass(frozen=True)
class SavedRun:
    """A run as its folder keeps it.

    Attributes:
        folder: Where it is.
        request: How it was trained.
        definition: Its world.
        checkpoint: What its policies are taken from.
    """

    folder: Path
    request: TrainingRequest
    definition: Definition
    checkpoint: Checkpoint

    def worlds(self, num_worlds: int, device: str, seed: int, *, reset: bool = True) -> Simulation:
        """Fresh worlds, configured as in the training. With ``reset`` finished ones begin anew within the step, otherwise they stay as they are."""
        autoreset: Autoreset = "same_step" if reset else "disabled"
        return Simulation(
            self.definition, num_worlds, device, seed=seed, autoreset=autoreset, config=self.request.world_config
        )

    def actors(
        self, simulation: Simulation, *, stochastic: bool = False, seed: int = 0, epsilon: float | None = None
    ) -> dict[str, tuple[AgentGroup, Actor]]:
        """Every policy with its seats in ``simulation``, by name. Each plays its likeliest action, or with ``stochastic`` draws one.

        Policies of DQN act at random as often as ``epsilon`` says, or as is usual in the world; others do not, and InputError says so where it is given.
        """
        if epsilon is not None and self.request.algorithm != "dqn":
            raise InputError(
                f"only policies of dqn act at random so often, and {self.folder} is of {self.request.algorithm}: leave --epsilon off"
            )
        often = default_epsilon(self.definition) if epsilon is None else epsilon
        names = self.request.policies or {kind: kind for kind in agent_kinds(self.definition)}
        found: dict[str, tuple[AgentGroup, Actor]] = {}
        for number, (name, agents) in enumerate(names.items()):
            agent_group = AgentGroup(
                simulation, parse_agents(agents, self.definition), self.request.config.action_masks
            )
            found[name] = agent_group, self._actor(name, agent_group, number, stochastic, seed, often)
        return found

    def _actor(
        self, name: str, agent_group: AgentGroup, number: int, stochastic: bool, seed: int, epsilon: float
    ) -> Actor:
        config = self.request.config.policy
        require_network(
            name, agent_group.spec, config, agent_group.device, copies=1, critic=self.request.algorithm != "dqn"
        )
        if self.request.algorithm == "dqn":
            if stochastic:
                raise InputError("a policy of dqn has no probabilities to draw with: leave --stochastic off")
            network = QNetwork(agent_group.spec, config)
            self._filled(network, name)
            return QActor(network.to(agent_group.device), epsilon, agent_group.rows, seed, number)
        policy = self._filled(Policy(agent_group.spec, config), name).to(agent_group.device)
        return PolicyActor(
            policy,
            Sampler(agent_group.spec.action, agent_group.rows, agent_group.device, seed, stream=number)
            if stochastic
            else None,
        )

    def _filled(self, network: torch.nn.Module, name: str) -> torch.nn.Module:
        """``network`` with the parameters that were saved for policy ``name``."""
        prefix = f"{name}/policy/"
        saved = {k.removeprefix(prefix): v for k, v in self.checkpoint.tensors.items() if k.startswith(prefix)}
        own = network.state_dict()
        if {k: (v.shape, v.dtype) for k, v in own.items()} != {k: (v.shape, v.dtype) for k, v in saved.items()}:
            raise InputError(
                f"the saved policy '{name}' of {self.folder} is not the network that its config.json describes: "
                "a module of one's own cannot be rebuilt from a file, so evaluate it from Python"
            )
        network.load_state_dict(saved)
        return network.requires_grad_(False)


def open_run(folder: Path, checkpoint: str = "last", env: str = "") -> SavedRun:
    """Read the run in ``folder``. The file of its world is a program, which the folder's word alone does not run.

    Args:
        folder: Where it is.
        checkpoint: ``last``, ``best``, or one of its checkpoints by name or path.
        env: The file that registers the run's world; empty for a world that is registered already.
    """
    request = resolve_world(request_from_dict(read_config(folder), Path(folder)), env)
    kept = Checkpoints(Path(folder).expanduser() / "checkpoints")
    if checkpoint in ("last", "best"):
        path = kept.latest() if checkpoint == "last" else kept.best()
        if path is None:
            if kept.latest() is not None:
                raise InputError(f"{folder} has no checkpoint with a score: take the last one")
            raise InputError(f"{folder} has {'no checkpoint that can be read' if kept.all() else 'no checkpoint yet'}")
    else:
        named = [path for path in (kept.folder / checkpoint, Path(checkpoint).expanduser()) if path.is_dir()]
        if not named:
            there = ", ".join(path.name for path in kept.all()) or "none"
            raise InputError(
                f"there is no checkpoint '{checkpoint}' in {folder}: there are {there}; 'last' and 'best' name two of them"
            )
        path = named[0]
    return SavedRun(Path(folder), request, find(request.env), kept.load(path))
