"""A digest per world of its whole state, computed on the device."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.model.fields import Role
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import PopulationTable
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.state.columns import int_view

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


class WorldDigest:
    """A weighted sum of the bits of all columns, without actions, configuration and ``final_`` columns.

    The weights are odd and random for every element of every column. Two different states of a world have the same
    digest with a probability of 2**-31. All NaNs are equal.

    Args:
        simulation: The simulation.
        rows: An index of the worlds on the device, or ``slice(None)`` for all.
    """

    def __init__(self, simulation: Simulation, rows: Any) -> None:
        import torch

        self.rows = rows
        self.populations = {name: t for name, t in simulation.tables.items() if isinstance(t, PopulationTable)}
        self.columns = [c for t in simulation.tables.values() for c in t if _is_digested(c)]
        device = torch.device(str(simulation.device.alias))
        self.weights = [torch.from_numpy(_weights(c)).to(device) for c in self.columns]

    def __call__(self) -> Any:
        """The digests of the current state, int32 of shape (worlds,)."""
        import torch

        total: Any = 0
        for column, weights in zip(self.columns, self.weights, strict=True):
            tensor = column.torch()
            values = int_view(tensor)[self.rows]
            if tensor.is_floating_point():
                numbers = values.view(tensor.dtype)
                values = torch.where(numbers == numbers, numbers, torch.nan)
            values = int_view(values)
            if column.table in self.populations:  # slots without an entity are undefined
                occupied = self.populations[column.table].mask[self.rows]
                values = values * occupied.reshape(*occupied.shape, *[1] * (values.ndim - 2))
            total = total + (values.reshape(len(values), -1).to(torch.int64) * weights).sum(1)
        return ((total ^ (total >> 32)) & 0x7FFFFFFF).to(torch.int32)


def _is_digested(column: Column) -> bool:
    return not (column.field.role is Role.ACTION or column.field.batch_wide) and not column.field.name.startswith(FINAL)


def _weights(column: Column) -> np.ndarray[Any, Any]:
    """One odd number of 63 bits for each scalar that a world has in ``column``."""
    size = int(np.prod(column.shape[1:], dtype=np.int64))
    numbers = np.random.default_rng(zlib.crc32(column.name.encode())).integers(0, 2**62, size, dtype=np.int64)
    return numbers * 2 + 1
