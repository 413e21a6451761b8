"""Descriptions of the kernels of a compaction that has several."""

from __future__ import annotations

from dataclasses import dataclass

from worldloom.core.model.columns import ColumnKey


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
