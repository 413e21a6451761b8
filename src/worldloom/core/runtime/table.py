"""Tables: the columns of one kind of entity, with a fixed or a varying number of entities per world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.model.population import POPULATION_ATTRIBUTES, Population
from worldloom.core.runtime.column import Column

_EARLIER_NAMES = {
    "name": "table_name",
    "columns": "all_columns",
    "count": "rows_per_world",
    "population": "population_spec",
    "world": "world_columns",
}
"""Earlier names of attributes: they stay readable where a table has no column of that name."""


class Table:
    """Every column of one kind of entity, by name: ``table.x`` or ``table["x"]``.

    Components cannot have the names of its public attributes, ``TABLE_ATTRIBUTES`` of :mod:`worldloom.core.model`.
    """

    table_name: str
    all_columns: dict[str, Column]
    rows_per_world: int

    def __init__(self, name: str, columns: dict[str, Column], rows_per_world: int) -> None:
        self.__dict__.update(table_name=name, all_columns=columns, rows_per_world=rows_per_world)

    def __getattr__(self, name: str) -> Column:
        if _EARLIER_NAMES.get(name) in self.__dict__ and name not in self.all_columns:
            attribute: Column = self.__dict__[_EARLIER_NAMES[name]]
            return attribute
        return self[name]

    def __setattr__(self, name: str, values: Any) -> None:
        """``table.x = values`` copies ``values``, or one value for all, into the column."""
        column = self[name]
        values = values if hasattr(values, "shape") else to_numpy(values, column.name)
        column.fill(values) if len(values.shape) < len(column.shape) else column.assign(values)

    def __repr__(self) -> str:
        names = ", ".join(c.field.name for c in self)
        return f"<table {self.table_name}: {self.rows_per_world} per world, columns {names}>"

    def __getitem__(self, name: str) -> Column:
        columns: dict[str, Column] = self.__dict__.get("all_columns", {})
        table = self.__dict__.get("table_name")
        if name in POPULATION_ATTRIBUTES and name not in columns:
            raise AttributeError(f"the number of '{table}' is fixed: '{name}' is for kinds registered with wl.UpTo")
        if name not in columns:
            raise AttributeError(f"table '{table}' has no column '{name}': it has {', '.join(columns)}")
        return columns[name]

    def locate(self, index: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The world of an element of a column, and the element's index within that world."""
        return index[0], index[1:]

    def __iter__(self) -> Iterator[Column]:
        """The columns whose values persist between two steps."""
        return (c for c in self.all_columns.values() if not c.field.transient)


class PopulationTable(Table):
    """The columns of a kind of entity whose number varies.

    A column has the capacity of every world, shape (num_worlds, capacity, ...). The first ``counts`` slots of each
    world hold entities, in spawn order. The other slots are undefined.
    """

    def __init__(self, population: Population, columns: dict[str, Column], world: dict[str, Column]) -> None:
        super().__init__(population.table, columns, population.limit.per_world)
        self.__dict__.update(population_spec=population, world_columns=world)

    @property
    def counts(self) -> Column:
        """Number of entities in each world, shape (num_worlds,)."""
        return self._world_column("count")

    @property
    def dropped(self) -> Column:
        """Number of entities that did not fit into each world since the simulation began, shape (num_worlds,)."""
        return self._world_column("dropped")

    def _world_column(self, part: str) -> Column:
        """A column of the world that belongs to this table, with one value per world."""
        column: Column = self.__dict__["world_columns"][f"{self.table_name}__{part}"]
        return column

    @property
    def agent_rows(self) -> Table:
        """The rows of its agents: actions, observations, rewards, infos and flags, shape (num_worlds, capacity, ...).

        Raises:
            InputError: If it is not registered with ``wl.UpTo(..., agents=True)``.
        """
        rows: Table | None = self.__dict__.get("rows_of_agents")
        if rows is None:
            raise InputError(f"'{self.table_name}' has no agent rows: register it with wl.UpTo(..., agents=True)")
        return rows

    @property
    def offsets(self) -> Any:
        """The first row of each world in :meth:`rows`: a PyTorch tensor, int64 of shape (num_worlds,)."""
        counts = self.counts.torch().long()
        return counts.cumsum(0) - counts

    def count_problem(self, tensors: Mapping[str, Any]) -> str | None:
        """The problem with the entity counts of a state, columns by ``Table.name``; None where they are valid."""
        counts = tensors[self.counts.name]
        wrong = ((counts < 0) | (counts > self.rows_per_world)).nonzero()
        if len(wrong) == 0:
            return None
        world = int(wrong[0, 0])
        value = f"{self.counts.name} of world {world} holds {int(counts[world]):,}"
        return f"{value}, and it must be between 0 and {self.rows_per_world:,}"

    def occupied_rows_in(self, tensors: Mapping[str, Any]) -> Any:
        """Which slots hold an entity in a state, columns by ``Table.name``.

        Returns a PyTorch tensor, bool with the leading axes of the columns.
        """
        return self._occupied_slots(tensors[self.counts.name])

    def _occupied_slots(self, counts: Any) -> Any:
        import torch

        return torch.arange(self.rows_per_world, device=counts.device) < counts[:, None]

    def occupied_rows(self) -> np.ndarray[Any, Any]:
        """Which slots hold an entity: a NumPy array, bool with the leading axes of the columns."""
        return np.arange(self.rows_per_world) < self.counts.numpy()[:, None]

    @property
    def mask(self) -> Any:
        """Which slots hold an entity: a PyTorch tensor, bool of shape (num_worlds, capacity)."""
        return self._occupied_slots(self.counts.torch())

    def rows(self, name: str) -> Any:
        """A copy of one component of all entities, ordered by world: a PyTorch tensor of shape (entities, ...)."""
        return self[name].torch()[self.mask]

    def padded(self, name: str, fill: float = 0.0) -> Any:
        """A copy of one component with ``fill`` in the empty slots.

        Returns a PyTorch tensor of shape (num_worlds, capacity, ...).
        """
        import torch

        values, mask = self[name].torch(), self.mask
        mask = mask.reshape(*mask.shape, *[1] * (values.ndim - 2))
        return torch.where(mask, values, torch.as_tensor(fill, device=values.device).to(values.dtype))

    def __repr__(self) -> str:
        limit, names = self.__dict__["population_spec"].limit, ", ".join(c.field.name for c in self)
        return f"<table {self.table_name}: {limit} per world, columns {names}>"
