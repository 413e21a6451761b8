"""Functions that return the current values of columns to a client. They are made once; every step only calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from worldloom.core.runtime.column import Column
from worldloom.vector.checks import Backend
from worldloom.vector.observation_types import Conversion

Reader = Callable[[], Any]
"""Returns an array or tensor of shape (num_envs, ...), or a tuple or dict of them."""
ValueT = TypeVar("ValueT")


class ColumnReaders:
    """Makes the readers of columns.

    On the CPU, tensors are made of NumPy arrays: NumPy copies a small array in a fraction of the time of PyTorch.

    Args:
        num_envs: Number of worlds.
        backend: Whether readers return arrays, or tensors on the device of the worlds.
        copy: Whether readers return copies, or else views of the columns.
    """

    def __init__(self, num_envs: int, backend: Backend, copy: bool) -> None:
        self._num_envs, self._backend, self._copy = num_envs, backend, copy

    def view(self, column: Column, shape: tuple[int, ...]) -> Any:
        """The memory of a column as an array or tensor of shape (num_envs, *shape)."""
        values = column.torch() if self._backend == "torch" else column.numpy()
        return values.reshape(self._num_envs, *shape)

    def reader(self, column: Column, shape: tuple[int, ...], convert: Conversion | None = None) -> Reader:
        """The reader of a column.

        Args:
            column: The column.
            shape: The shape of one world's value.
            convert: A conversion of views to new arrays: of tensors where the column is on a GPU, and otherwise of
                arrays.
        """
        if self._backend == "numpy" or (column.device.is_cpu and (self._copy or convert is not None)):
            read = self.array_reader(column, shape, convert)
            return as_tensor_reader(read) if self._backend == "torch" else read
        tensor = self.view(column, shape)
        if convert is not None:
            return partial(convert, tensor)
        return tensor.clone if self._copy else partial(_same, tensor)  # type: ignore[no-any-return]

    def array_reader(self, column: Column, shape: tuple[int, ...], convert: Conversion | None = None) -> Reader:
        """As :meth:`reader`, but it returns NumPy arrays with either backend."""
        full_shape = (self._num_envs, *shape)
        if column.device.is_cuda:
            return partial(_read_from_device, column, full_shape, convert)
        view = column.numpy().reshape(full_shape)
        if convert is not None:
            return partial(convert, view)
        return view.copy if self._copy else partial(_same, view)


def combine_readers(readers: dict[str, Reader]) -> Reader:
    """The single reader alone, or a reader of the dict of several."""
    return next(iter(readers.values())) if len(readers) == 1 else partial(_read_all, tuple(readers.items()))


def as_tensors(values: Any) -> Any:
    """An array as a tensor that shares its memory, or a tuple or dict of them."""
    from torch import from_numpy

    if isinstance(values, dict):
        return {key: as_tensors(value) for key, value in values.items()}
    return tuple(map(from_numpy, values)) if isinstance(values, tuple) else from_numpy(values)


def as_tensor_reader(read: Reader) -> Reader:
    """A reader of tensors that share the memory of the arrays of ``read``."""
    return partial(_read_tensors, read)


def _same(values: ValueT) -> ValueT:
    return values


def _read_tensors(read: Reader) -> Any:
    return as_tensors(read())


def _read_all(readers: tuple[tuple[str, Reader], ...]) -> dict[str, Any]:
    return {key: read() for key, read in readers}


def _read_from_device(column: Column, shape: tuple[int, ...], convert: Conversion | None) -> Any:
    values = column.numpy().reshape(shape)
    return values if convert is None else convert(values)
