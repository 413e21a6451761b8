"""The agents of a simulation that one policy controls, as tensors with a row per agent and world."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec

MASKS = ("action_mask", "{}_mask")
"""Names of a component that masks the choices of an action; ``{}`` is the action's name."""
LIVES = "lives"
"""Name of the component with the number of lives an agent has left."""


@dataclass(frozen=True)
class AgentSlice:
    """All or some entities of a kind that acts.

    Attributes:
        table: The kind's table.
        slots: Indices of the entities; None for all.
    """

    table: str
    slots: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ColumnRef:
    """A column that agents observe, or are rewarded with.

    Attributes:
        table, name: The column.
        whole: Whether each agent gets the values of all entities of the table instead of its own.
    """

    table: str
    name: str
    whole: bool


def agent_counts(definition: Definition) -> dict[str, int]:
    """Every table with an action, and its number of entities per world."""
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD), "a trainer")
    counts = {WORLD: 1, **definition.rows}
    tables = dict.fromkeys(t for t, _ in definition.actions().values())
    if not tables:
        raise InputError(
            f"world '{definition.id}' has no agents: "
            "give a kind of entity a component such as push: wl.Action(wl.Discrete(2))"
        )
    return {t: counts[t] for t in tables}


def parse_agents(text: str, definition: Definition) -> tuple[AgentSlice, ...]:
    """Parse agents such as ``Wolf``, ``Wolf[0:2]`` or ``Wolf[0],Sheep``; InputError for unknown ones."""
    counts = agent_counts(definition)
    slices = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\w+)\s*(?:\[\s*(\d+)\s*(?:(:)\s*(\d+)\s*)?\])?\s*", part)
        if match is None or match[1] not in counts:
            raise InputError(
                f"there are no agents '{part.strip()}' in world '{definition.id}': "
                f"name {', '.join(counts)}, or some of them as in {next(iter(counts))}[0:1]"
            )
        slots = None
        if match[2] is not None:
            slots = tuple(range(int(match[2]), int(match[4]) if match[3] else int(match[2]) + 1))
        if slots is not None and (not slots or slots[-1] >= counts[match[1]]):
            raise InputError(
                f"'{part.strip()}' is not among the {counts[match[1]]} agents {match[1]} "
                f"of world '{definition.id}', which are counted from 0"
            )
        slices.append(AgentSlice(match[1], slots))
    return tuple(slices)


def agent_slots(slices: Sequence[AgentSlice], counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every agent of ``slices`` as (table, slot), in order; ``counts`` are those of :func:`agent_counts`."""
    return [(s.table, slot) for s in slices for slot in (range(counts[s.table]) if s.slots is None else s.slots)]


class AgentGroup:
    """The agents that one policy controls. Row = world * agents + agent, in the order of the slices.

    An agent observes its own observation components and those of the world. A single agent observes all components of
    the world's entities, as in Gymnasium. The same holds for rewards.

    Args:
        simulation: The worlds.
        slices: The agents. All must have the same components, of the same shapes.
        masks: Whether to use action masks.
    """

    def __init__(self, simulation: Simulation, slices: Sequence[AgentSlice], masks: bool = True) -> None:
        self.simulation, self.slices = simulation, tuple(slices)
        definition = simulation.definition
        counts = agent_counts(definition)
        self.agents = sum(counts[m.table] if m.slots is None else len(m.slots) for m in slices)
        """Agents per world."""
        self.rows = simulation.num_worlds * self.agents
        self.device = simulation.terminated.torch().device
        self._single = sum(counts.values()) == 1
        self._fields = {(t, f.name): f for t, view in simulation.schedule.tables.items() for f in view.fields.values()}
        parts = [_SliceColumns(self, m.table, masks) for m in slices]
        self.spec = parts[0].spec
        for member, part in zip(slices[1:], parts[1:], strict=True):
            alike = part.spec == self.spec and (part.mask is None) == (parts[0].mask is None)
            if not alike or [s.name for s in part.actions] != [s.name for s in parts[0].actions]:
                raise InputError(
                    f"{slices[0].table} and {member.table} cannot share a policy: "
                    "their observations, actions or masks differ; give each its own policy"
                )
        self._parts = parts
        leaving = [definition.agents(k) for k in definition.entities if k.__name__ in {m.table for m in slices}]
        self.may_leave = any(leaving)
        """Whether agents may leave an episode before it ends."""
        self._index = {m: torch.tensor(m.slots, device=self.device) for m in slices if m.slots is not None}
        self._direct = len(slices) == 1 and slices[0].slots is None

    # -- observations, rewards and flags -----------------------------------------------------------------------------

    def observations(self) -> dict[str, torch.Tensor]:
        """Observations by name, each of shape (rows, ...)."""
        return {
            key: self._gather([p.observations[key] for p in self._parts]).reshape(self.rows, *spec.shape)
            for key, spec in self.spec.observations.items()
        }

    def final_observations(self) -> dict[str, torch.Tensor]:
        """Final observations by name, valid for agents whose episode ended in the last step."""
        finals = {}
        for key, spec in self.spec.observations.items():
            column = self._gather(
                [
                    ColumnRef(p.observations[key].table, FINAL + p.observations[key].name, p.observations[key].whole)
                    for p in self._parts
                ]
            )
            finals[key] = column.reshape(self.rows, *spec.shape)
        if self.may_leave:  # where only the agent left, its final observation is the current one
            ended = self.world_ended()
            current = self.observations()
            finals = {k: torch.where(ended.view(-1, *[1] * (v.ndim - 1)), v, current[k]) for k, v in finals.items()}
        return finals

    def mask(self) -> torch.Tensor | None:
        """The action mask, bool of shape (rows, choices); None where the world has none."""
        if self._parts[0].mask is None:
            return None
        mask = self._gather([p.mask for p in self._parts if p.mask is not None]).reshape(self.rows, -1)
        return mask if mask.dtype == torch.bool else mask != 0

    def rewards(self) -> torch.Tensor:
        """Rewards of the last step, shape (rows,)."""
        sums = []
        for agent_slice, part in zip(self.slices, self._parts, strict=True):
            columns = [self._values(agent_slice, source) for source in part.rewards]
            terms = [column.flatten(2).sum(2) if column.ndim > 2 else column for column in columns]
            if terms:
                total = terms[0]
                for term in terms[1:]:
                    total = total + term
            else:
                width = len(agent_slice.slots or ()) or part.count
                total = torch.zeros((self.simulation.num_worlds, width), device=self.device)
            sums.append(total)
        return (sums[0] if len(sums) == 1 else torch.cat(sums, 1)).reshape(self.rows)

    def lives(self) -> torch.Tensor | None:
        """Lives left, int32 of shape (rows,); None where the world has none."""
        if any(p.lives is None for p in self._parts):
            return None
        return self._gather([p.lives for p in self._parts if p.lives is not None]).reshape(self.rows).to(torch.int32)

    def active(self) -> torch.Tensor:
        """Whether each agent is active, bool of shape (rows,)."""
        return self._flags("active")

    def terminated(self) -> torch.Tensor:
        """Whether the episode terminated in the last step, shape (rows,)."""
        return self._flags("terminated")

    def truncated(self) -> torch.Tensor:
        """Whether the episode was truncated in the last step, shape (rows,)."""
        return self._flags("truncated")

    def world_ended(self) -> torch.Tensor:
        """Whether the episode of the whole world ended in the last step, shape (rows,)."""
        ended: torch.Tensor = self.simulation.terminated.torch() | self.simulation.truncated.torch()
        return ended[:, None].expand(-1, self.agents).reshape(self.rows)

    # -- actions -----------------------------------------------------------------------------------------------------

    def action_view(self) -> torch.Tensor | None:
        """The world's action column as (rows, width), to write to; None where it is not contiguous for the group."""
        part = self._parts[0]
        if not self._direct or len(part.actions) != 1:
            return None
        source = part.actions[0]
        column: torch.Tensor = self.simulation.tables[source.table][source.name].torch()
        return column.view(self.rows, self.spec.action.width)

    def write_actions(self, actions: torch.Tensor) -> None:
        """Write one action per row, shape (rows, width), where :meth:`action_view` is None."""
        values = actions.view(self.simulation.num_worlds, self.agents, -1)
        first = 0
        for member, part in zip(self.slices, self._parts, strict=True):
            width = part.count if member.slots is None else len(member.slots)
            start = 0
            for source in part.actions:
                column = (
                    self.simulation.tables[source.table][source.name]
                    .torch()
                    .view(self.simulation.num_worlds, part.count, -1)
                )
                selected = values[:, first : first + width, start : start + column.shape[2]].to(column.dtype)
                if member.slots is None:
                    column.copy_(selected)
                else:
                    column.index_copy_(1, self._index[member], selected)
                start += column.shape[2]
            first += width

    # -- columns -----------------------------------------------------------------------------------------------------

    def _gather(self, sources: list[ColumnRef]) -> torch.Tensor:
        """Values of all agents, shape (worlds, agents, ...); the column itself where possible."""
        columns = [self._values(m, s) for m, s in zip(self.slices, sources, strict=True)]
        return columns[0] if len(columns) == 1 else torch.cat(columns, 1)

    def _values(self, member: AgentSlice, source: ColumnRef) -> torch.Tensor:
        tensor: torch.Tensor = self.simulation.tables[source.table][source.name].torch()
        if source.whole or (source.table == WORLD and member.table != WORLD):
            part = self._parts[self.slices.index(member)]
            width = part.count if member.slots is None else len(member.slots)
            return tensor.unsqueeze(1).expand(-1, width, *tensor.shape[1:]) if width > 1 else tensor.unsqueeze(1)
        if source.table == WORLD:
            return tensor.unsqueeze(1)
        return tensor if member.slots is None else tensor.index_select(1, self._index[member])

    def _flags(self, name: str) -> torch.Tensor:
        sources = []
        for member in self.slices:
            own = (member.table, "active") in self._fields
            if name == "active" and not own:
                shape = (
                    self.simulation.num_worlds,
                    len(member.slots or ()) or self.simulation.tables[member.table].count,
                )
                sources.append(torch.ones(shape, dtype=torch.bool, device=self.device))
            else:
                sources.append(self._values(member, ColumnRef(member.table if own else WORLD, name, False)))
        return (sources[0] if len(sources) == 1 else torch.cat(sources, 1)).reshape(self.rows)


class _SliceColumns:
    """The columns of one kind of agent: observations, actions, rewards, mask and lives."""

    def __init__(self, agent_group: AgentGroup, table: str, masks: bool) -> None:
        definition = agent_group.simulation.definition
        self.count = agent_group.simulation.tables[table].count if table != WORLD else 1
        fields: dict[str, dict[str, Field]] = {
            WORLD: definition.world.fields,
            **{k.__name__: k.fields for k in definition.entities},
        }
        observed = list(fields) if agent_group._single else list(dict.fromkeys([table, WORLD]))
        self.actions = [ColumnRef(table, f.name, False) for f in fields[table].values() if f.role is Role.ACTION]
        action = _action_spec(definition.id, table, [fields[table][s.name] for s in self.actions])
        self.mask = _mask_source(table, fields[table], self.actions, action) if masks else None
        self.lives = next(
            (
                ColumnRef(source, LIVES, False)
                for source in (table, WORLD)
                if LIVES in fields[source] and not fields[source][LIVES].value_shape
            ),
            None,
        )
        self.observations: dict[str, ColumnRef] = {}
        specs: dict[str, ObservationSpec] = {}
        counts = {t: agent_group.simulation.schedule.counts.get(t, 1) for t in fields}
        for source in observed:
            whole = source not in (table, WORLD) and counts[source] > 1
            for field in fields[source].values():
                if field.role is Role.OBSERVATION and (self.mask is None or field.name != self.mask.name):
                    key = field.name if field.name not in specs else f"{source}.{field.name}"
                    self.observations[key] = ColumnRef(source, field.name, source not in (table, WORLD))
                    specs[key] = _observation_spec(agent_group, source, field, counts[source] if whole else 0)
        if not specs:
            raise InputError(
                f"{table} has no observation in world '{definition.id}': "
                "give it a component such as sight: wl.Observation(4)"
            )
        self.rewards = [
            ColumnRef(p, f.name, p not in (table, WORLD))
            for p in observed
            for f in fields[p].values()
            if f.role is Role.REWARD
        ]
        self.spec = PolicySpec(specs, action)


def _observation_spec(agent_group: AgentGroup, table: str, field: Field, count: int) -> ObservationSpec:
    shape = ((count,) if count else ()) + field.value_shape
    dtype = agent_group.simulation.tables[table][field.name].torch().dtype
    if isinstance(field.space, Discrete):
        return ObservationSpec(shape, dtype, (field.space.n,) * math.prod(shape))
    if isinstance(field.space, MultiDiscrete):
        return ObservationSpec(shape, dtype, tuple(field.space.choices) * (count or 1))
    return ObservationSpec(shape, dtype)


def _action_spec(world: str, table: str, fields: list[Field]) -> ActionSpec:
    sizes: list[int] = []
    low: list[float] = []
    high: list[float] = []
    for field in fields:
        if isinstance(field.space, Discrete):
            sizes += [field.space.n] * math.prod(field.value_shape)
        elif isinstance(field.space, MultiDiscrete):
            sizes += list(field.space.choices)
        else:
            assert isinstance(field.space, Box)
            lower, upper = field.space.each()
            low += lower
            high += upper
    if sizes and low:
        raise InputError(
            f"{table} of world '{world}' has both discrete and continuous actions, which no policy supports: "
            "use one or the other"
        )
    return (
        ActionSpec("categorical", sizes=tuple(sizes))
        if sizes
        else ActionSpec("gaussian", low=tuple(low), high=tuple(high))
    )


def _mask_source(
    table: str, fields: dict[str, Field], actions: list[ColumnRef], action: ActionSpec
) -> ColumnRef | None:
    """The component with the action mask."""
    for name in (MASKS[0], *(MASKS[1].format(s.name) for s in actions if len(actions) == 1)):
        field = fields.get(name)
        if field is None or action.kind != "categorical":
            continue
        if math.prod(field.value_shape) != action.parameters:
            raise InputError(
                f"{table}.{name} has {math.prod(field.value_shape)} elements, "
                f"but there are {action.parameters} choices to allow or forbid"
            )
        return ColumnRef(table, name, False)
    return None
