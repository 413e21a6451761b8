"""Writing actions into the columns of the worlds, where they have the shape and a type of the column."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import warp as wp

from worldloom.core.base.console import compile_notice
from worldloom.core.base.shards import WARP_LOCK
from worldloom.core.base.warp_private import bind_launch
from worldloom.core.runtime.column import Column
from worldloom.core.simulation import Simulation
from worldloom.vector.env_layout import EnvComponent
from worldloom.vector.transfer.transfer_kernels import ACTION_KERNELS, RECEIVING_KERNELS

Writer = Callable[[Any], bool]
"""Writes actions, and returns whether it did."""
_SOURCE_TYPES = ("bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64")

_SOURCE = 1
"""Index of the actions in the parameters of a launch; the first parameter is Warp's own."""


class ActionWriter(Protocol):
    """Writes the actions of one component."""

    def write(self, actions: Any) -> bool:
        """Write ``actions`` of shape (num_envs, ...) into the column.

        Returns:
            Whether they were written. Others need the checks and conversions of :meth:`Simulation.step`.
        """


def make_action_writer(simulation: Simulation, component: EnvComponent) -> ActionWriter:
    """The writer for a component on the device of the worlds. It takes tensors where PyTorch is imported already."""
    column = simulation.tables[component.table][component.name]
    shape = (simulation.num_worlds, *component.shape)
    if simulation.device.is_cuda:
        return DeviceWriter(column, shape, simulation.executor.stream)
    return HostWriter(column, shape)


class HostWriter:
    """Writes arrays and tensors on the CPU.

    Integers of a wider type than the column's are written only if the column's type can represent all of them.

    Args:
        column: The column of the actions.
        shape: The shape of the actions.
    """

    def __init__(self, column: Column, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._column = column.numpy().reshape(shape)
        self._writers: dict[tuple[type, Any], Writer] = {}
        """Writers of actions of the right shape, by the type of array and of number."""
        self._last_dtype: Any = None
        self._last_type: type | None = None
        self._last_writer: Writer | None = None
        """The writer of the last actions; a comparison of their types is faster than a search."""
        torch = sys.modules.get("torch")
        for name in _SOURCE_TYPES:
            dtype = np.dtype(name)
            if dtype.kind != self._column.dtype.kind:
                continue
            checked = dtype.kind == "i" and dtype.itemsize > self._column.dtype.itemsize
            write_array = _checked_writer(self._column, dtype) if checked else _array_writer(self._column)
            self._writers[np.ndarray, dtype] = write_array
            if torch is not None:
                self._writers[torch.Tensor, getattr(torch, name)] = (
                    _checked_tensor_writer(write_array, shape, getattr(torch, name))
                    if checked
                    else _tensor_writer(column.torch().reshape(shape))
                )

    def write(self, actions: Any) -> bool:
        """As :meth:`ActionWriter.write`."""
        dtype = getattr(actions, "dtype", None)
        if dtype is not self._last_dtype or type(actions) is not self._last_type:
            self._last_dtype, self._last_type = dtype, type(actions)
            self._last_writer = self._writers.get((type(actions), dtype))
        write = self._last_writer
        return write is not None and actions.shape == self._shape and write(actions)


def _array_writer(column: np.ndarray[Any, Any]) -> Writer:
    def write(actions: Any) -> bool:
        column[...] = actions
        return True

    return write


def _checked_writer(column: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Writer:
    """Writes integers of a wider type. They fit if they are the same after a conversion to the column's and back."""
    widened = np.empty(column.shape, dtype)

    def write(actions: Any) -> bool:
        column[...] = actions
        widened[...] = column
        return bool(widened.tobytes() == actions.tobytes())

    return write


def _tensor_writer(column: Any) -> Writer:
    def write(actions: Any) -> bool:
        if actions.requires_grad:
            return False
        column.copy_(actions)
        return True

    return write


def _checked_tensor_writer(write_array: Writer, shape: tuple[int, ...], dtype: Any) -> Writer:
    """Writes tensors by way of a tensor of its own, which takes half the time of ``Tensor.numpy()``."""
    import torch

    with torch.inference_mode(False):  # a tensor made in inference mode could not be written outside of it
        buffer = torch.empty(shape, dtype=dtype)
    array = buffer.numpy()

    def write(actions: Any) -> bool:
        buffer.copy_(actions)
        return write_array(array)

    return write


class DeviceWriter:
    """Writes tensors on the GPU of the worlds with one kernel.

    Args:
        column: The column of the actions.
        shape: The shape of the actions.
        stream: Returns the stream of the step.
    """

    def __init__(self, column: Column, shape: tuple[int, ...], stream: Callable[[], wp.Stream | None]) -> None:
        self._shape, self._stream, self._column = shape, stream, column
        self._number_bytes: dict[Any, int] = {}
        """Bytes of one number, by the types of actions that the kernels convert."""
        self._launches: dict[Any, tuple[Any, Callable[[wp.Stream | None], None]]] = {}
        """By the type of the actions, the parameter that holds their address, and the launch that reads it."""
        torch = sys.modules.get("torch")
        self._tensor_type = None if torch is None else torch.Tensor
        if torch is not None:
            self._record(column, torch)

    def _record(self, column: Column, torch: Any) -> None:
        """Record the launches for the column."""
        target = column.torch()
        self._device_index = target.get_device()
        numbers = wp.from_torch(target.view(-1))
        with WARP_LOCK, compile_notice(f"the conversions of actions for {column.device.alias}"):
            for (source, own), kernel in ACTION_KERNELS.items():
                if own == column.dtype.name:
                    actions = wp.array(
                        ptr=numbers.ptr, dtype=getattr(wp, source), shape=numbers.shape, device=column.device
                    )
                    launch = wp.launch(kernel, numbers.size, [actions, numbers], device=column.device, record_cmd=True)
                    self._launches[getattr(torch, source)] = launch.params[_SOURCE], bind_launch(launch)
                    self._number_bytes[getattr(torch, source)] = np.dtype(source).itemsize

    @property
    def takes_tensors(self) -> bool:
        """Whether there are types of actions that the kernels convert."""
        return bool(self._number_bytes)

    def locate(self, actions: Any) -> tuple[int, int] | None:
        """The address of the actions and the bytes of one number; None for actions that the kernels cannot convert."""
        if type(actions) is not self._tensor_type:
            return None
        size = self._number_bytes.get(actions.dtype)
        if (
            size is None
            or actions.shape != self._shape
            or actions.get_device() != self._device_index
            or not actions.is_contiguous()
        ):
            return None
        return actions.data_ptr(), size

    def write(self, actions: Any) -> bool:
        """As :meth:`ActionWriter.write`."""
        located = self.locate(actions)
        if located is None:
            return False
        source, launch = self._launches[actions.dtype]
        source.data = located[0]
        launch(self._stream())
        return True

    def record_receive(self, mail: wp.array, entry: int) -> wp.Launch:
        """The launch that writes the actions at the location in ``mail``, from this entry on."""
        numbers = wp.from_torch(self._column.torch().view(-1))
        kernel = RECEIVING_KERNELS[self._column.dtype.name]
        return wp.launch(kernel, numbers.size, [mail, entry, numbers], device=self._column.device, record_cmd=True)
