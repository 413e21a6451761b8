"""Long array components: kernels that copy and clear them with wide accesses, in the worlds that begin an episode.

A picture of 84 by 84 points copied number by number takes a thread of a GPU milliseconds. Here 32 threads share a row
and move 16 bytes each, and a thread of the CPU copies a row in one piece.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.kernels.launch_kernels import copy_rows
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.dtypes import SCALARS, scalar_of
from worldloom.core.model.fields import Field
from worldloom.core.model.launch import Launch, LaunchNode, Mask, Shard

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

LONG = 1024
"""Numbers of an array up to which a generated system copies or clears it. Longer arrays are handled here."""


def is_long(field: Field) -> bool:
    return math.prod(field.shape) > LONG


@dataclass(frozen=True, eq=False)
class ArrayCopy(Launch):
    """Fills columns of one table, each from another column or from its default.

    Attributes:
        targets: Names of the columns to fill.
        sources: Names of the columns to copy, or None for defaults.
    """

    table: str
    targets: tuple[str, ...]
    sources: tuple[str, ...] | None

    def prepare(self, simulation: Simulation) -> Any:
        table, device = simulation.tables[self.table], simulation.device
        copies = []
        for index, name in enumerate(self.targets):
            column = table[name]
            target = _rows(column.array, device)
            source = (
                _default_row(column.field, device)
                if self.sources is None
                else _rows(table[self.sources[index]].array, device)
            )
            width = next(
                n for n in (16, 4, 1) if all(number % n == 0 for number in (target.ptr, source.ptr, target.shape[1]))
            )
            copies.append((target, source, width))
        return simulation.schedule.counts[self.table], copies

    def launch(self, prepared: Any, shard: Shard) -> None:
        rows, copies = prepared
        for target, source, width in copies:
            wp.launch(
                copy_rows,
                dim=(shard.count * rows, WARP_SIZE if shard.device.is_cuda else 1),
                inputs=[shard.first, rows, shard.mask, shard.value, target, source, width],
                device=shard.device,
                stream=shard.stream,
                record_tape=False,
            )


def array_copy_node(
    label: str, mask: Mask, table: str, targets: Iterable[str], sources: Iterable[str] | None
) -> LaunchNode:
    """The entry of a schedule that fills ``targets`` of a table from ``sources``, or from defaults."""
    copy = ArrayCopy(table, tuple(targets), None if sources is None else tuple(sources))
    reads: set[ColumnKey] = {(WORLD, mask[0]), *((table, name) for name in copy.sources or ())}
    return LaunchNode(
        copy, label, mask, frozenset(reads), frozenset((table, name) for name in copy.targets), engine=True
    )


def _rows(array: wp.array, device: wp.Device) -> wp.array:
    """The memory of a column as bytes, shape (rows, bytes of a row)."""
    size = array.size // array.shape[0] * wp.types.type_size_in_bytes(array.dtype)
    return wp.array(ptr=array.ptr, dtype=wp.uint8, shape=(array.shape[0], size), device=device)


def _default_row(field: Field, device: wp.Device) -> wp.array:
    """One row of a column with its default, as bytes, shape (1, bytes of a row)."""
    row: np.ndarray[Any, Any] = np.empty(field.value_shape, SCALARS[scalar_of(field.dtype)])
    row[...] = field.default
    return wp.array(row.reshape(-1).view(np.uint8).reshape(1, -1), dtype=wp.uint8, device=device)
