"""The agents of a simulation that one policy controls, as tensors with a row per agent and world."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.model.action_masks import MASKS
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Field, Role
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.action_columns import action_columns, mask_columns
from worldloom.learn.agents.observation_specs import link_masks, network_dtype, observation_spec
from worldloom.learn.agents.specs import ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig

__all__ = ["LIVES", "MASKS", "AgentGroup", "AgentSlice", "ColumnRef", "agent_counts", "parse_agents"]

LIVES = "lives"
"""Name of the component with the number of lives an agent has left."""


@dataclass(frozen=True)
class AgentSlice:
    """All or some entities of a kind that acts.

    Attributes:
        table: The kind's name.
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
    """Every kind with an action, and its number of entities per world; for a population its capacity."""
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD), "a trainer")
    counts = {WORLD: 1, **definition.rows}
    kinds = dict.fromkeys(name.partition(".")[0] for name in definition.actions())
    if not kinds:
        raise InputError(
            f"world '{definition.id}' has no agents: "
            "give a kind of entity a component such as push: wl.Action(wl.Discrete(2))"
        )
    return {kind: counts[kind] for kind in kinds}


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
        policy: Settings of the policy, on which the distribution of its actions depends; None for the defaults.
    """

    def __init__(
        self,
        simulation: Simulation,
        slices: Sequence[AgentSlice],
        masks: bool = True,
        policy: PolicyConfig | None = None,
    ) -> None:
        self.simulation, self.slices = simulation, tuple(slices)
        definition = simulation.definition
        counts = agent_counts(definition)
        self.agents = sum(counts[m.table] if m.slots is None else len(m.slots) for m in slices)
        """Agents per world."""
        self.rows = simulation.num_worlds * self.agents
        self.device = simulation.terminated.torch().device
        self._single = sum(counts.values()) == 1
        self._tables = {WORLD: WORLD, **definition.agent_tables}
        """The table of the agents of each kind."""
        self._fields = {(t, f.name): f for t, view in simulation.schedule.tables.items() for f in view.fields.values()}
        parts = [_SliceColumns(self, m.table, masks, policy or PolicyConfig()) for m in slices]
        self.spec = parts[0].spec
        for member, part in zip(slices[1:], parts[1:], strict=True):
            alike = part.spec == self.spec and part.mask_shape == parts[0].mask_shape
            if not alike or [s.name for s in part.actions] != [s.name for s in parts[0].actions]:
                raise InputError(
                    f"{slices[0].table} and {member.table} cannot share a policy: "
                    "their observations, actions or masks differ; give each its own policy"
                )
        self._parts = parts
        kinds = [k for k in definition.entities if k.__name__ in {m.table for m in slices}]
        self.may_leave = any(definition.agents_end(k) for k in kinds)
        """Whether agents may leave an episode before it ends."""
        self.may_return = any(k.__name__ in definition.populations for k in kinds)
        """Whether a row may get a new agent within an episode: the number of agents varies."""
        self._index = {m: torch.tensor(m.slots, device=self.device) for m in slices if m.slots is not None}
        columns = sorted(parts[0].actions, key=lambda column: column.start)
        one_of_each = len({bool(column.sizes) for column in columns}) == len(columns)
        self._in_place = columns if one_of_each and len(slices) == 1 and slices[0].slots is None else []

    # -- observations, rewards and flags -----------------------------------------------------------------------------

    def observations(self) -> dict[str, torch.Tensor]:
        """Observations by name, each of shape (rows, ...), in the types of ``spec``."""
        return {
            key: self._gather([p.observations[key] for p in self._parts]).to(spec.dtype).reshape(self.rows, *spec.shape)
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
            finals[key] = column.to(spec.dtype).reshape(self.rows, *spec.shape)
        if self.may_leave:  # where only the agent left, its final observation is the current one
            ended = self.world_ended()
            current = self.observations()
            finals = {k: torch.where(ended.view(-1, *[1] * (v.ndim - 1)), v, current[k]) for k, v in finals.items()}
        return finals

    def mask(self) -> torch.Tensor | None:
        """The action mask, bool of shape (rows, choices); None where the world has none. A free row allows all."""
        masks = []
        for sources in zip(*(part.masks for part in self._parts), strict=True):
            names = [source.name for source in sources if source.name is not None]
            if not names:
                masks.append(torch.ones((self.rows, sources[0].choices), dtype=torch.bool, device=self.device))
                continue
            columns = [ColumnRef(self._tables[m.table], n, False) for m, n in zip(self.slices, names, strict=True)]
            mask = self._gather(columns).reshape(self.rows, -1)
            masks.append(mask if mask.dtype == torch.bool else mask != 0)
        if not masks:
            return None
        mask = masks[0] if len(masks) == 1 else torch.cat(masks, 1)
        return mask | ~self.active()[:, None] if self.may_return else mask

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

    def action_view(self) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor] | None:
        """The world's action column as (rows, width), to write to; for a mixed action those of choices and of numbers.

        None where these are not one whole column each.
        """
        if not self._in_place:
            return None
        member = self.slices[0]
        views = [self._action_column(member, c.name).view(self.rows, c.width) for c in self._in_place]
        return views[0] if len(views) == 1 else (views[0], views[1])

    def write_actions(self, actions: torch.Tensor) -> None:
        """Write one action per row, in the world's units, shape (rows, width)."""
        values = actions.view(self.simulation.num_worlds, self.agents, -1)
        first = 0
        for member, part in zip(self.slices, self._parts, strict=True):
            count = part.count if member.slots is None else len(member.slots)
            for source in part.actions:
                column = self._action_column(member, source.name).view(self.simulation.num_worlds, part.count, -1)
                selected = values[:, first : first + count, source.start : source.start + source.width].to(column.dtype)
                if member.slots is None:
                    column.copy_(selected)
                else:
                    column.index_copy_(1, self._index[member], selected)
            first += count

    def _action_column(self, member: AgentSlice, name: str) -> torch.Tensor:
        column: torch.Tensor = self.simulation.tables[self._tables[member.table]][name].torch()
        return column

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
            table = self._tables[member.table]
            own = (table, "active") in self._fields
            if name == "active" and not own:
                shape = (
                    self.simulation.num_worlds,
                    len(member.slots or ()) or self.simulation.tables[member.table].rows_per_world,
                )
                sources.append(torch.ones(shape, dtype=torch.bool, device=self.device))
            else:
                sources.append(self._values(member, ColumnRef(table if own else WORLD, name, False)))
        return (sources[0] if len(sources) == 1 else torch.cat(sources, 1)).reshape(self.rows)


class _SliceColumns:
    """The columns of one kind of agent: observations, actions, rewards, masks and lives."""

    def __init__(self, agent_group: AgentGroup, table: str, masks: bool, policy: PolicyConfig) -> None:
        definition = agent_group.simulation.definition
        self.count = agent_group.simulation.tables[table].rows_per_world if table != WORLD else 1
        tables, columns = agent_group._tables, agent_group.simulation.tables
        fields: dict[str, dict[str, Field]] = {
            WORLD: definition.world.fields,
            **{k.__name__: k.fields for k in definition.entities},
        }
        observed = list(fields) if agent_group._single else list(dict.fromkeys([table, WORLD]))
        action, self.actions = action_columns(definition.id, table, fields[table], policy)
        self.masks = mask_columns(table, fields[table], self.actions) if masks else []
        self.mask_shape = [(mask.choices, mask.name is not None) for mask in self.masks]
        mask_names = {mask.name for mask in self.masks}
        self.lives = next(
            (
                ColumnRef(tables[source], LIVES, False)
                for source in (table, WORLD)
                if LIVES in columns[tables[source]].all_columns and not fields[source][LIVES].value_shape
            ),
            None,
        )
        self.observations: dict[str, ColumnRef] = {}
        specs: dict[str, ObservationSpec] = {}
        counts = {t: agent_group.simulation.schedule.counts.get(t, 1) for t in fields}
        for source in observed:
            whole = counts[source] if source not in (table, WORLD) else 0
            for field in fields[source].values():
                if field.role is Role.OBSERVATION and field.name not in mask_names:
                    key = field.name if field.name not in specs else f"{source}.{field.name}"
                    self.observations[key] = ColumnRef(tables[source], field.name, source not in (table, WORLD))
                    dtype = columns[source][field.name].torch().dtype
                    specs[key] = observation_spec(source, field, network_dtype(dtype, policy), whole)
        if not specs:
            raise InputError(
                f"{table} has no observation in world '{definition.id}': "
                "give it a component such as sight: wl.Observation(4)"
            )
        specs = link_masks(specs, {key: (ref.table, ref.name) for key, ref in self.observations.items()})
        self.rewards = [
            ColumnRef(tables[p], f.name, p not in (table, WORLD))
            for p in observed
            for f in fields[p].values()
            if f.role is Role.REWARD
        ]
        self.spec = PolicySpec(specs, action)
