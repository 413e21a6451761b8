"""The table of a population whose rows are those of the whole batch, and not of each world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, Population
from worldloom.core.runtime.table import Column, PopulationTable


class PooledTable(PopulationTable):
    """The columns of a kind of entity whose worlds share their rows.

    A column has the shape (batch, ...). The entities of world 0 come first, then those of world 1, and so on, those of a world in
    the order in which they were spawned; the rows behind the last of them mean nothing. One more row, which is never shown, is where a
    stale reference leads that is followed in a world without entities.
    """

    @property
    def batch(self) -> int:
        """Rows for all worlds together."""
        return int(self._population.limit.batch or 0)

    @property
    def first(self) -> Column:
        """The row where those of each world begin, shape (num_worlds,)."""
        found: Column = self.__dict__["world"][f"{self.name}__first"]
        return found

    @property
    def offsets(self) -> Any:
        """Where the rows of each world begin: a PyTorch tensor, int64 of shape (num_worlds,)."""
        return self.first.torch().long()

    def count_problem(self, tensors: Mapping[str, Any]) -> str | None:
        problem = super().count_problem(tensors)
        if problem is not None:
            return problem
        counts, first, home = (
            tensors[name].long() for name in (self.counts.name, self.first.name, self[ROW_WORLD].name)
        )
        total = int(counts.sum())
        if total > self.batch:
            return f"{self.counts.name} adds up to {total:,} entities, and the batch has room for {self.batch:,}"
        wrong = ((counts > 0) & (first != counts.cumsum(0) - counts) | (first < 0) | (first > self.batch)).nonzero()
        if len(wrong):
            world = int(wrong[0, 0])
            return f"{self.first.name} of world {world} holds {int(first[world]):,}, where the rows of that world do not begin"
        strays = (home[:total] != self._owners(counts)).nonzero()
        if len(strays) or bool(((home < -1) | (home >= len(counts))).any()):
            return f"{self[ROW_WORLD].name} names other worlds than those that the rows belong to"
        return None

    @staticmethod
    def _owners(counts: Any) -> Any:
        """The world of each row that holds an entity, by how many each world has."""
        import torch

        return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)

    def occupied_rows_in(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        counts = tensors[self.counts.name]
        return torch.arange(self.batch, device=counts.device) < counts.sum()

    def occupied_rows(self) -> np.ndarray[Any, Any]:
        return np.arange(self.batch) < int(self.counts.numpy().sum())

    @property
    def mask(self) -> Any:
        """Which places of :meth:`padded` hold an entity: a PyTorch tensor, bool of shape (num_worlds, the largest count now)."""
        import torch

        counts = self.counts.torch()
        return torch.arange(int(counts.max()), device=counts.device) < counts[:, None]

    def rows(self, name: str) -> Any:
        """One component of all entities, world after world: a PyTorch tensor of shape (entities, ...).

        It shares the column's memory, so a step changes it.
        """
        return self[name].torch()[: int(self.counts.torch().sum())]

    def padded(self, name: str, fill: float = 0.0) -> Any:
        """A copy of one component with ``fill`` in the places that hold no entity.

        It is a PyTorch tensor of shape (num_worlds, the largest count now, ...).
        """
        import torch

        rows, mask = self.rows(name), self.mask
        made = torch.as_tensor(fill, device=rows.device).to(rows.dtype).repeat(*mask.shape, *rows.shape[1:])
        made[mask] = rows
        return made

    def locate(self, place: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The world that owned the row of an element last, and its place there; -1 where the row was never used."""
        world = int(self[ROW_WORLD].numpy()[place[0]])
        return world, (place[0] - int(self.first.numpy()[world]) if world >= 0 else place[0], *place[1:])

    @property
    def copied_columns(self) -> list[Column]:
        """The columns that :meth:`copy_worlds` sets."""
        return [*self.columns.values(), self.counts, self.first]

    def require_capacity(self, sources: Any) -> int:
        """How many entities there would be after :meth:`copy_worlds`; InputError where they do not fit into the batch."""
        total = int(self.counts.torch()[sources].sum())
        if total > self.batch:
            raise InputError(
                f"the copied worlds hold {total:,} {self.name}, and the batch has room for {self.batch:,}: raise batch of wl.UpTo"
            )
        return total

    def copy_worlds(self, sources: Any) -> None:
        """Give every world the entities of another one, as if all were copied at once.

        It sets the columns, ``counts`` and ``first``; the other fields of the worlds are not its business.

        Args:
            sources: A PyTorch tensor, int64 of shape (num_worlds,): which world each is to be a copy of; itself where it is to stay.

        Raises InputError, and changes nothing, where the copies do not fit into the batch.
        """
        import torch

        total = self.require_capacity(sources)
        counts, first = self.counts.torch(), self.first.torch()
        taken = counts[sources].long()
        starts = taken.cumsum(0) - taken
        index = torch.arange(total, device=counts.device) + torch.repeat_interleave(
            first[sources].long() - starts, taken
        )
        for name, column in self.columns.items():
            if name not in (ROW_WORLD, DESPAWNED):
                values = column.torch()
                values[:total] = values[index]
        self[ROW_WORLD].torch()[:total] = torch.repeat_interleave(
            torch.arange(len(taken), device=counts.device), taken
        ).int()
        counts.copy_(taken)
        first.copy_(starts)

    @property
    def _population(self) -> Population:
        found: Population = self.__dict__["population"]
        return found

    def __repr__(self) -> str:
        most = self._population.limit.per_world
        return f"<table {self.name}: up to {most:,} per world and {self.batch:,} in the batch, columns {', '.join(c.field.name for c in self)}>"
