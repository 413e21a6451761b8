"""Names of variables, arguments and barriers in kernel text."""

from __future__ import annotations

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import ColumnKey

RAW_PREFIX = "raw__"
"""Prefix of the unchecked value of an action, which kernels load once for the check and for the systems."""

SCALAR_PARAMETERS = ("row", "row_a", "row_b", "world", "slot", "lane", "present", "offset", "system")


def barrier(threads: int) -> str:
    """The barrier of the ``threads`` of a row, or of all rows of a warp, which also makes their writes visible."""
    return "sync_warp" if threads <= WARP_SIZE else "sync_block"


def register_name(column: ColumnKey) -> str:
    """The local variable that holds this row's value of a column."""
    return f"{column[0]}__{column[1]}"


def kept_name(column: ColumnKey) -> str:
    """The local variable that holds the value of a column as it was loaded."""
    return f"{column[0]}__{column[1]}__kept"


def column_in_memory(column: ColumnKey) -> ColumnKey:
    """The column in memory of a column in registers: for an unchecked action, that of the action."""
    return column[0], column[1].removeprefix(RAW_PREFIX)


def column_argument(column: ColumnKey) -> str:
    """The kernel argument that holds a whole column."""
    return f"{column[0]}__{column[1]}__col"


def collected_rows(column: ColumnKey) -> str:
    """The local variable for the rows of a column that the threads of a block keep in shared memory."""
    return f"{column[0]}__{column[1]}__rows"
