"""Tables and columns: the memory of a batch of worlds, exported to NumPy, PyTorch and DLPack without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.targets.accessors import alignment
from worldloom.core.model.fields import SCALARS, Field, Role, scalar_of, shape_of, type_name
from worldloom.core.model.population import Population


class Column:
    """One component of every entity of one kind in every world.

    Its exports have the shape (num_worlds, count, ...), or (num_worlds, ...) for fields of the world, and share its memory.
    A configuration holds one value for the batch, shape (1, ...), or one per world. With ``total`` the rows are those of the whole
    batch, shape (total, ...), and ``beyond`` more lie behind them, which no export shows.
    """

    def __init__(
        self,
        table: str,
        field: Field,
        num_worlds: int,
        count: int,
        device: wp.Device,
        external: Any = None,
        total: int | None = None,
        view_of: tuple[Column, int] | None = None,
        hidden_rows: int = 0,
    ) -> None:
        self.table, self.field, self.num_worlds, self.count, self.device, self.total = (
            table,
            field,
            num_worlds,
            count,
            device,
            total,
        )
        self.name = f"{table}.{field.name}"
        rows = 1 if field.role is Role.CONFIG else num_worlds * count if total is None else total + hidden_rows
        self._rows = (rows, *field.shape)
        self._values: np.ndarray[Any, Any] | None = None
        self._tensor: Any = None
        self.write_count = 0
        """How often it was assigned to; what was written through its exports is not counted."""
        self.array: Any
        self.view_of = view_of
        """The column of vectors that it is one number of, and which, where it has no memory of its own."""
        if view_of is not None:
            whole, place = view_of
            size = shape_of(whole.field.dtype)[0] * self.dtype.itemsize
            start = whole.array.ptr + place * self.dtype.itemsize
            self.array = wp.array(ptr=start, dtype=field.dtype, shape=self._rows, strides=(size,), device=device)
            self.fill(field.default)
        elif external is None:
            self.array = (wp.zeros if hidden_rows else wp.empty)(self._rows, dtype=field.dtype, device=device)
            self.fill(field.default)
        else:
            self.array = self._wrap_external(external)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its exports."""
        if self.field.role is Role.CONFIG:
            return (self.array.shape[0], *self._fixed_shape[1:])
        return self._fixed_shape

    @cached_property
    def _fixed_shape(self) -> tuple[int, ...]:
        """The shape, but for a configuration, which may be resized."""
        if self.total is not None:
            return (self.total, *self.field.value_shape)
        entities = () if self.table == "World" else (self.count,)
        return (self.num_worlds, *entities, *self.field.value_shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of its numbers."""
        found: np.dtype[Any] = np.dtype(SCALARS[scalar_of(self.field.dtype)])
        return found

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def numpy(self) -> np.ndarray[Any, Any]:
        """A NumPy view on the CPU; on a GPU a copy, since NumPy cannot see its memory."""
        if self.device.is_cuda:
            wp.synchronize_device(self.device)  # whatever stream the last step ran on
        if self.view_of is not None:
            found: np.ndarray[Any, Any] = self.torch().cpu().numpy()
            return found
        values = self.values if self.device.is_cpu else self.array.numpy()
        return values[: self.total].reshape(self.shape)

    def torch(self) -> Any:
        """A PyTorch tensor that shares the column's memory."""
        if self._tensor is None:
            import torch

            with torch.inference_mode(False):  # a tensor born in inference mode could never be written to outside of it
                self._tensor = (
                    wp.to_torch(self.array)[: self.total].view(self.shape)
                    if self.view_of is None
                    else self.view_of[0].torch()[..., self.view_of[1]]
                )
        return self._tensor

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """On the CPU: the memory itself, one row per entity."""
        if self._values is None:
            self._values = self.array.numpy()
        return self._values

    def __bool__(self) -> bool:
        raise InputError(f"{self.name} is a whole column and no truth value: ask .numpy().any() or .torch().any()")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<column {self.name}: {self.dtype.name} of shape {self.shape} on {self.device.alias}>"

    def __dlpack__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.torch().__dlpack__(*arguments, **keywords)

    def __dlpack_device__(self) -> tuple[Any, int]:
        found: tuple[Any, int] = self.torch().__dlpack_device__()
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def fill(self, value: Any) -> None:
        """Set every element to ``value``."""
        given = to_numpy(value, self.name, self.dtype)
        if (
            self.device.is_cuda and self.view_of is None and given.ndim == 0
        ):  # there, since the host may have no room for a column of a GPU
            self.write_count += 1
            wp.synchronize_device(self.device)  # whatever stream used the column last
            numbers = (self.total or self.array.shape[0], int(np.prod(self.field.value_shape)))
            wp.array(ptr=self.array.ptr, dtype=scalar_of(self.field.dtype), shape=numbers, device=self.device).fill_(
                given.item()
            )
            wp.synchronize_device(self.device)
            return
        self.assign(np.broadcast_to(given, self.shape))

    def assign(self, values: Any) -> None:
        """Copy ``values`` in: an array or a tensor of the column's shape, on any device; InputError where it does not fit."""
        wanted = self.shape
        self.write_count += 1
        if (
            type(values) is np.ndarray
            and self.device.is_cpu
            and self.view_of is None
            and values.dtype == self.dtype
            and values.shape == wanted
        ):
            np.copyto(self.values[: self.total].reshape(wanted), values)  # what steps get, without more ado
            return
        if _is_torch(values):
            if tuple(values.shape) != wanted:
                raise self._mismatch(f"shape {tuple(values.shape)}")
            if not castable(str(values.dtype).removeprefix("torch."), self.dtype):
                raise self._mismatch(f"type {str(values.dtype).removeprefix('torch.')}")
            if _narrows(str(values.dtype).removeprefix("torch."), self.dtype):
                info = np.iinfo(self.dtype)
                values = values.clamp(
                    info.min, info.max
                )  # what does not fit stays out of range, instead of wrapping into it
            self.torch().copy_(values.detach())
            return
        array = to_numpy(values, self.name)
        if array.shape != wanted:
            raise self._mismatch(f"shape {array.shape}")
        if not castable(array.dtype.name, self.dtype):
            raise self._mismatch(f"type {array.dtype.name}")
        if _narrows(array.dtype.name, self.dtype):
            info = np.iinfo(self.dtype)
            array = np.clip(array, info.min, info.max)
        if self.view_of is not None:
            import torch

            self.torch().copy_(torch.from_numpy(array.astype(self.dtype)))
        elif self.device.is_cpu:
            np.copyto(self.values[: self.total].reshape(wanted), array, casting="unsafe")
        else:
            plain = np.ascontiguousarray(array, dtype=self.dtype)
            source = wp.array(
                plain.reshape(-1, *self.array.shape[1:], *shape_of(self.field.dtype)),
                dtype=self.field.dtype,
                device="cpu",
                copy=False,
            )
            wp.synchronize_device(self.device)  # whatever stream used the column last
            wp.copy(self.array, source)
            wp.synchronize_device(self.device)

    def resize(self, rows: int) -> None:
        """For a configuration: hold one value for the batch (1) or one per world; keeps the first value."""
        first = self.array.numpy()[:1]
        self.array = wp.array(np.repeat(first, rows, axis=0), dtype=self.field.dtype, device=self.device)
        self._values = self._tensor = None

    def _mismatch(self, what: str) -> InputError:
        return InputError(f"{self.name} takes {self.dtype.name} of shape {self.shape}, not {what}")

    def _wrap_external(self, external: Any) -> wp.array:
        """Memory that somebody else owns, as this column."""
        if self.total is not None:
            raise InputError(
                f"{self.name} cannot be external: the worlds share the rows of {self.table}, which is the engine's own memory"
            )
        if isinstance(external, wp.array):
            array = external
        elif _is_torch(external):
            array = wp.from_torch(external.detach())
        elif isinstance(external, np.ndarray):
            if not external.flags.writeable:
                raise InputError(f"the external column {self.name} is read-only memory, and systems may write to it")
            if not external.flags.c_contiguous:
                raise InputError(f"the external column {self.name} must be contiguous memory")
            array = wp.array(external, copy=False, device=self.device)
        else:
            array = None
        if array is None:
            raise InputError(
                f"the external column {self.name} must be a Warp array, a PyTorch tensor or a NumPy array, not {type(external).__name__}"
            )
        size = int(np.prod((self.num_worlds * self.count, *self.field.value_shape)))
        scalars = array.size * int(np.prod(shape_of(array.dtype)))
        if scalar_of(array.dtype) is not scalar_of(self.field.dtype) or scalars != size:
            wanted = f"{size} numbers of type {type_name(scalar_of(self.field.dtype))}"
            raise InputError(
                f"the external column {self.name} must hold {wanted}, not {scalars} of {type_name(scalar_of(array.dtype))}"
            )
        if not array.is_contiguous:
            raise InputError(f"the external column {self.name} must be contiguous memory")
        if array.device != self.device:
            raise InputError(
                f"the external column {self.name} must be on {self.device.alias}, not on {array.device.alias}"
            )
        pieces = alignment(self.field.dtype)
        if self.device.is_cuda and array.ptr % pieces:
            raise InputError(
                f"the external column {self.name} must begin at a multiple of {pieces} bytes, since its vectors are moved in pieces of so many"
            )
        shape = (*array.shape, *shape_of(array.dtype))
        flat = (*self._rows, *shape_of(self.field.dtype))
        if shape not in (self.shape, flat):
            raise InputError(f"the external column {self.name} must have the shape {self.shape}, not {shape}")
        self.owner = external
        return wp.array(ptr=array.ptr, dtype=self.field.dtype, shape=self._rows, device=self.device, deleter=None)


_POPULATION_ATTRIBUTES = ("counts", "rows", "mask", "offsets", "padded", "dropped")


class Table:
    """Every column of one kind of entity, by name: ``table.x`` or ``table["x"]``."""

    name: str
    columns: dict[str, Column]
    count: int
    extra: dict[str, Column]
    """What the engine keeps beside the columns; part of the state, and never shown."""

    def __init__(self, name: str, columns: dict[str, Column], count: int) -> None:
        self.__dict__.update(name=name, columns=columns, count=count, extra={})

    def __getattr__(self, name: str) -> Column:
        return self[name]

    def __setattr__(self, name: str, values: Any) -> None:
        """``table.x = values`` copies ``values``, or one value for all, into the column."""
        column = self[name]
        values = values if hasattr(values, "shape") else to_numpy(values, column.name)
        column.fill(values) if len(values.shape) < len(column.shape) else column.assign(values)

    def __repr__(self) -> str:
        return f"<table {self.name}: {self.count} per world, columns {', '.join(c.field.name for c in self)}>"

    def __getitem__(self, name: str) -> Column:
        columns: dict[str, Column] = self.__dict__.get("columns", {})
        if name in _POPULATION_ATTRIBUTES and name not in columns:
            raise AttributeError(
                f"the number of '{self.__dict__.get('name')}' is fixed: '{name}' is for kinds registered with wl.UpTo"
            )
        if name not in columns:
            raise AttributeError(
                f"table '{self.__dict__.get('name')}' has no column '{name}': it has {', '.join(columns)}"
            )
        return columns[name]

    def locate(self, place: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The world that an element of a column belongs to, and its place there."""
        return place[0], place[1:]

    def __iter__(self) -> Iterator[Column]:
        """The columns that mean something between two steps."""
        return (c for c in self.columns.values() if not c.field.transient)


class PopulationTable(Table):
    """The columns of a kind of entity whose number varies.

    A column has room for the most that a world may hold, shape (num_worlds, most, ...); the first ``counts`` places of each world
    are entities, in the order in which they were spawned, and the rest means nothing.
    """

    def __init__(self, population: Population, columns: dict[str, Column], world: dict[str, Column]) -> None:
        super().__init__(population.table, columns, population.limit.per_world)
        self.__dict__.update(population=population, world=world)

    @property
    def counts(self) -> Column:
        """How many there are in each world, shape (num_worlds,)."""
        found: Column = self.__dict__["world"][f"{self.name}__count"]
        return found

    @property
    def dropped(self) -> Column:
        """How many did not fit into each world since the simulation began, shape (num_worlds,)."""
        found: Column = self.__dict__["world"][f"{self.name}__dropped"]
        return found

    @property
    def offsets(self) -> Any:
        """Where the rows of each world begin in :meth:`rows`: a PyTorch tensor, int64 of shape (num_worlds,)."""
        counts = self.counts.torch().long()
        return counts.cumsum(0) - counts

    def count_problem(self, tensors: Mapping[str, Any]) -> str | None:
        """What is wrong where columns by ``Table.name``, of this or another simulation, hold numbers of entities that there cannot be."""
        counts = tensors[self.counts.name]
        wrong = ((counts < 0) | (counts > self.count)).nonzero()
        if len(wrong) == 0:
            return None
        world = int(wrong[0, 0])
        return f"{self.counts.name} of world {world} holds {int(counts[world]):,}, and it must be between 0 and {self.count:,}"

    def occupied_rows_in(self, tensors: Mapping[str, Any]) -> Any:
        """Which places of a column hold an entity in such a state: a PyTorch tensor, bool with the first axes of the columns."""
        import torch

        counts = tensors[self.counts.name]
        return torch.arange(self.count, device=counts.device) < counts[:, None]

    def occupied_rows(self) -> np.ndarray[Any, Any]:
        """Which places of a column hold an entity: a NumPy array of truth values with the first axes of the columns."""
        return np.arange(self.count) < self.counts.numpy()[:, None]

    @property
    def mask(self) -> Any:
        """Which places hold an entity: a PyTorch tensor, bool of shape (num_worlds, most)."""
        import torch

        counts = self.counts.torch()
        return torch.arange(self.count, device=counts.device) < counts[:, None]

    def rows(self, name: str) -> Any:
        """A copy of one component of all entities, world after world: a PyTorch tensor of shape (entities, ...)."""
        return self[name].torch()[self.mask]

    def padded(self, name: str, fill: float = 0.0) -> Any:
        """A copy of one component with ``fill`` in the places that hold no entity: a PyTorch tensor of shape (num_worlds, most, ...)."""
        import torch

        values, mask = self[name].torch(), self.mask
        mask = mask.reshape(*mask.shape, *[1] * (values.ndim - 2))
        return torch.where(mask, values, torch.as_tensor(fill, device=values.device).to(values.dtype))

    def __repr__(self) -> str:
        return f"<table {self.name}: {self.__dict__['population'].limit} per world, columns {', '.join(c.field.name for c in self)}>"


def _is_torch(value: Any) -> bool:
    return type(value).__module__.startswith("torch")


def _narrows(source: str, target: np.dtype[Any]) -> bool:
    """Whether whole numbers of type ``source`` may not fit into ``target``."""
    return target.kind in "iu" and source != "bool" and not np.can_cast(np.dtype(source), target, "safe")


def castable(source: str, target: np.dtype[Any]) -> bool:
    """Whether numbers of type ``source`` may be copied into ``target``: any whole numbers into whole numbers, no real ones."""
    if source == target.name:
        return True
    try:
        kind = np.dtype(source).kind
    except TypeError:
        return False
    return kind in {"b": "b", "i": "iub", "u": "iub", "f": "fiub"}[target.kind]
