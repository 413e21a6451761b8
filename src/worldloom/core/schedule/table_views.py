"""The tables of a simulation: each kind of entity, and the world, with the columns that the engine adds."""

from __future__ import annotations

from dataclasses import replace

from worldloom.core.model.agent_rows import agent_row_kind
from worldloom.core.model.entity import AGENT_FIELDS, Entity, Has, World
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.grid import grid_fields
from worldloom.core.model.population import ROW_FIELDS, ROW_WORLD, SERIAL, Population, world_fields
from worldloom.core.registry.definition import Definition

FINAL = "final_"
"""Prefix of the columns that hold the last observations of an episode."""

EXPORTED_ROLES = (Role.OBSERVATION, Role.INFO)
"""Roles of the components that a step returns. Their last values of an episode are kept."""


class TableView(Has):
    """A kind of entity with the columns that the engine adds to it."""

    def __init__(self, kind: type[Entity] | type[World], name: str, extra: dict[str, Field]) -> None:
        self.kind = kind
        self.groups = (kind,)
        self._reserved = kind._reserved
        self.fields = {**kind.fields, **extra}
        self.__name__ = name


def make_table_views(definition: Definition, keep_final: bool) -> dict[str, TableView]:
    """Every table of a simulation by name, the world's first."""
    world: type[World] = type(definition.world.__name__, (definition.world,), {"__module__": __name__})
    fields = definition.world.fields
    world.fields = {**fields, **(_final_fields(fields) if keep_final else {})}
    for population in definition.populations.values():
        world.fields.update(world_fields(population.table, population.pooled))
    world.fields.update(grid_fields(definition.grids.values()))
    tables = {"World": TableView(world, "World", {})}
    for kind in definition.entities:
        if kind.__name__ in definition.populations:
            population = definition.populations[kind.__name__]
            tables[kind.__name__] = TableView(kind, kind.__name__, population.row_fields)
            tables[population.new_table] = _staging_view(kind, population)
            if population.agents:
                tables[population.agent_table] = _agent_view(kind, population, keep_final)
            continue
        extra = _final_fields(kind.fields) if keep_final else {}
        if definition.agents(kind):
            extra.update(AGENT_FIELDS)
        tables[kind.__name__] = TableView(kind, kind.__name__, extra)
    return tables


def _staging_view(kind: type[Entity], population: Population) -> TableView:
    """The table that spawned entities are written to."""
    view = TableView(kind, population.new_table, {})
    names = (SERIAL, *([ROW_WORLD] if population.pooled else []), *population.spawn_fields)
    fields = {**kind.fields, **ROW_FIELDS}
    view.fields = {name: replace(field, transient=True) for name, field in fields.items() if name in names}
    return view


def _agent_view(kind: type[Entity], population: Population, keep_final: bool) -> TableView:
    """The table of the agent rows of a population."""
    active = AGENT_FIELDS["active"]
    final = {FINAL + active.name: replace(active, name=FINAL + active.name, default=False)}
    rows = agent_row_kind(kind, population, {**_final_fields(kind.fields), **final} if keep_final else {})
    return TableView(rows, population.agent_table, {})


def _final_fields(fields: dict[str, Field]) -> dict[str, Field]:
    exported = [f for f in fields.values() if f.role in EXPORTED_ROLES]
    return {FINAL + f.name: Field(FINAL + f.name, f.dtype, f.shape, Role.ENGINE, keep=True) for f in exported}
