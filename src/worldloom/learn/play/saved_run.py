"""Opening the folder of a run: its request, its world, and its policies as actors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import find
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup, agent_counts, parse_agents
from worldloom.learn.networks.memory_check import require_network
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.play.actors import Actor, QActor, default_epsilon, policy_actor
from worldloom.learn.runs.checkpoint_files import Checkpoint
from worldloom.learn.runs.checkpoints import Checkpoints, first_problem
from worldloom.learn.runs.run_folder import read_config
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict, resolve_world

NetworkT = TypeVar("NetworkT", Policy, QNetwork)


@dataclass(frozen=True)
class SavedRun:
    """A run as saved in its folder.

    Attributes:
        folder: The folder.
        request: The request it was trained with.
        definition: Its world.
        checkpoint: The checkpoint that its policies are loaded from.
    """

    folder: Path
    request: TrainingRequest
    definition: Definition
    checkpoint: Checkpoint

    def worlds(self, num_worlds: int, device: str, seed: int, *, reset: bool = True) -> Simulation:
        """New worlds, configured as in the training. With ``reset`` they have same-step autoreset, otherwise none."""
        autoreset: Autoreset = "same_step" if reset else "disabled"
        return Simulation(
            self.definition, num_worlds, device, seed=seed, autoreset=autoreset, config=self.request.world_config
        )

    def actors(
        self, simulation: Simulation, *, stochastic: bool = False, seed: int = 0, epsilon: float | None = None
    ) -> dict[str, tuple[AgentGroup, Actor]]:
        """Every policy with its agent group in ``simulation``, by name.

        A policy takes its most likely action, or with ``stochastic`` samples one. Policies of DQN are epsilon-greedy
        with ``epsilon``, None for the world's default; InputError where it is given for another algorithm.
        """
        if epsilon is not None and self.request.algorithm != "dqn":
            raise InputError(
                f"only policies of dqn have an epsilon, and {self.folder} is of {self.request.algorithm}: "
                "omit --epsilon"
            )
        epsilon = default_epsilon(self.definition) if epsilon is None else epsilon
        policies = self.request.policies or {kind: kind for kind in agent_counts(self.definition)}
        actors: dict[str, tuple[AgentGroup, Actor]] = {}
        for number, (name, agents) in enumerate(policies.items()):
            slices = parse_agents(agents, self.definition)
            agent_group = AgentGroup(simulation, slices, self.request.config.action_masks)
            actors[name] = agent_group, self._actor(name, agent_group, number, stochastic, seed, epsilon)
        return actors

    def _actor(
        self, name: str, agent_group: AgentGroup, number: int, stochastic: bool, seed: int, epsilon: float
    ) -> Actor:
        config, spec, device = self.request.config.policy, agent_group.spec, agent_group.device
        is_dqn = self.request.algorithm == "dqn"
        require_network(name, spec, config, device, copies=1, critic=not is_dqn)
        if is_dqn:
            if stochastic:
                raise InputError("a policy of dqn has no action probabilities to sample from: omit --stochastic")
            network = self._load_parameters(QNetwork(spec, config), name).to(device)
            return QActor(network, epsilon, agent_group.rows, seed, number)
        policy = self._load_parameters(Policy(spec, config), name).to(device)
        return policy_actor(policy, agent_group, stochastic, seed, number)

    def _load_parameters(self, network: NetworkT, name: str) -> NetworkT:
        """``network`` with the saved parameters of policy ``name``."""
        prefix = f"{name}/policy/"
        saved = {k.removeprefix(prefix): v for k, v in self.checkpoint.tensors.items() if k.startswith(prefix)}
        own = network.state_dict()
        if {k: (v.shape, v.dtype) for k, v in own.items()} != {k: (v.shape, v.dtype) for k, v in saved.items()}:
            raise InputError(
                f"the saved policy '{name}' of {self.folder} is not the network that its config.json describes: "
                "a custom module cannot be rebuilt from a file, so evaluate it from Python"
            )
        network.load_state_dict(saved)
        return network.requires_grad_(False)


def open_run(folder: Path, checkpoint: str = "last", env: str = "") -> SavedRun:
    """Read the run in ``folder``. A Python file with its world is only imported where ``env`` names it.

    Args:
        folder: The folder.
        checkpoint: ``last``, ``best``, or one of its checkpoints by name or path.
        env: The file that registers the run's world; empty for a world that is already registered.
    """
    request = resolve_world(request_from_dict(read_config(folder), Path(folder)), env)
    checkpoints = Checkpoints(Path(folder).expanduser() / "checkpoints")
    path = _choose_checkpoint(checkpoints, checkpoint, folder)
    return SavedRun(Path(folder), request, find(request.env), checkpoints.load(path))


def _choose_checkpoint(checkpoints: Checkpoints, checkpoint: str, folder: Path) -> Path:
    """The path of ``last``, ``best`` or a named checkpoint; InputError where there is none."""
    if checkpoint not in ("last", "best"):
        for path in (checkpoints.folder / checkpoint, Path(checkpoint).expanduser()):
            if path.is_dir():
                return path
        names = ", ".join(path.name for path in checkpoints.all()) or "none"
        raise InputError(
            f"there is no checkpoint '{checkpoint}' in {folder}: there are {names}; 'last' and 'best' name two of them"
        )
    chosen = checkpoints.latest() if checkpoint == "last" else checkpoints.best()
    if chosen is not None:
        return chosen
    if checkpoint == "best" and checkpoints.latest() is not None:
        raise InputError(f"{folder} has no checkpoint with a score: use the last one")
    if not checkpoints.problems:
        raise InputError(f"{folder} has no checkpoint yet")
    raise InputError(f"{folder} has no checkpoint that can be read: {first_problem(checkpoints.problems)}")
