"""The observation, action, reward and info components of a world, with their Gymnasium spaces."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from worldloom.core.model.dtypes import SCALARS, scalar_of
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.definition import Definition

MASK = "active"
"""The column with the mask of the rows that hold an agent, where the number of agents varies."""


@dataclass(frozen=True)
class EnvComponent:
    """One component of an observation, an action, a reward or an info.

    Attributes:
        key: Its key in the interface: its own name, prefixed with its table's where two tables have the same name.
        table, name: The column that holds it.
        space: The space of one world's value.
        shape: The shape of one world's value; there is no entity axis where the world has one entity. The rows of a
            population of agents are padded to its capacity.
        gymnasium_space: The space of one world's value in Gymnasium: ``space``, or a Tuple of Discrete spaces.
    """

    key: str
    table: str
    name: str
    space: gymnasium.Space[Any]
    shape: tuple[int, ...]
    gymnasium_space: gymnasium.Space[Any]


@dataclass(frozen=True)
class EnvLayout:
    """The components of a world that an environment exposes, by role."""

    observations: list[EnvComponent] = field(default_factory=list)
    actions: list[EnvComponent] = field(default_factory=list)
    rewards: list[EnvComponent] = field(default_factory=list)
    infos: list[EnvComponent] = field(default_factory=list)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one world's observation: the single component's space, or a Dict of several."""
        return combine_spaces({component.key: component.space for component in self.observations})

    @property
    def gymnasium_observation_space(self) -> gymnasium.Space[Any]:
        """The space of one world's observation in Gymnasium's interface, where a component may be a Tuple."""
        return combine_spaces({component.key: component.gymnasium_space for component in self.observations})

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The space of one world's action: the single component's space, or a Dict of several."""
        return combine_spaces({component.key: component.space for component in self.actions})


def make_layout(definition: Definition) -> EnvLayout:
    """The layout of a world: every observation, action, reward and info component, each under a unique key.

    Where the number of agents varies, the infos also have the mask ``active`` of the rows with an agent, and so have
    the observations where they are several.
    """
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD, Role.INFO), "an environment")
    counts = {"World": 1, **definition.rows}
    agent_tables = {"World": "World", **definition.agent_tables}
    tables: dict[str, Mapping[str, Field]] = {
        "World": definition.world.fields,
        **{k.__name__: k.fields for k in definition.entities},
    }
    by_role: dict[Role, list[EnvComponent]] = {Role.OBSERVATION: [], Role.ACTION: [], Role.REWARD: [], Role.INFO: []}
    for role, components in by_role.items():
        columns = [(t, f) for t, fields in tables.items() for f in fields.values() if f.role is role]
        names = [f.name for _, f in columns]
        for table, column in columns:
            key = column.name if names.count(column.name) == 1 else f"{table}.{column.name}"
            shape = (() if counts[table] == 1 else (counts[table],)) + column.value_shape
            space = component_space(column, shape)
            source = agent_tables[table]
            components.append(EnvComponent(key, source, column.name, space, shape, _gymnasium_space(column, space)))
    masks = _agent_masks(definition, {component.key for part in by_role.values() for component in part})
    by_role[Role.INFO] += masks
    if len(by_role[Role.OBSERVATION]) > 1:
        by_role[Role.OBSERVATION] += masks
    return EnvLayout(by_role[Role.OBSERVATION], by_role[Role.ACTION], by_role[Role.REWARD], by_role[Role.INFO])


def _agent_masks(definition: Definition, keys: Collection[str]) -> list[EnvComponent]:
    """For each population of agents, the mask of its rows that hold an agent: ``active``, or ``Kind.active``."""
    agents = [population for population in definition.populations.values() if population.agents]
    masks = []
    for population in agents:
        key = MASK if len(agents) == 1 and MASK not in keys else f"{population.table}.{MASK}"
        shape = () if population.limit.per_world == 1 else (population.limit.per_world,)
        space = gymnasium.spaces.MultiBinary(shape)
        masks.append(EnvComponent(key, population.agent_table, MASK, space, shape, space))
    return masks


def component_space(component: Field, shape: tuple[int, ...]) -> gymnasium.Space[Any]:
    """The space of one world's value of a component, of ``shape``."""
    dtype = SCALARS[scalar_of(component.dtype)]
    if isinstance(component.space, Discrete):
        return (
            gymnasium.spaces.Discrete(component.space.n)
            if shape == ()
            else gymnasium.spaces.MultiDiscrete(np.full(shape, component.space.n))
        )
    if isinstance(component.space, MultiDiscrete):
        return gymnasium.spaces.MultiDiscrete(np.broadcast_to(component.space.choices, shape).copy())
    low: Any = component.space.low if isinstance(component.space, Box) else component.low
    high: Any = component.space.high if isinstance(component.space, Box) else component.high
    if dtype is np.bool_:
        return gymnasium.spaces.MultiBinary(shape)
    bounds = [
        np.broadcast_to(_clip_to_dtype(_shaped(bound, component.value_shape), dtype), shape).copy()
        for bound in (low, high)
    ]
    return gymnasium.spaces.Box(bounds[0], bounds[1], shape, dtype)


def _gymnasium_space(component: Field, space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    """``space``, or a Tuple of its Discrete spaces where the component of one entity declares it."""
    declared = component.space
    if isinstance(declared, MultiDiscrete) and declared.as_tuple and space.shape == component.value_shape:
        return gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(n) for n in declared.choices])
    return space


def combine_spaces(spaces: dict[str, gymnasium.Space[Any]]) -> gymnasium.Space[Any]:
    """The single space alone, or a Dict of several."""
    return next(iter(spaces.values())) if len(spaces) == 1 else gymnasium.spaces.Dict(spaces)


def combine_values(values: dict[str, Any]) -> Any:
    """The single value alone, or the dict of several, as :func:`combine_spaces` nests their spaces."""
    return next(iter(values.values())) if len(values) == 1 else values


def _shaped(bound: Any, value_shape: tuple[int, ...]) -> Any:
    """``bound`` in the shape of a value if it has one number for each of its elements."""
    return np.reshape(bound, value_shape) if np.size(bound) == math.prod(value_shape) > 1 else bound


def _clip_to_dtype(bound: Any, dtype: Any) -> Any:
    """``bound``, a number or an array, in ``dtype``; integer types clip it to their smallest and largest value."""
    if not np.issubdtype(dtype, np.integer):
        return np.asarray(bound, dtype=dtype)
    smallest, largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    clipped = [smallest if b <= smallest else largest if b >= largest else int(b) for b in np.ravel(bound).tolist()]
    return np.asarray(clipped, dtype=dtype).reshape(np.shape(bound))
