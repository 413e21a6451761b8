"""Columns: the memory of one component, exported to NumPy, PyTorch and DLPack without a copy."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.arrays import to_host, to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.targets.accessors import alignment
from worldloom.core.model.agent_rows import kind_of_rows
from worldloom.core.model.dtypes import SCALARS, scalar_of, shape_of, type_name
from worldloom.core.model.fields import Field


class Column:
    """One component of every entity of one kind in every world.

    Its exports share its memory. They have the shape (num_worlds, count, ...), or (num_worlds, ...) for fields of the
    world. A configuration holds one value for the batch, shape (1, ...), or one per world. With ``total``, all worlds
    share the rows: the shape is (total, ...). ``hidden_rows`` more rows follow, which are not exported.
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
        same_as: Column | None = None,
    ) -> None:
        self.table, self.field, self.device = table, field, device
        self.num_worlds, self.count, self.total = num_worlds, count, total
        self.name = f"{table}.{field.name}"
        rows = 1 if field.batch_wide else num_worlds * count if total is None else total + hidden_rows
        self._rows = (rows, *field.shape)
        self._values: np.ndarray[Any, Any] | None = None
        self._tensor: Any = None
        self.write_count = 0
        """Number of assignments; writes through its exports are not counted."""
        self.array: Any
        self.view_of = view_of
        """The column of vectors that holds its memory, and the index of its element; None where it owns its memory."""
        self.same_as = same_as
        """The column of another table whose memory it shares row by row; None for most columns."""
        if same_as is not None:
            self.array = same_as.array
        elif view_of is not None:
            whole, element = view_of
            size = shape_of(whole.field.dtype)[0] * self.dtype.itemsize
            start = whole.array.ptr + element * self.dtype.itemsize
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
        if self.field.batch_wide:
            return (self.array.shape[0], *self._fixed_shape[1:])
        return self._fixed_shape

    @cached_property
    def _fixed_shape(self) -> tuple[int, ...]:
        """The shape of any column but a configuration, which may be resized."""
        if self.total is not None:
            return (self.total, *self.field.value_shape)
        entities = () if self.table == "World" else (self.count,)
        return (self.num_worlds, *entities, *self.field.value_shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of its scalars."""
        dtype: np.dtype[Any] = np.dtype(SCALARS[scalar_of(self.field.dtype)])
        return dtype

    @property
    def owns_memory(self) -> bool:
        """Whether its memory is not that of another column, of which it is a view."""
        return self.view_of is None and self.same_as is None

    @property
    def kind_name(self) -> str:
        """``Kind.name``, as a user knows it, also of a column of agent rows."""
        return f"{kind_of_rows(self.table)}.{self.field.name}"

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def numpy(self) -> np.ndarray[Any, Any]:
        """A NumPy view on the CPU; a copy on a GPU, since NumPy has no access to its memory."""
        if self.device.is_cuda:
            wp.synchronize_device(self.device)  # the last step may have run on any stream
        if self.view_of is not None:
            copy: np.ndarray[Any, Any] = self.torch().cpu().numpy()
            return copy
        values = self.values if self.device.is_cpu else to_host(self.array)
        return values[: self.total].reshape(self.shape)

    def torch(self) -> Any:
        """A PyTorch tensor that shares the column's memory."""
        if self._tensor is None:
            import torch

            with torch.inference_mode(False):  # a tensor made in inference mode is read-only outside of it
                self._tensor = (
                    wp.to_torch(self.array)[: self.total].view(self.shape)
                    if self.view_of is None
                    else self.view_of[0].torch()[..., self.view_of[1]]
                )
        return self._tensor

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """On the CPU: the memory, one row per entity."""
        if self._values is None:
            self._values = self.array.numpy()
        return self._values

    def __bool__(self) -> bool:
        raise InputError(f"{self.name} is a whole column and no truth value: use .numpy().any() or .torch().any()")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<column {self.name}: {self.dtype.name} of shape {self.shape} on {self.device.alias}>"

    def __dlpack__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.torch().__dlpack__(*arguments, **keywords)

    def __dlpack_device__(self) -> tuple[Any, int]:
        device: tuple[Any, int] = self.torch().__dlpack_device__()
        return device

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def fill(self, value: Any) -> None:
        """Set every element to ``value``."""
        array = to_numpy(value, self.name, self.dtype)
        if self.device.is_cuda and self.view_of is None and array.ndim == 0:
            self._fill_on_device(array.item())  # the host may lack the memory for a column of a GPU
        else:
            self.assign(np.broadcast_to(array, self.shape))

    def _fill_on_device(self, value: Any) -> None:
        self.write_count += 1
        wp.synchronize_device(self.device)  # any stream may have used the column last
        shape = (self.total or self.array.shape[0], int(np.prod(self.field.value_shape)))
        scalars = wp.array(ptr=self.array.ptr, dtype=scalar_of(self.field.dtype), shape=shape, device=self.device)
        scalars.fill_(value)
        wp.synchronize_device(self.device)

    def assign(self, values: Any) -> None:
        """Copy ``values``, an array or tensor of the column's shape on any device; InputError where it does not fit."""
        shape = self.shape
        self.write_count += 1
        if (
            type(values) is np.ndarray
            and self.device.is_cpu
            and self.view_of is None
            and values.dtype == self.dtype
            and values.shape == shape
        ):
            np.copyto(self.values[: self.total].reshape(shape), values)  # fast path of steps
            return
        if _is_torch(values):
            if self._clamps(tuple(values.shape), str(values.dtype).removeprefix("torch.")):
                info = np.iinfo(self.dtype)
                values = values.clamp(info.min, info.max)
            self.torch().copy_(values.detach())
            return
        array = to_numpy(values, self.name)
        if self._clamps(array.shape, array.dtype.name):
            info = np.iinfo(self.dtype)
            array = np.clip(array, info.min, info.max)
        if self.view_of is not None:
            import torch

            self.torch().copy_(torch.from_numpy(array.astype(self.dtype)))
        elif self.device.is_cpu:
            np.copyto(self.values[: self.total].reshape(shape), array, casting="unsafe")
        else:
            self._upload(np.ascontiguousarray(array, dtype=self.dtype))

    def _clamps(self, shape: tuple[int, ...], dtype: str) -> bool:
        """Whether integers of type ``dtype`` are clamped to this column's type, so that they do not wrap around.

        Raises InputError where the shape or the type does not fit.
        """
        if shape != self.shape:
            raise self._mismatch(f"shape {shape}")
        if not castable(dtype, self.dtype):
            raise self._mismatch(f"type {dtype}")
        return _narrows(dtype, self.dtype)

    def _upload(self, array: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array of the column's type to the GPU."""
        shape = (-1, *self.array.shape[1:], *shape_of(self.field.dtype))
        source = wp.array(array.reshape(shape), dtype=self.field.dtype, device="cpu", copy=False)
        wp.synchronize_device(self.device)  # any stream may have used the column last
        wp.copy(self.array, source)
        wp.synchronize_device(self.device)

    def resize(self, rows: int) -> None:
        """For a configuration: hold one value for the batch (1) or one per world. The first value is kept."""
        first = to_host(self.array)[:1]
        self.array = wp.array(np.repeat(first, rows, axis=0), dtype=self.field.dtype, device=self.device)
        self._values = self._tensor = None

    def _mismatch(self, what: str) -> InputError:
        return InputError(f"{self.kind_name} takes {self.dtype.name} of shape {self.shape}, not {what}")

    def _not_contiguous(self) -> InputError:
        return InputError(f"the external column {self.name} must be contiguous memory")

    def _wrap_external(self, external: Any) -> wp.array:
        """The caller's memory as the memory of this column."""
        if self.total is not None:
            shared = f"the worlds share the rows of {self.table}, which is the engine's own memory"
            raise InputError(f"{self.name} cannot be external: {shared}")
        array = self._external_array(external)
        self._check_external(array)
        self.owner = external
        return wp.array(ptr=array.ptr, dtype=self.field.dtype, shape=self._rows, device=self.device, deleter=None)

    def _external_array(self, external: Any) -> wp.array:
        """The caller's memory as a Warp array."""
        if isinstance(external, wp.array):
            return external
        if _is_torch(external):
            tensor = external.detach()
            if not tensor.is_contiguous():
                raise self._not_contiguous()
            return wp.from_torch(self._in_rows(tensor))
        if isinstance(external, np.ndarray):
            if not external.flags.writeable:
                raise InputError(f"the external column {self.name} is read-only memory, and systems may write to it")
            if not external.flags.c_contiguous:
                raise self._not_contiguous()
            return wp.array(self._in_rows(external), copy=False, device=self.device)
        types = "a Warp array, a PyTorch tensor or a NumPy array"
        raise InputError(f"the external column {self.name} must be {types}, not {type(external).__name__}")

    def _in_rows(self, values: Any) -> Any:
        """Contiguous values of the column's shape with one row per entity: a Warp array has at most four dimensions."""
        rows = (self.num_worlds * self.count, *self.field.value_shape)
        return values.reshape(rows) if tuple(values.shape) == self.shape else values

    def _check_external(self, array: wp.array) -> None:
        size = int(np.prod((self.num_worlds * self.count, *self.field.value_shape)))
        scalars = array.size * int(np.prod(shape_of(array.dtype)))
        if scalar_of(array.dtype) is not scalar_of(self.field.dtype) or scalars != size:
            expected = f"{size} numbers of type {type_name(scalar_of(self.field.dtype))}"
            actual = f"{scalars} of {type_name(scalar_of(array.dtype))}"
            raise InputError(f"the external column {self.name} must hold {expected}, not {actual}")
        if not array.is_contiguous:
            raise self._not_contiguous()
        if array.device != self.device:
            raise InputError(
                f"the external column {self.name} must be on {self.device.alias}, not on {array.device.alias}"
            )
        aligned = alignment(self.field.dtype)
        if self.device.is_cuda and array.ptr % aligned:
            reason = "since its vectors are loaded and stored in pieces of that size"
            raise InputError(f"the external column {self.name} must begin at a multiple of {aligned} bytes, {reason}")
        shape = (*array.shape, *shape_of(array.dtype))
        flat = (*self._rows, *shape_of(self.field.dtype))
        if shape not in (self.shape, flat):
            raise InputError(f"the external column {self.name} must have the shape {self.shape}, not {shape}")


def _is_torch(value: Any) -> bool:
    return type(value).__module__.startswith("torch")


def _narrows(source: str, target: np.dtype[Any]) -> bool:
    """Whether ``target`` is an integer type that cannot hold every value of type ``source``."""
    return target.kind in "iu" and source != "bool" and not np.can_cast(np.dtype(source), target, "safe")


def castable(source: str, target: np.dtype[Any]) -> bool:
    """Whether numbers of type ``source`` may be copied into ``target``: integers into integers, but no floats."""
    if source == target.name:
        return True
    try:
        kind = np.dtype(source).kind
    except TypeError:
        return False
    return kind in {"b": "b", "i": "iub", "u": "iub", "f": "fiub"}[target.kind]
