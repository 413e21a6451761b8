"""Entries of a schedule: systems, launches, callables, compactions of populations and builds of grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from worldloom.core.frontend.system import System
from worldloom.core.frontend.targets.kernel_names import column_in_memory
from worldloom.core.model.columns import WORLD, ColumnKey, RowCounts
from worldloom.core.model.fields import Field
from worldloom.core.model.grid import Grid
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.model.pairs import Pair
from worldloom.core.model.population import Population
from worldloom.core.model.row_list import RowList
from worldloom.core.schedule.aliasing import ColumnAliases
from worldloom.core.schedule.table_views import TableView

Autoreset = Literal["same_step", "next_step", "disabled"]

FINISHED: Mask = ("finished", True)
RESET_REQUESTED: Mask = ("reset_mask", True)
FAULTY: Mask = ("faulty", True)
RESETTING: Mask = ("resetting", True)
STEPPING: Mask = ("resetting", False)


@dataclass(frozen=True)
class SystemNode:
    """One system over one table or over the pairs of two, for all worlds or for those that ``mask`` selects.

    ``ordinal`` separates its random numbers from those of other systems and tables. ``value`` is that of the entities
    that it runs for, where the system has a condition.
    """

    system: System
    view: TableView | Pair
    mask: Mask | None
    ordinal: int
    value: int = 0

    @property
    def table(self) -> str:
        return self.view.__name__

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables whose rows it runs over."""
        return self.view.tables if isinstance(self.view, Pair) else (self.table,)

    @property
    def what(self) -> str:
        """What it runs for, in words."""
        return f"pair of {' and '.join(dict.fromkeys(self.tables))}" if isinstance(self.view, Pair) else self.table

    @property
    def label(self) -> str:
        if isinstance(self.view, Pair):
            return f"{self.system.name}({self.view.label})"
        return self.system.name if self.table == WORLD or self.system.engine else f"{self.system.name}({self.table})"


@dataclass(frozen=True)
class HostNode:
    """A callable that takes the simulation, called between two kernels."""

    call: Callable[[Any], None]

    @property
    def label(self) -> str:
        return getattr(self.call, "__name__", repr(self.call))


@dataclass(frozen=True)
class CompactionNode:
    """Apply the spawns and despawns of a population: survivors are placed first, then spawned entities in spawn order.

    ``spawned_in_order`` holds for worlds that begin an episode: their spawned entities are in order already.
    """

    population: Population
    spawned_in_order: bool = False

    @property
    def label(self) -> str:
        return f"compact {self.population.table}"


@dataclass(frozen=True)
class GridNode:
    """Sort the entities of a kind into the cells of a grid, in all worlds or in those that ``mask`` selects."""

    grid: Grid
    mask: Mask | None

    @property
    def label(self) -> str:
        return self.grid.label

    def touches(self, reads: set[ColumnKey], writes: set[ColumnKey]) -> bool:
        """Whether an entry that reads and writes these columns must keep its order relative to this one."""
        table = self.grid.table
        mask: set[ColumnKey] = set() if self.mask is None else {(WORLD, self.mask[0])}
        source = {(table, self.grid.by), (WORLD, f"{table}__count"), (WORLD, f"{table}__first"), *mask}
        built = {(WORLD, name) for name in self.grid.fields}
        return bool(built & (reads | writes) or source & writes)


Entry = SystemNode | HostNode | LaunchNode | CompactionNode | GridNode


@dataclass
class Schedule:
    """Everything that runs: ``step`` once per step, ``reset`` for the worlds whose ``reset_mask`` is set.

    ``scratch`` holds the columns of memory without a meaning between two steps, by table and name, ``lists`` the lists
    among them, by table and component. ``aliases`` holds the components that share memory with an observation.
    ``narrow``: whether ``wl.float64`` means ``wl.float32``.
    """

    tables: dict[str, TableView]
    counts: RowCounts
    step: list[Entry]
    reset: list[Entry]
    scratch: dict[str, dict[str, Field]] = field(default_factory=dict)
    lists: dict[ColumnKey, RowList] = field(default_factory=dict)
    aliases: ColumnAliases = field(default_factory=dict)
    narrow: bool = False

    @property
    def lasting_agents(self) -> frozenset[str]:
        """The populations whose agent rows share the memory of exported components."""
        return frozenset(p.table for p in self.counts.populations.values() if p.in_agent_rows)

    def field_of(self, column: ColumnKey) -> Field:
        """The field of a column of a kernel."""
        table, name = column_in_memory(column)
        return self.scratch[table][name] if table in self.scratch else self.tables[table].fields[name]
