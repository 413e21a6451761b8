"""Agent rows: the rows through which environments and trainers control a population of agents.

The entities of a population move to other rows when earlier ones are despawned. An agent needs one row for its whole
life, so a population that is declared with ``wl.UpTo(n, agents=True)`` has a second table, ``Kind__agents``, with n
rows in every world. A new entity gets a free row of it and keeps that row until it is despawned. The table holds the
components that are exported, and the flags of agents that end individually.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import warp as wp

from worldloom.core.model.entity import AGENT_FIELDS, Entity
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import AGENT_TABLE, Population

ENTITY = "wl_entity"
"""The column with a reference to the entity that holds an agent row; empty for a free row."""

AGENT_ROLES = (Role.ACTION, Role.OBSERVATION, Role.REWARD, Role.INFO)
"""Roles of the components that agent rows have."""


def agent_row_kind(kind: type[Entity], population: Population, final_fields: dict[str, Field]) -> type[Entity]:
    """The kind of the agent rows of a population. ``final_fields`` hold the last values of an episode.

    The components of the entities are checked, not their copies, except for rewards: an entity that is removed leaves
    its last reward only here.
    """
    fields = {
        name: replace(field, finite=field.role is Role.REWARD, valid_range=None, check=None)
        for name, field in kind.fields.items()
        if field.role in AGENT_ROLES
    }
    flags = {**AGENT_FIELDS, "active": replace(AGENT_FIELDS["active"], default=False)}
    entity = Field(ENTITY, wp.int64, role=Role.ENGINE, default=-1, keep=True, ref=kind)
    rows: Any = type(population.agent_table, (Entity,), {"__module__": kind.__module__})
    rows._place = kind._place
    rows.fields = {**fields, **flags, ENTITY: entity, **final_fields}
    return rows  # type: ignore[no-any-return]


def kind_of_rows(table: str) -> str:
    """The kind of the agents in a table: of a table of agent rows that of its population, otherwise the table's own."""
    return table.removesuffix(AGENT_TABLE)
