"""Pooled tables: populations whose worlds share the rows of the whole batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, Population
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import PopulationTable


class PooledTable(PopulationTable):
    """The columns of a kind of entity whose worlds share their rows.

    A column has the shape (batch, ...). The entities of world 0 come first, then those of world 1, and so on. Those of
    one world are in spawn order. The rows after the last entity are undefined. One more row, which is not exported, is
    the target of stale references in worlds without entities.
    """

    @property
    def batch_rows(self) -> int:
        """Rows for all worlds together."""
        return int(self._population.limit.batch or 0)

    @property
    def first_rows(self) -> Column:
        """The first row of each world, shape (num_worlds,)."""
        return self._world_column("first")

    @property
    def offsets(self) -> Any:
        """The first row of each world: a PyTorch tensor, int64 of shape (num_worlds,)."""
        return self.first_rows.torch().long()

    def count_problem(self, tensors: Mapping[str, Any]) -> str | None:
        problem = super().count_problem(tensors)
        if problem is not None:
            return problem
        names = (self.counts.name, self.first_rows.name, self[ROW_WORLD].name)
        counts, first, owners = (tensors[name].long() for name in names)
        total = int(counts.sum())
        if total > self.batch_rows:
            return f"{self.counts.name} adds up to {total:,} entities, and the batch has room for {self.batch_rows:,}"
        wrong = (
            (counts > 0) & (first != counts.cumsum(0) - counts) | (first < 0) | (first > self.batch_rows)
        ).nonzero()
        if len(wrong):
            world = int(wrong[0, 0])
            value = f"{self.first_rows.name} of world {world} holds {int(first[world]):,}"
            return f"{value}, where the rows of that world do not begin"
        mismatches = (owners[:total] != self._owners(counts)).nonzero()
        if len(mismatches) or bool(((owners < -1) | (owners >= len(counts))).any()):
            return f"{self[ROW_WORLD].name} names other worlds than those that the rows belong to"
        return None

    @staticmethod
    def _owners(counts: Any) -> Any:
        """The world of each row that holds an entity, from the number of entities of each world."""
        import torch

        return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)

    def occupied_rows_in(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        counts = tensors[self.counts.name]
        return torch.arange(self.batch_rows, device=counts.device) < counts.sum()

    def occupied_rows(self) -> np.ndarray[Any, Any]:
        return np.arange(self.batch_rows) < int(self.counts.numpy().sum())

    @property
    def mask(self) -> Any:
        """Which slots of :meth:`padded` hold an entity.

        Returns a PyTorch tensor, bool of shape (num_worlds, the largest current count).
        """
        import torch

        counts = self.counts.torch()
        return torch.arange(int(counts.max()), device=counts.device) < counts[:, None]

    def rows(self, name: str) -> Any:
        """One component of all entities, ordered by world: a PyTorch tensor of shape (entities, ...).

        It shares the column's memory, so a step changes it.
        """
        return self[name].torch()[: int(self.counts.torch().sum())]

    def padded(self, name: str, fill: float = 0.0) -> Any:
        """A copy of one component with ``fill`` in the empty slots.

        Returns a PyTorch tensor of shape (num_worlds, the largest current count, ...).
        """
        import torch

        rows, mask = self.rows(name), self.mask
        values = torch.as_tensor(fill, device=rows.device).to(rows.dtype).repeat(*mask.shape, *rows.shape[1:])
        values[mask] = rows
        return values

    def locate(self, index: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The last world that owned the row of an element, and its index there; world -1 for rows never used."""
        world = int(self[ROW_WORLD].numpy()[index[0]])
        return world, (index[0] - int(self.first_rows.numpy()[world]) if world >= 0 else index[0], *index[1:])

    @property
    def copied_columns(self) -> list[Column]:
        """The columns that :meth:`copy_worlds` sets."""
        return [*self.all_columns.values(), self.counts, self.first_rows]

    def require_capacity(self, sources: Any) -> int:
        """The number of entities after :meth:`copy_worlds`; InputError where they do not fit into the batch."""
        total = int(self.counts.torch()[sources].sum())
        if total > self.batch_rows:
            problem = (
                f"the copied worlds hold {total:,} {self.table_name}, and the batch has room for {self.batch_rows:,}"
            )
            raise InputError(f"{problem}: raise batch of wl.UpTo")
        return total

    def copy_worlds(self, sources: Any) -> None:
        """Give every world the entities of another one, as if all were copied at once.

        It sets the columns, ``counts`` and ``first_rows``, but no other fields of the worlds.

        Args:
            sources: The source of each world, itself where it stays: a PyTorch tensor, int64 of shape (num_worlds,).

        Raises InputError, and changes nothing, where the copies do not fit into the batch.
        """
        import torch

        total = self.require_capacity(sources)
        counts, first = self.counts.torch(), self.first_rows.torch()
        new_counts = counts[sources].long()
        starts = new_counts.cumsum(0) - new_counts
        shifts = torch.repeat_interleave(first[sources].long() - starts, new_counts)
        index = torch.arange(total, device=counts.device) + shifts
        for name, column in self.all_columns.items():
            if name not in (ROW_WORLD, DESPAWNED):
                values = column.torch()
                values[:total] = values[index]
        self[ROW_WORLD].torch()[:total] = self._owners(new_counts).int()
        counts.copy_(new_counts)
        first.copy_(starts)

    @property
    def _population(self) -> Population:
        population: Population = self.__dict__["population_spec"]
        return population

    def __repr__(self) -> str:
        limits = f"up to {self._population.limit.per_world:,} per world and {self.batch_rows:,} in the batch"
        return f"<table {self.table_name}: {limits}, columns {', '.join(c.field.name for c in self)}>"
