"""Seeds that a user gives for worlds: whole numbers of 64 bits, in two columns of 32 bits."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import SEED_HIGH
from worldloom.core.runtime.simulation_part import SimulationPart

if TYPE_CHECKING:
    from worldloom.core.runtime.table import Table

MAX_SEED = 2**64 - 1
_HALF = np.uint64(32)


def check_seeds(seeds: Any, num_worlds: int) -> np.ndarray[Any, Any]:
    """One seed for all worlds, or one per world, as uint64 of shape () or (num_worlds,).

    Raises:
        InputError: If a seed is no whole number from 0 to 2**64 - 1, or the number of seeds is wrong.
    """
    array = to_numpy(seeds, "the seeds")
    if isinstance(seeds, (list, tuple)) and array.dtype.kind == "f":  # NumPy's type of integers above and below 2**63
        array = np.asarray(seeds, object)
    whole = array.dtype.kind in "iu" or (
        array.dtype.kind == "O"
        and all(isinstance(s, (int, np.integer)) and not isinstance(s, bool) for s in array.ravel())
    )
    if not whole or array.shape not in ((), (num_worlds,)):
        shown = f"{array.dtype.name} of shape {array.shape}" if array.ndim else reprlib.repr(seeds)
        shown = reprlib.repr(seeds) if isinstance(seeds, (list, tuple)) else shown
        raise InputError(f"seeds are one whole number, or one per world, shape ({num_worlds},), not {shown}")
    if array.size and array.min() < 0:
        raise InputError(f"seeds are 0 or more, not {array.min()}")
    if array.size and array.max() > MAX_SEED:
        raise InputError(f"seeds are at most 2**64 - 1, which is {MAX_SEED:,}, not {array.max()}")
    return array.astype(np.uint64)


class SeedMixin(SimulationPart):
    """The part of a simulation that holds the seeds of its worlds."""

    tables: dict[str, Table]
    num_worlds: int
    config_version: int
    wide_seeds: bool = False
    """Whether a world has, or had, a seed of 2**32 or more; otherwise the column of the upper halves is 0."""

    @property
    def seeds(self) -> np.ndarray[Any, Any]:
        """The seed of every world, uint64 of shape (num_worlds,)."""
        low, high = (self._simulation().world[name].numpy().astype(np.uint64) for name in ("seed", SEED_HIGH))
        return low | high << _HALF

    def _assign_seeds(self, selected: np.ndarray[Any, Any], seeds: np.ndarray[Any, Any]) -> None:
        """Give the worlds that ``selected`` names new seeds, uint64 of shape () or (num_worlds,), from episode 0 on."""
        world = self._simulation().tables[WORLD]
        halves: dict[str, Any] = {"seed": seeds & np.uint64(0xFFFFFFFF), "episode": np.int32(-1)}
        for name, values in halves.items():
            column = world[name]
            column.assign(np.where(selected, values, column.numpy()).astype(column.dtype))
        high = seeds >> _HALF
        if self.wide_seeds or high.any():
            self._assign_high(np.where(selected, high, world[SEED_HIGH].numpy()).astype(np.uint32))

    def _assign_high(self, values: np.ndarray[Any, Any]) -> None:
        """Assign the upper halves of all seeds, shape (num_worlds,): as one number where they are equal."""
        simulation, column = self._simulation(), self.tables[WORLD][SEED_HIGH]
        simulation.note_external_change()  # a recording continues with a snapshot
        self.wide_seeds = True
        if column.shape[0] == 1 and (values == values[0]).all():
            column.assign(values[:1])
            return
        if column.shape[0] != self.num_worlds:
            simulation._resize_config(column, self.num_worlds)
            self.config_version += 1  # graphs that use its memory
        column.assign(values)
