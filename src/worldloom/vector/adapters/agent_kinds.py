"""The kinds of agents of a multi-agent world, with their components and spaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gymnasium

from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Field, Role
from worldloom.core.registry.definition import Definition
from worldloom.vector.env_layout import combine_spaces, component_space


@dataclass(frozen=True)
class AgentKind:
    """A kind of entity that acts.

    Attributes:
        table, count: The table of its agents, and their number in a world; for a population its capacity.
        varies: Whether it is a population, whose agents come and go.
        observations, actions, rewards, infos: Its components and those of the world, by key, each with its table.
        flags: The table of its ``terminated`` and ``truncated``: its own if its entities end individually, or the
            world's.
        observation_space, action_space: The spaces of one agent.
    """

    table: str
    count: int
    varies: bool
    observations: dict[str, tuple[str, Field]]
    actions: dict[str, tuple[str, Field]]
    rewards: dict[str, tuple[str, Field]]
    infos: dict[str, tuple[str, Field]]
    flags: str
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]


def agent_kinds(definition: Definition) -> dict[str, AgentKind]:
    """The kinds of entity with an action, by name."""
    if any(component.role is Role.ACTION for component in definition.world.fields.values()):
        raise InputError(
            f"world '{definition.id}' has an action component, which belongs to no agent: move it to a kind of entity"
        )
    kinds = {}
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD), "an environment")
    for kind in definition.entities:
        own_table = definition.agent_tables[kind.__name__]
        tables = {own_table: kind.fields, "World": definition.world.fields}
        by_role: dict[Role, dict[str, tuple[str, Field]]] = {role: {} for role in Role}
        for table, fields in tables.items():
            for component in fields.values():
                own = by_role[component.role]
                own[component.name if component.name not in own else f"{table}.{component.name}"] = (table, component)
        if not by_role[Role.ACTION]:
            continue
        kinds[_snake_case(kind.__name__)] = AgentKind(
            own_table,
            definition.rows[kind.__name__],
            kind.__name__ in definition.populations,
            observations=by_role[Role.OBSERVATION],
            actions=by_role[Role.ACTION],
            rewards=by_role[Role.REWARD],
            infos=by_role[Role.INFO],
            flags=own_table if definition.agents_end(kind) else "World",
            observation_space=_agent_space(by_role[Role.OBSERVATION]),
            action_space=_agent_space(by_role[Role.ACTION]),
        )
    if not kinds:
        raise InputError(f"world '{definition.id}' has no agents: give a kind of entity an action component")
    return kinds


def _agent_space(components: dict[str, tuple[str, Field]]) -> gymnasium.Space[Any]:
    return combine_spaces({key: component_space(c, c.value_shape) for key, (_, c) in components.items()})


def _snake_case(name: str) -> str:
    """``RedTank`` as ``red_tank``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
