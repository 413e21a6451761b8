"""A policy of an earlier run, as data: its network's settings, its parameters and its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import TrainConfig

OWN_NETWORKS = ("dqn", "sac", "td3")
"""Algorithms whose policies are of no use to others. All others train actor-critics."""
Q_SETTINGS = ("atoms", "v_min", "v_max", "noisy")
"""Settings of DQN that describe the output layers of its networks."""
ConfigT = TypeVar("ConfigT", bound=TrainConfig)


def own_network(algorithm: str) -> str:
    """``algorithm`` where it is one of OWN_NETWORKS; empty for one that trains actor-critics."""
    return algorithm if algorithm in OWN_NETWORKS else ""


@dataclass(frozen=True, eq=False)
class SavedPolicy:
    """One policy of a run.

    Attributes:
        source: Where it was read, for error messages.
        name: Its name in the run.
        world: The id of the run's world.
        agents: The agents that it controlled.
        algorithm: The algorithm that trained it.
        config: Architecture of its network.
        action_masks: Whether it was trained with action masks.
        q_settings: Values of Q_SETTINGS of a policy of DQN; empty for others.
        tensors: Parameters and observation statistics, by the names of the network's ``state_dict``.
        value_moments: Running moments of the value targets, with which a training of it continues; empty where it was
            trained without ``normalize_values``.
        identity: The identity of the run's world as its checkpoint holds it; None where it does not.
    """

    source: str
    name: str
    world: str
    agents: str
    algorithm: str
    config: PolicyConfig
    action_masks: bool
    tensors: Mapping[str, Tensor]
    value_moments: Mapping[str, Tensor] = field(default_factory=dict)
    q_settings: Mapping[str, Any] = field(default_factory=dict)
    identity: Any = None

    def applied_to(self, config: ConfigT) -> ConfigT:
        """``config`` with the network of this policy."""
        known = {name: value for name, value in self.q_settings.items() if hasattr(config, name)}
        return replace(config, policy=self.config, action_masks=self.action_masks, **known)

    def check(self, policy: str, agent_group: AgentGroup, network: str) -> None:
        """InputError unless it can control ``agent_group``.

        Args:
            policy: The name of the policy that it becomes.
            agent_group: The agents.
            network: The network of the training's policies, as :func:`own_network` names it.
        """
        what = f"policy '{self.name}' of {self.source} cannot be used as '{policy}'"
        definition = agent_group.simulation.definition
        if self.world != definition.id:
            raise InputError(
                f"{what}: it was trained in world '{self.world}', not in '{definition.id}'; name a run of this world"
            )
        if network != own_network(self.algorithm):
            needed = f"one trained by {network or 'ppo, a2c or vtrace'}"
            raise InputError(f"{what}: it was trained by {self.algorithm}, and this training needs {needed}")
        slices = parse_agents(self.agents, definition)
        trained = AgentGroup(agent_group.simulation, slices, self.action_masks, self.config)
        if trained.spec != agent_group.spec:
            raise InputError(
                f"{what}: its agents {self.agents} have other observations or actions than "
                f"{', '.join(dict.fromkeys(s.table for s in agent_group.slices))}; name a policy of the same agents"
            )

    @torch.no_grad()
    def copy_to(self, network: nn.Module) -> None:
        """Copy the tensors into ``network``, in place; InputError where they are of another network."""
        own = network.state_dict()
        if {k: (v.shape, v.dtype) for k, v in own.items()} != {k: (v.shape, v.dtype) for k, v in self.tensors.items()}:
            raise InputError(
                f"the saved policy '{self.name}' of {self.source} is not the network that its settings describe: "
                "a custom module cannot be rebuilt from a file"
            )
        for name, value in own.items():
            value.copy_(self.tensors[name])
