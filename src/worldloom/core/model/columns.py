"""Names of tables and columns in generated code, row counts per table, and the sites where faults arise."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldloom.core.model.population import Population

WORLD = "World"
"""The name of the world's table in generated code."""

ColumnKey = tuple[str, str]
"""The name of a table and the name of a field."""

FAULT_COLUMNS: tuple[ColumnKey, ...] = ((WORLD, "broken"), (WORLD, "step"), (WORLD, "episode"))


@dataclass
class FaultSites:
    """The sites in the user's code that can report a fault, numbered for the compiled code."""

    messages: list[str] = field(default_factory=list)

    def add(self, message: str) -> int:
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message)


class RowCounts(dict[str, int]):
    """Rows per world of each table, and the tables that are populations."""

    def __init__(self, counts: dict[str, int], populations: dict[str, Population] | None = None) -> None:
        super().__init__(counts)
        self.populations = populations or {}

    def pooled(self, table: str) -> int | None:
        """The rows of the pool of a pooled population or of its staging table; None for other tables."""
        owner = next((p for p in self.populations.values() if table in (p.table, p.new_table)), None)
        return owner.limit.batch if owner is not None else None

    def column(self, table: str, name: str) -> ColumnKey:
        """The column of a component: that of the agent rows where both tables share its memory.

        Compiled code knows such a column by this name only, so that dependencies among systems are found.
        """
        population = self.populations.get(table)
        shared = population is not None and name in population.in_agent_rows
        return (population.agent_table if population is not None and shared else table), name

    @property
    def aliased_columns(self) -> dict[ColumnKey, ColumnKey]:
        """The columns of agent rows that share the memory of a column of entities, which is the value."""
        return {(p.agent_table, n): (p.table, n) for p in self.populations.values() for n in p.in_agent_rows}


class UnknownCounts(RowCounts):
    """Placeholder counts of entities, for the check when a system is defined."""

    def __init__(self) -> None:
        super().__init__({})

    def __missing__(self, kind: str) -> int:
        return 2
