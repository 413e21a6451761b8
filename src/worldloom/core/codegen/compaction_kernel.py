"""Compactions of several kernels: the description of one, and the writer of those that share scratch memory."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

from worldloom.core.codegen.compaction import CompactionWriter, element_index
from worldloom.core.frontend.targets import accessors
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.fields import Field


@dataclass(frozen=True)
class CompactionKernel:
    """A kernel of a compaction, without a name.

    Attributes:
        lines: Its body.
        columns: The columns that it takes.
        rows: Threads per world.
        total: Threads in total, where they are not per world.
        whole_warps: Whether the threads of a warp cooperate.
        closes: Whether it reports entities that did not fit, and so takes the buffer of faults and the alarm.
    """

    lines: list[str]
    columns: tuple[ColumnKey, ...]
    rows: int = 1
    total: int | None = None
    whole_warps: bool = False
    closes: bool = False


class ScratchWriter(CompactionWriter):
    """Writes kernels that share the scratch memory of a population."""

    @abstractmethod
    def _scratch_fields(self) -> dict[str, Field]:
        """The columns of the scratch memory."""

    @cached_property
    def scratch_fields(self) -> dict[str, Field]:
        return self._scratch_fields()

    def _scratch(self, name: str, row: str = "world") -> str:
        """A value of the scratch memory; of an array component the element of :func:`element_loops`."""
        field = self.scratch_fields[name]
        return accessors.get_text(self._argument(self.population.scratch_table, name), field, row, element_index(field))

    def _put_scratch(self, name: str, value: str, row: str = "world") -> str:
        field = self.scratch_fields[name]
        return accessors.put_text(
            self._argument(self.population.scratch_table, name), field, row, value, element_index(field)
        )
