"""Seats: the agents of a simulation that one policy plays, as tensors with a row per agent and world."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.registry import Definition
from worldloom.core.schedule.lifecycle import FINAL
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec

MASKS = ("action_mask", "{}_mask")
"""What a component is called that says which choices of an action are allowed; ``{}`` is the action's name."""


LIVES = "lives"
"""What a component is called that says how many lives an agent has left."""


@dataclass(frozen=True)
class AgentSlice:
    """A kind of entity that acts, or some of its entities.

    Attributes:
        table: The kind's table.
        slots: Which of them, by number; None for all.
    """

    table: str
    slots: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ColumnRef:
    """A column as part of what an agent is shown or rewarded with.

    Attributes:
        table, name: The column.
        whole: Whether each agent gets the values of all entities of the table, instead of its own.
    """

    table: str
    name: str
    whole: bool


def agent_counts(definition: Definition) -> dict[str, int]:
    """Every table with an action, and how many entities it has per world."""
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD), "a trainer")
    counts = {WORLD: 1, **definition.rows}
    tables = dict.fromkeys(t for t, _ in definition.actions().values())
    if not tables:
        raise InputError(
            f"nobody acts in world '{definition.id}': give a kind of entity a component such as push: wl.Action(wl.Discrete(2))"
        )
    return {t: counts[t] for t in tables}


def parse_agents(text: str, definition: Definition) -> tuple[AgentSlice, ...]:
    """Agents as text: ``Wolf``, ``Wolf[0:2]``, ``Wolf[0],Sheep``; InputError where there are none such."""
    counts = agent_counts(definition)
    slices = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\w+)\s*(?:\[\s*(\d+)\s*(?:(:)\s*(\d+)\s*)?\])?\s*", part)
        if found is None or found[1] not in counts:
            raise InputError(
                f"there are no agents '{part.strip()}' in world '{definition.id}': name {', '.join(counts)}, or some of them as in {next(iter(counts))}[0:1]"
            )
        slots = (
            None if found[2] is None else tuple(range(int(found[2]), int(found[4]) if found[3] else int(found[2]) + 1))
        )
        if slots is not None and (not slots or slots[-1] >= counts[found[1]]):
            raise InputError(
                f"'{part.strip()}' is not among the {counts[found[1]]} agents {found[1]} of world '{definition.id}', which are counted from 0"
            )
        slices.append(AgentSlice(found[1], slots))
    return tuple(slices)


class AgentGroup:
    """The agents that one policy plays. Row = world * agents + agent, in the order of the members.

    An agent is shown its own observation components and the world's; where a world has a single agent, it is shown every one there is, as
    Gymnasium's users see it. The same holds for rewards.

    Args:
        simulation: The worlds.
        members: Whose actions the policy gives. All must be alike: the same components, of the same shapes.
        masks: Whether components that say which choices are allowed are heeded.
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
                    f"{slices[0].table} and {member.table} cannot share a policy: their observations, actions or masks differ; give each a policy of its own"
                )
        self._parts = parts
        leaving = [definition.agents(k) for k in definition.entities if k.__name__ in {m.table for m in slices}]
        self.may_leave = any(leaving)
        """Whether agents may leave an episode before it ends."""
        self._index = {m: torch.tensor(m.slots, device=self.device) for m in slices if m.slots is not None}
        self._direct = len(slices) == 1 and slices[0].slots is None

    # -- what the agents see and get ---------------------------------------------------------------------------------

    def observations(self) -> dict[str, torch.Tensor]:
        """What every agent sees, each of shape (rows, ...)."""
        return {
            key: self._gather([p.observations[key] for p in self._parts]).reshape(self.rows, *spec.shape)
            for key, spec in self.spec.observations.items()
        }

    def final_observations(self) -> dict[str, torch.Tensor]:
        """What every agent saw last, for those whose episode ended in the last step."""
        found = {}
        for key, spec in self.spec.observations.items():
            kept = self._gather(
                [
                    ColumnRef(p.observations[key].table, FINAL + p.observations[key].name, p.observations[key].whole)
                    for p in self._parts
                ]
            )
            found[key] = kept.reshape(self.rows, *spec.shape)
        if self.may_leave:  # an agent that left alone: its world goes on, and so its observation has not been kept
            over = self.world_ended()
            now = self.observations()
            found = {k: torch.where(over.view(-1, *[1] * (v.ndim - 1)), v, now[k]) for k, v in found.items()}
        return found

    def mask(self) -> torch.Tensor | None:
        """Which choices are allowed, bool of shape (rows, choices); None where the world does not say."""
        if self._parts[0].mask is None:
            return None
        found = self._gather([p.mask for p in self._parts if p.mask is not None]).reshape(self.rows, -1)
        return found if found.dtype == torch.bool else found != 0

    def rewards(self) -> torch.Tensor:
        """What every agent got in the last step, shape (rows,)."""
        sums = []
        for place, part in enumerate(self._parts):
            own = [self._values(self.slices[place], s) for s in part.rewards]
            total = own[0].flatten(2).sum(2) if own and own[0].ndim > 2 else own[0] if own else None
            for more in own[1:]:
                total = total + (more.flatten(2).sum(2) if more.ndim > 2 else more)
            width = len(self.slices[place].slots or ()) or part.count
            sums.append(
                total if total is not None else torch.zeros((self.simulation.num_worlds, width), device=self.device)
            )
        return (sums[0] if len(sums) == 1 else torch.cat(sums, 1)).reshape(self.rows)

    def lives(self) -> torch.Tensor | None:
        """How many lives every agent has left, int32 of shape (rows,); None where the world does not say."""
        if any(p.lives is None for p in self._parts):
            return None
        return self._gather([p.lives for p in self._parts if p.lives is not None]).reshape(self.rows).to(torch.int32)

    def active(self) -> torch.Tensor:
        """Who is there to act, bool of shape (rows,)."""
        return self._flags("active")

    def terminated(self) -> torch.Tensor:
        """Whose episode ended in the last step by the rules, shape (rows,)."""
        return self._flags("terminated")

    def truncated(self) -> torch.Tensor:
        """Whose episode was cut off in the last step, shape (rows,)."""
        return self._flags("truncated")

    def world_ended(self) -> torch.Tensor:
        """Whose world's episode ended in the last step, shape (rows,)."""
        over = self.simulation.terminated.torch() | self.simulation.truncated.torch()
        return over[:, None].expand(-1, self.agents).reshape(self.rows)

    # -- what they do ------------------------------------------------------------------------------------------------

    def action_view(self) -> torch.Tensor | None:
        """The actions in the world's own memory, shape (rows, width), to be written to; None where they do not lie together."""
        part = self._parts[0]
        if not self._direct or len(part.actions) != 1:
            return None
        return (
            self.simulation.tables[part.actions[0].table][part.actions[0].name]
            .torch()
            .view(self.rows, self.spec.action.width)
        )

    def write_actions(self, actions: torch.Tensor) -> None:
        """Hand in one action per row, shape (rows, width), where :meth:`action_view` has none to write to."""
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
                chosen = values[:, first : first + width, start : start + column.shape[2]].to(column.dtype)
                if member.slots is None:
                    column.copy_(chosen)
                else:
                    column.index_copy_(1, self._index[member], chosen)
                start += column.shape[2]
            first += width

    # -- how they lie in memory --------------------------------------------------------------------------------------

    def _gather(self, sources: list[ColumnRef]) -> torch.Tensor:
        """Values of all agents, shape (worlds, agents, ...): the column itself where it lies so."""
        found = [self._values(m, s) for m, s in zip(self.slices, sources, strict=True)]
        return found[0] if len(found) == 1 else torch.cat(found, 1)

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
    """What the agents of one kind see, do and get."""

    def __init__(self, agent_group: AgentGroup, table: str, masks: bool) -> None:
        definition = agent_group.simulation.definition
        self.count = agent_group.simulation.tables[table].count if table != WORLD else 1
        fields: dict[str, dict[str, Field]] = {
            WORLD: definition.world.fields,
            **{k.__name__: k.fields for k in definition.entities},
        }
        seen = list(fields) if agent_group._single else list(dict.fromkeys([table, WORLD]))
        self.actions = [ColumnRef(table, f.name, False) for f in fields[table].values() if f.role is Role.ACTION]
        action = _action_spec(definition.id, table, [fields[table][s.name] for s in self.actions])
        self.mask = _mask_source(table, fields[table], self.actions, action) if masks else None
        self.lives = next(
            (
                ColumnRef(place, LIVES, False)
                for place in (table, WORLD)
                if LIVES in fields[place] and not fields[place][LIVES].value_shape
            ),
            None,
        )
        self.observations: dict[str, ColumnRef] = {}
        specs: dict[str, ObservationSpec] = {}
        counts = {t: agent_group.simulation.schedule.counts.get(t, 1) for t in fields}
        for place in seen:
            whole = place not in (table, WORLD) and counts[place] > 1
            for field in fields[place].values():
                if field.role is Role.OBSERVATION and (self.mask is None or field.name != self.mask.name):
                    key = field.name if field.name not in specs else f"{place}.{field.name}"
                    self.observations[key] = ColumnRef(place, field.name, place not in (table, WORLD))
                    specs[key] = _observation_spec(agent_group, place, field, counts[place] if whole else 0)
        if not specs:
            raise InputError(
                f"{table} sees nothing in world '{definition.id}': give it a component such as sight: wl.Observation(4)"
            )
        self.rewards = [
            ColumnRef(p, f.name, p not in (table, WORLD))
            for p in seen
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
            least, greatest = field.space.each()
            low += least
            high += greatest
    if sizes and low:
        raise InputError(
            f"{table} of world '{world}' has both choices and real numbers among its actions, which no policy here gives: use one or the other"
        )
    return (
        ActionSpec("categorical", sizes=tuple(sizes))
        if sizes
        else ActionSpec("gaussian", low=tuple(low), high=tuple(high))
    )


def _mask_source(
    table: str, fields: dict[str, Field], actions: list[ColumnRef], action: ActionSpec
) -> ColumnRef | None:
    """The component that says which choices are allowed."""
    for name in (MASKS[0], *(MASKS[1].format(s.name) for s in actions if len(actions) == 1)):
        field = fields.get(name)
        if field is None or action.kind != "categorical":
            continue
        if math.prod(field.value_shape) != action.parameters:
            raise InputError(
                f"{table}.{name} has {math.prod(field.value_shape)} numbers, but there are {action.parameters} choices to allow or forbid"
            )
        return ColumnRef(table, name, False)
    return None
