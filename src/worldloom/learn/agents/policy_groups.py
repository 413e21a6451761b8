"""Policy groups: which agents share a policy, and with which settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup, agent_counts, agent_slots
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.config.train_config import TrainConfig

if TYPE_CHECKING:
    from worldloom.learn.opponents.saved_policy import SavedPolicy

RESERVED_NAMES = ("worlds", "window", "turn", "self_play")
"""Names that a checkpoint uses for other tensors than those of a policy."""

POLICY_NAME = r"[\w.-]+"
"""Pattern of the names of policies, which are parts of file names."""


@dataclass(frozen=True)
class PolicyGroup:
    """Agents that share a policy.

    Attributes:
        agents: The agents: kinds of entity such as ``Wolf``, ``Wolf,Sheep`` for both, or ``Wolf[0:2]`` for some.
        config: Settings of this policy; None for those of the trainer. All policies have equally long rollouts.
        train: Whether the policy is trained. A frozen policy only acts.
        network: A module to use as the policy: observations in, (action parameters, value) out; with DQN, one value per
            choice. None to build the network of the settings.
        pool: A pool of past selves, which act in a part of the worlds; None for none. On-policy algorithms only.
        saved: A policy of an earlier run: its network, parameters and statistics are used. With ``train=False`` it
            is a frozen teammate or opponent, otherwise the training continues from it. None for a new policy.
    """

    agents: str
    config: TrainConfig | None = None
    train: bool = True
    network: nn.Module | None = None
    pool: OpponentPool | None = None
    saved: SavedPolicy | None = None


class HasAgentGroup(Protocol):
    """An object that controls an agent group."""

    agent_group: AgentGroup


def resolve_policy_groups(
    simulation: Simulation,
    config: TrainConfig,
    network: nn.Module | None,
    policy_groups: Mapping[str, PolicyGroup] | None,
) -> dict[str, PolicyGroup]:
    """The given policy groups, checked; or one policy per kind of agent."""
    if policy_groups is None:
        return default_policy_groups(simulation, network)
    if network is not None:
        raise InputError("network and policy_groups cannot both be given: give each policy group its network")
    parameters = [
        {id(parameter) for parameter in group.network.parameters()}
        for group in policy_groups.values()
        if group.network is not None
    ]
    if len(set().union(*parameters)) < sum(map(len, parameters)):
        raise InputError(
            "two policy groups cannot train the same parameters: name the agents of both in one group, "
            "as in 'Wolf,Sheep'"
        )
    for name, group in policy_groups.items():
        if not re.fullmatch(POLICY_NAME, name) or name in RESERVED_NAMES:
            raise InputError(
                f"a policy cannot be called '{name}': use letters, digits, '_', '-' and '.', "
                f"and none of {', '.join(RESERVED_NAMES)}"
            )
        if group.pool is not None and not group.train:
            raise InputError(
                f"policy group '{name}' is not trained, so it has no past selves: omit its pool, or train it"
            )
        if group.saved is not None and group.network is not None:
            raise InputError(f"policy group '{name}' has both a network and a saved policy: give one of them")
        if group.config is not None and not isinstance(group.config, type(config)):
            raise InputError(
                f"policy group '{name}' has settings of the class {type(group.config).__name__}, "
                f"but this trainer takes {type(config).__name__}"
            )
    return dict(policy_groups)


def default_policy_groups(simulation: Simulation, network: nn.Module | None) -> dict[str, PolicyGroup]:
    """One policy per kind of agent."""
    kinds = list(agent_counts(simulation.definition))
    if network is not None and len(kinds) > 1:
        raise InputError(
            f"world '{simulation.definition.id}' has the agents {', '.join(kinds)}: "
            "give each a policy group with its network"
        )
    return {kind: PolicyGroup(kind, network=network) for kind in kinds}


def check_policy_groups(simulation: Simulation, learners: Mapping[str, HasAgentGroup]) -> None:
    """InputError unless every agent is controlled by exactly one policy."""
    counts = agent_counts(simulation.definition)
    uncontrolled = {(table, slot) for table, count in counts.items() for slot in range(count)}
    for name, learner in learners.items():
        for agent in agent_slots(learner.agent_group.slices, counts):
            if agent not in uncontrolled:
                raise InputError(
                    f"{agent[0]} {agent[1]} is controlled by two policies, one of them '{name}': give every agent one"
                )
            uncontrolled.remove(agent)
    if uncontrolled:
        table, slot = min(uncontrolled)
        raise InputError(f"no policy controls {table} {slot}: name every agent in one policy group")
