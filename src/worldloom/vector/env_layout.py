"""How a world's components appear from outside: its observation, its action and their spaces, in Gymnasium's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from worldloom.core.model.fields import SCALARS, Field, Role, scalar_of
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.registry import Definition


@dataclass(frozen=True)
class EnvComponent:
    """One component as part of an observation or an action.

    Attributes:
        key: What it is called outside: its own name, with its table's where two have the same.
        table, name: The column behind it.
        space: The space of one world's value.
        shape: The shape of one world's value; the axis of entities is left out where there is one entity.
    """

    key: str
    table: str
    name: str
    space: gymnasium.Space[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class EnvLayout:
    """The components of a world that the outside sees."""

    observations: list[EnvComponent] = field(default_factory=list)
    actions: list[EnvComponent] = field(default_factory=list)
    rewards: list[EnvComponent] = field(default_factory=list)
    infos: list[EnvComponent] = field(default_factory=list)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one world's observation: the component's own, or a Dict where there are several."""
        return _combine_spaces(self.observations)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return _combine_spaces(self.actions)


def make_layout(definition: Definition) -> EnvLayout:
    """The outside of a world: every component with a role for it, each under a key of its own."""
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD, Role.INFO), "an environment")
    counts = {"World": 1, **definition.rows}
    tables: dict[str, Mapping[str, Field]] = {
        "World": definition.world.fields,
        **{k.__name__: k.fields for k in definition.entities},
    }
    by_role: dict[Role, list[EnvComponent]] = {Role.OBSERVATION: [], Role.ACTION: [], Role.REWARD: [], Role.INFO: []}
    for role, leaves in by_role.items():
        found = [(t, f) for t, fields in tables.items() for f in fields.values() if f.role is role]
        names = [f.name for _, f in found]
        for table, component in found:
            key = component.name if names.count(component.name) == 1 else f"{table}.{component.name}"
            shape = (() if counts[table] == 1 else (counts[table],)) + component.value_shape
            leaves.append(EnvComponent(key, table, component.name, component_space(component, shape), shape))
    return EnvLayout(by_role[Role.OBSERVATION], by_role[Role.ACTION], by_role[Role.REWARD], by_role[Role.INFO])


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
    bounds = [np.broadcast_to(_clip_to_dtype(bound, dtype), shape).copy() for bound in (low, high)]
    return gymnasium.spaces.Box(bounds[0], bounds[1], shape, dtype)


def _clip_to_dtype(bound: Any, dtype: Any) -> Any:
    """``bound``, one number or several, in ``dtype``; whole numbers have their type's least and greatest instead of infinities."""
    if not np.issubdtype(dtype, np.integer):
        return np.asarray(bound, dtype=dtype)
    least, greatest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    whole = [least if b <= least else greatest if b >= greatest else int(b) for b in np.ravel(bound).tolist()]
    return np.asarray(whole, dtype=dtype).reshape(np.shape(bound))


def _combine_spaces(leaves: list[EnvComponent]) -> gymnasium.Space[Any]:
    if len(leaves) == 1:
        return leaves[0].space
    return gymnasium.spaces.Dict({leaf.key: leaf.space for leaf in leaves})
