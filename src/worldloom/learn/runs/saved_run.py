"""Opening the folder of a run: its request, its world, and its policies as actors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import find
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup, AgentSlice, agent_counts, agent_slots, parse_agents
from worldloom.learn.config.dqn_config import DQNConfig
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.networks.memory_check import require_network
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.opponents.saved_policy import own_network
from worldloom.learn.play.actors import Actor, QActor, default_epsilon, policy_actor
from worldloom.learn.runs.checkpoint_files import Checkpoint
from worldloom.learn.runs.saved_policies import network_settings, read_run
from worldloom.learn.runs.training_request import TrainingRequest, resolve_world
from worldloom.learn.training.world_identity import KEY, require_same_world

NetworkT = TypeVar("NetworkT", Policy, QNetwork)


@dataclass(frozen=True)
class SavedRun:
    """A run as saved in its folder.

    Attributes:
        folder: The folder, or the file of policies.
        request: The request it was trained with.
        definition: Its world.
        checkpoint: The checkpoint that its policies are loaded from.
        changed_world: What has changed in its world since, in words, where that was allowed.
    """

    folder: Path
    request: TrainingRequest
    definition: Definition
    checkpoint: Checkpoint
    changed_world: tuple[str, ...] = ()

    def worlds(
        self, num_worlds: int, device: str, seed: int, *, reset: bool = True, config: Mapping[str, Any] | None = None
    ) -> Simulation:
        """New worlds, configured as in the training except for ``config``.

        With ``reset`` they have same-step autoreset, otherwise none.
        """
        autoreset: Autoreset = "same_step" if reset else "disabled"
        values = {**self.request.world_config, **(config or {})}
        return Simulation(self.definition, num_worlds, device, seed=seed, autoreset=autoreset, config=values)

    def actors(
        self,
        simulation: Simulation,
        *,
        stochastic: bool = False,
        seed: int = 0,
        epsilon: float | None = None,
        agents: Collection[tuple[str, int]] | None = None,
    ) -> dict[str, tuple[AgentGroup, Actor]]:
        """Every policy with its agent group in ``simulation``, by name.

        A policy takes its most likely action, or with ``stochastic`` samples one. Policies of DQN are epsilon-greedy
        with ``epsilon``, None for the world's default; InputError where it is given for another algorithm. With
        ``agents``, as (kind, slot), policies control only those of their agents, and policies without any are left out.
        """
        if epsilon is not None and self.request.algorithm != "dqn":
            raise InputError(
                f"only policies of dqn have an epsilon, and {self.folder} is of {self.request.algorithm}: "
                "omit --epsilon"
            )
        epsilon = default_epsilon(self.definition) if epsilon is None else epsilon
        policies = self.request.policies or {kind: kind for kind in agent_counts(self.definition)}
        actors: dict[str, tuple[AgentGroup, Actor]] = {}
        counts = agent_counts(self.definition)
        for number, (name, text) in enumerate(policies.items()):
            slices = parse_agents(text, self.definition)
            if agents is not None:
                slices = _restricted(slices, agents, counts)
            if slices:
                config = network_settings(self.request, self.folder, name)
                agent_group = AgentGroup(simulation, slices, config.action_masks, config.policy)
                actor = self._actor(name, config, agent_group, number, stochastic, seed, epsilon)
                actors[name] = agent_group, actor
        return actors

    def _actor(
        self,
        name: str,
        config: TrainConfig,
        agent_group: AgentGroup,
        number: int,
        stochastic: bool,
        seed: int,
        epsilon: float,
    ) -> Actor:
        spec, device = agent_group.spec, agent_group.device
        has_critic = not own_network(self.request.algorithm)
        require_network(name, spec, config.policy, device, copies=1, critic=has_critic)
        if isinstance(config, DQNConfig):
            if stochastic:
                raise InputError("a policy of dqn has no action probabilities to sample from: omit --stochastic")
            network = self._load_parameters(QNetwork(spec, config.policy, head=config.head), name).to(device)
            return QActor(network, epsilon, agent_group.rows, seed, number)
        policy = self._load_parameters(Policy(spec, config.policy, critic=has_critic), name).to(device)
        if stochastic and not policy.stochastic:
            raise InputError(f"a policy of {self.request.algorithm} is deterministic: omit --stochastic")
        return policy_actor(policy, agent_group, stochastic, seed, number)

    def _load_parameters(self, network: NetworkT, name: str) -> NetworkT:
        """``network`` with the saved parameters of policy ``name``."""
        prefix = f"{name}/policy/"
        saved = {k.removeprefix(prefix): v for k, v in self.checkpoint.tensors.items() if k.startswith(prefix)}
        own = network.state_dict()
        if not saved:
            raise InputError(f"{self.folder} has no saved policy '{name}', which its world has: train a new one")
        changed = [k for k, v in saved.items() if k in own and own[k].shape != v.shape]
        if set(own) == set(saved) and changed:
            was, now = tuple(saved[changed[0]].shape), tuple(own[changed[0]].shape)
            raise InputError(
                f"the saved policy '{name}' of {self.folder} does not fit the world's observations and actions: "
                f"'{changed[0]}' has the shape {was}, and here {now}; train a new one"
            )
        if {k: (v.shape, v.dtype) for k, v in own.items()} != {k: (v.shape, v.dtype) for k, v in saved.items()}:
            raise InputError(
                f"the saved policy '{name}' of {self.folder} is not the network that its config.json describes: "
                "a custom module cannot be rebuilt from a file, so evaluate it from Python"
            )
        network.load_state_dict(saved)
        return network.requires_grad_(False)


def _restricted(
    slices: Sequence[AgentSlice], agents: Collection[tuple[str, int]], counts: Mapping[str, int]
) -> tuple[AgentSlice, ...]:
    """Those of ``slices`` that are among ``agents``, one slice per kind."""
    slots: dict[str, list[int]] = {}
    for table, slot in agent_slots(slices, counts):
        if (table, slot) in agents:
            slots.setdefault(table, []).append(slot)
    return tuple(AgentSlice(t, None if len(chosen) == counts[t] else tuple(chosen)) for t, chosen in slots.items())


def open_run(folder: Path, checkpoint: str = "last", env: str = "", *, allow_changed_world: bool = False) -> SavedRun:
    """Read the run in ``folder``. A Python file with its world is only imported where ``env`` names it.

    Args:
        folder: The folder, or a file of policies that ``worldloom export --to policies`` wrote.
        checkpoint: ``last``, ``best``, or one of its checkpoints by name or path.
        env: The file that registers the run's world; empty for a world that is already registered.
        allow_changed_world: Go on with a warning where the rules of the world have changed since the checkpoint was
            saved, instead of raising ChangedWorldError.
    """
    for name, value in (("checkpoint", checkpoint), ("env", env)):
        if not isinstance(value, str):
            raise InputError(f"{name} must be text, not {value!r}")
    request, saved, where = read_run(folder, checkpoint)
    request = resolve_world(request, env)
    definition = find(request.env)
    changed = require_same_world(
        saved.state.get(KEY),
        definition,
        where,
        since=f"the run in {folder} was trained",
        allow=allow_changed_world,
    )
    return SavedRun(Path(folder), request, definition, saved, tuple(changed))
