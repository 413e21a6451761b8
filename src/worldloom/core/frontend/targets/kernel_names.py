"""Names of variables, arguments and barriers in kernel text."""

from __future__ import annotations

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import ColumnKey

RAW_PREFIX = "raw__"
"""Before the name of an action: its value as it was handed in, which kernels load once for the check and for the systems."""

SCALAR_PARAMETERS = ("row", "row_a", "row_b", "world", "slot", "lane", "offset", "system")


def barrier(threads: int) -> str:
    """What waits until all ``threads`` of a row are there, and sees what they wrote."""
    return "sync_warp" if threads == WARP_SIZE else "sync_block"


def register_name(column: ColumnKey) -> str:
    """The local variable that holds this row's value of a column."""
    return f"{column[0]}__{column[1]}"


def column_in_memory(column: ColumnKey) -> ColumnKey:
    """The column in memory behind one that kernels hold in registers: that of the action for a raw one."""
    return column[0], column[1].removeprefix(RAW_PREFIX)


def column_argument(column: ColumnKey) -> str:
    """The kernel argument that holds a whole column."""
    return f"{column[0]}__{column[1]}__col"
