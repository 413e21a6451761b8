"""Names of tables and columns as generated code uses them, row counts per table, and the places where faults arise."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldloom.core.model.population import Population

WORLD = "World"
"""The name of the world's table in generated code."""

ColumnKey = tuple[str, str]
"""A table's name and a field's."""

FAULT_COLUMNS: tuple[ColumnKey, ...] = ((WORLD, "broken"), (WORLD, "step"), (WORLD, "episode"))


@dataclass
class FaultSites:
    """The places in the user's code where a world can go wrong, numbered for the compiled code."""

    messages: list[str] = field(default_factory=list)

    def add(self, message: str) -> int:
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message)


class RowCounts(dict[str, int]):
    """How many rows each table has per world, and which of the tables are populations."""

    def __init__(self, counts: dict[str, int], populations: dict[str, Population] | None = None) -> None:
        super().__init__(counts)
        self.populations = populations or {}

    def pooled(self, table: str) -> int | None:
        """The rows of a table whose rows are those of the whole batch, a population's or that of its new entities; None for others."""
        owner = next((p for p in self.populations.values() if table in (p.table, p.new_table)), None)
        return owner.limit.batch if owner is not None else None
