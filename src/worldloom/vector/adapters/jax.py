"""Worlds inside compiled JAX programs: ``handle, recv, send, step = env.xla()``, for ``jax.jit`` and ``jax.lax.scan``.

The compiled program calls back into this process, which steps the worlds. Actions are copied from JAX's buffers into
columns, and columns into JAX's buffers, on the same device. On a GPU the copies and kernels are queued on JAX's stream,
without a device synchronization.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.dtypes import scalar_of
from worldloom.core.runtime.column import Column
from worldloom.core.schedule.table_views import FINAL
from worldloom.vector.adapters.jax_call import make_jax_call
from worldloom.vector.checks import StepResult, check_action_keys
from worldloom.vector.env_layout import EnvComponent, combine_values
from worldloom.vector.world_batch import WorldBatch

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    raise InputError("env.xla() needs the package jax: pip install 'worldloom[jax]'") from missing


class Xla(NamedTuple):
    """The result of ``env.xla()``; step results have the form of ``WorldVectorEnv.step``, in JAX arrays.

    Attributes:
        handle: The worlds in a program. Every call takes the last handle and returns the next, which orders the calls.
        recv: ``handle, result = recv(handle)``: the current observations and flags, without a step.
        send: ``handle = send(handle, actions)``: one step.
        step: ``handle, result = step(handle, actions)``: one step and its result.
    """

    handle: Any
    recv: Callable[[Any], tuple[Any, StepResult]]
    send: Callable[..., Any]
    step: Callable[..., tuple[Any, StepResult]]


@dataclass(frozen=True)
class _ColumnBuffer:
    """A column as JAX sees it: ``num_envs`` values of ``shape``, and its memory as a flat Warp array of scalars."""

    column: Column
    shape: tuple[int, ...]
    memory: wp.array

    @property
    def size(self) -> int:
        return int(self.memory.size)

    def read(self, source: wp.array) -> None:
        """Copy an array of JAX into the column."""
        self._copy(self.memory, source)

    def write(self, target: wp.array) -> None:
        """Copy the column into an array of JAX."""
        self._copy(target, self.memory)

    def _copy(self, target: wp.array, source: wp.array) -> None:
        if self.memory.device.is_cpu:  # in a tenth of the time of Warp's copy
            ctypes.memmove(target.ptr, source.ptr, self.size * self.column.dtype.itemsize)
        else:
            wp.copy(target, source)


class JaxBridge:
    """The calls between compiled JAX programs and one batch of worlds."""

    def __init__(self, batch: WorldBatch) -> None:
        if batch.simulation.autoreset == "disabled":
            raise InputError(
                "a compiled program cannot reset single worlds: make them with autoreset='same_step' or 'next_step'"
            )
        self.batch, self.device = batch, batch.simulation.device
        self._world_stream = self.device.stream if self.device.is_cuda else None
        flags = (batch.simulation.terminated, batch.simulation.truncated)
        layout = batch.layout
        self._actions = self._component_buffers(layout.actions)
        self._outputs = {
            "observations": self._component_buffers(layout.observations),
            "rewards": self._component_buffers(layout.rewards),
            "flags": [self._column_buffer(column, ()) for column in flags],
            "infos": self._component_buffers(layout.infos),
        }
        if batch.simulation.autoreset == "same_step":
            self._outputs["final_obs"] = self._component_buffers(layout.observations, FINAL)
            self._outputs["final_info"] = self._component_buffers(layout.infos, FINAL)
        self._call_recv = self._make_callable("recv", steps=False, returns_results=True)
        self._call_send = self._make_callable("send", steps=True, returns_results=False)
        self._call_step = self._make_callable("step", steps=True, returns_results=True)

    def handle(self) -> Any:
        """A first handle, on the JAX device that holds the worlds; programs that take it run there."""
        try:
            jax_device = wp.device_to_jax(self.device)
        except RuntimeError:
            raise InputError(
                f"JAX does not see the device {self.device.alias} that holds the worlds: install JAX for it, "
                "or make them on the CPU"
            ) from None
        return jax.device_put(np.zeros(1, np.int32), jax_device)

    # -- functions of a program ---------------------------------------------------------------------------------------

    def recv(self, handle: Any) -> tuple[Any, StepResult]:
        """The current observations, rewards, flags and infos."""
        next_handle, *arrays = self._call_recv(handle)
        return next_handle, self._step_result(_with_barrier(arrays))

    def send(self, handle: Any, actions: Any = None, env_id: Any = None) -> Any:
        """Step every world.

        With ``env_id``, a permutation of all worlds, row k of ``actions`` is for world ``env_id[k]``.
        """
        return self._call_send(handle, *_with_barrier(self._flatten_actions(actions, env_id)))[0]

    def step(self, handle: Any, actions: Any = None, env_id: Any = None) -> tuple[Any, StepResult]:
        """Step every world. Rows of the result are in the order of the worlds."""
        next_handle, *arrays = self._call_step(handle, *_with_barrier(self._flatten_actions(actions, env_id)))
        return next_handle, self._step_result(_with_barrier(arrays))

    def _flatten_actions(self, actions: Any, env_id: Any) -> list[Any]:
        """``actions`` as flat arrays of the columns' types."""
        keys = [component.key for component in self.batch.layout.actions]
        if len(keys) == 1 and not isinstance(actions, Mapping):
            actions = {keys[0]: actions}
        if keys:
            check_action_keys(actions, keys)
        return [
            self._flatten_action(buffer, jnp.asarray(actions[key]), env_id)
            for key, buffer in zip(keys, self._actions, strict=True)
        ]

    def _flatten_action(self, buffer: _ColumnBuffer, actions: Any, env_id: Any) -> Any:
        rows = self.batch.num_envs
        if actions.shape[:1] != (rows,) or actions.size != buffer.size:
            raise InputError(
                f"{buffer.column.name} takes actions of shape {(rows, *buffer.shape)}, not {actions.shape}"
            )
        dtype_groups = {"f": jnp.number, "b": jnp.bool_}
        if not jnp.issubdtype(actions.dtype, dtype_groups.get(buffer.column.dtype.kind, jnp.integer)):
            raise InputError(
                f"{buffer.column.name} takes actions of type {buffer.column.dtype.name}, not {actions.dtype.name}"
            )
        if env_id is not None:
            actions = actions[jnp.argsort(jnp.asarray(env_id))]
        return actions.reshape(-1).astype(buffer.column.dtype)

    def _step_result(self, flat_arrays: list[Any]) -> StepResult:
        """The flat arrays that a call returned, in Gymnasium's order and shapes."""
        rows, remaining = self.batch.num_envs, iter(flat_arrays)
        outputs = {
            name: [next(remaining).reshape(rows, *buffer.shape) for buffer in buffers]
            for name, buffers in self._outputs.items()
        }
        rewards = sum(
            (values.reshape(rows, -1).sum(1) if values.ndim > 1 else values for values in outputs["rewards"]),
            jnp.zeros(rows, jnp.float32),
        )
        terminations, truncations = outputs["flags"]
        all_worlds_mask = jnp.ones(rows, jnp.bool_)
        infos: dict[str, Any] = {
            **self._infos(outputs["infos"], all_worlds_mask),
            "env_id": jnp.arange(rows, dtype=jnp.int32),
        }
        if "final_obs" in outputs:
            ended = terminations | truncations
            infos |= {"final_obs": self._observations(outputs["final_obs"]), "_final_obs": ended}
            infos |= {"final_info": self._infos(outputs["final_info"], ended), "_final_info": ended}
        return self._observations(outputs["observations"]), rewards, terminations, truncations, infos

    def _observations(self, arrays: list[Any]) -> Any:
        keys = [component.key for component in self.batch.layout.observations]
        return combine_values(dict(zip(keys, arrays, strict=True)))

    def _infos(self, arrays: list[Any], mask: Any) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for component, array in zip(self.batch.layout.infos, arrays, strict=True):
            infos |= {component.key: array, "_" + component.key: mask}
        return infos

    # -- one call of a program ----------------------------------------------------------------------------------------

    def run(self, handle: wp.array, arrays: tuple[wp.array, ...], steps: bool, returns_results: bool) -> None:
        """One call of a program.

        Args:
            handle: On the device that the program runs on.
            arrays: JAX's buffers: the actions, if ``steps``, then the results, if ``returns_results``.
            steps: Whether to read actions and step.
            returns_results: Whether to copy every result column to JAX.
        """
        if handle.device != self.device:
            raise InputError(
                f"the program runs on {handle.device.alias}, but its worlds are on {self.device.alias}: "
                "start it from their handle"
            )
        inputs, outputs = self._call_buffers(steps, returns_results)
        with self._stream():
            for buffer, source in zip(inputs, arrays[: len(inputs)], strict=True):
                buffer.read(source)
            if steps:
                self.batch.simulation.step()
            for buffer, target in zip(outputs, arrays[len(inputs) :], strict=True):
                buffer.write(target)

    def _call_buffers(self, steps: bool, returns_results: bool) -> tuple[list[_ColumnBuffer], list[_ColumnBuffer]]:
        outputs = [buffer for buffers in self._outputs.values() for buffer in buffers]
        return self._actions if steps else [], outputs if returns_results else []

    @contextlib.contextmanager
    def _stream(self) -> Iterator[None]:
        """On a GPU: queue work on JAX's stream, after pending work of these worlds outside of JAX."""
        if self._world_stream is None:
            yield
            return
        stream = wp.get_stream(self.device)  # JAX's stream during this call
        stream.wait_stream(self._world_stream)
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            yield
            return
        same = torch.cuda.ExternalStream(stream.cuda_stream, device=self.device.ordinal)
        same.wait_stream(torch.cuda.default_stream(self.device.ordinal))
        with torch.cuda.stream(same):  # the engine uses PyTorch's current stream once PyTorch is initialized
            yield

    def _make_callable(self, name: str, steps: bool, returns_results: bool) -> Callable[..., Any]:
        """A function for JAX programs that takes a handle and flat actions, and returns a handle and flat columns.

        JAX never releases such functions, so this one holds a weak reference to the worlds.
        """
        owner = weakref.ref(self)

        def call(handle: wp.array, *arrays: wp.array) -> None:
            bridge = owner()
            if bridge is None:
                raise InputError("the worlds of this program were deleted: keep their environment while it runs")
            bridge.run(handle, arrays, steps, returns_results)

        inputs, outputs = self._call_buffers(steps, returns_results)
        numbers = [buffer.memory.dtype for buffer in inputs]
        results = [(buffer.memory.dtype, buffer.size) for buffer in outputs]
        return make_jax_call(call, f"worldloom_{name}", numbers, results)

    def _component_buffers(self, components: list[EnvComponent], prefix: str = "") -> list[_ColumnBuffer]:
        tables = self.batch.simulation.tables
        return [self._column_buffer(tables[c.table][prefix + c.name], c.shape) for c in components]

    def _column_buffer(self, column: Column, shape: tuple[int, ...]) -> _ColumnBuffer:
        if jax.dtypes.canonicalize_dtype(column.dtype) != column.dtype:
            raise InputError(
                f"{column.name} is {column.dtype.name}, which JAX supports only after "
                "jax.config.update('jax_enable_x64', True)"
            )
        size = self.batch.num_envs * int(np.prod(shape))
        memory = wp.array(ptr=column.array.ptr, dtype=scalar_of(column.field.dtype), shape=(size,), device=self.device)
        return _ColumnBuffer(column, shape, memory)


def _with_barrier(arrays: list[Any]) -> list[Any]:
    """The same arrays behind an optimization barrier.

    On a GPU, XLA otherwise fuses a call with adjacent slices of a ``lax.scan``, and then runs the call twice.
    """
    return list(jax.lax.optimization_barrier(tuple(arrays)))


def make_xla(batch: WorldBatch) -> Xla:
    """The handle and the functions for programs that step ``batch``."""
    bridge = JaxBridge(batch)
    return Xla(bridge.handle(), bridge.recv, bridge.send, bridge.step)
