"""Pools inside compiled JAX programs: ``handle, recv, send, step = env.xla()``.

The compiled program calls back into this process, which steps the environments on the host, as EnvPool does. For
worlds that stay on a GPU, ``worldloom.make(...).xla()`` copies within the device.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.envpool.actions import SINGLE_ACTION, ActionConverter
from worldloom.envpool.async_engine import AsyncEngine
from worldloom.envpool.state import State
from worldloom.envpool.sync_engine import SyncEngine
from worldloom.vector.adapters.jax_call import make_jax_call

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    raise InputError("env.xla() needs the package jax: pip install 'worldloom[jax]'") from missing


class XlaFunctions(NamedTuple):
    """The result of ``env.xla()``.

    Attributes:
        handle: The pool in a program. Every call takes a handle and returns the next, which orders the calls.
        recv: ``handle, result = recv(handle)``, with the result of ``env.recv``.
        send: ``handle = send(handle, action, env_id)``.
        step: ``handle, result = step(handle, action, env_id)``: ``send``, then ``recv``.
    """

    handle: Any
    recv: Callable[..., Any]
    send: Callable[..., Any]
    step: Callable[..., Any]


@dataclass(frozen=True)
class _Buffer:
    """An array of a call: its key, its type, and the shape of ``batch_size`` rows."""

    key: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def make_xla(
    pool: Any,
    engine: SyncEngine | AsyncEngine,
    converter: ActionConverter,
    to_result: Callable[[State, bool], Any],
) -> XlaFunctions:
    """The handle of a pool and its functions for compiled programs.

    Args:
        pool: The pool. Programs hold weak references to it and to its environments, since JAX never releases
            compiled functions.
        engine: Its environments.
        converter: Of its actions.
        to_result: Converts a dict of arrays to a result of ``step``.
    """
    rows = pool.config["batch_size"]
    actions = [_Buffer(key, dtype, (rows, *shape)) for key, (dtype, shape) in converter.columns.items()]
    ids = _Buffer("env_id", np.dtype(np.int32), (rows,))
    outputs = _state_buffers(engine, rows)
    for buffer in (*actions, *outputs):
        _require_supported(buffer)
    owner, environments = weakref.ref(pool), weakref.ref(engine)

    def run_send(*arrays: np.ndarray[Any, Any]) -> None:
        *values, env_id = (array.reshape(b.shape) for array, b in zip(arrays, [*actions, ids], strict=True))
        by_key = {buffer.key: value.copy() for buffer, value in zip(actions, values, strict=True)}
        _alive(owner).send(by_key if len(by_key) != 1 else next(iter(by_key.values())), env_id.copy())

    def run_recv() -> list[np.ndarray[Any, Any]]:
        state = _alive(environments).recv()
        return [np.ascontiguousarray(state[buffer.key], buffer.dtype).reshape(-1) for buffer in outputs]

    call_send = _make_callable("envpool_send", [*actions, ids], [], run_send)
    call_recv = _make_callable("envpool_recv", [], outputs, run_recv)

    def send(handle: Any, action: Any, env_id: Any = None) -> Any:
        values = action if isinstance(action, Mapping) else {actions[0].key if actions else SINGLE_ACTION: action}
        flat = [_flatten(buffer, values[buffer.key]) for buffer in actions]
        env_ids = jnp.arange(rows, dtype=jnp.int32) if env_id is None else jnp.asarray(env_id)
        return call_send(handle, *flat, _flatten(ids, env_ids))[0]

    def recv(handle: Any) -> Any:
        next_handle, *arrays = call_recv(handle)
        state = {b.key: array.reshape(b.shape) for b, array in zip(outputs, arrays, strict=True)}
        return next_handle, to_result(state, False)

    def step(handle: Any, action: Any, env_id: Any = None) -> Any:
        return recv(send(handle, action, env_id))

    return XlaFunctions(np.zeros(1, np.int32), recv, send, step)


def _state_buffers(engine: SyncEngine | AsyncEngine, rows: int) -> list[_Buffer]:
    """The arrays of a state, in the order of :meth:`StateReader.read`."""
    forms = engine.groups[0].row_forms()
    return [_Buffer(key, dtype, (rows, *shape)) for key, (dtype, shape) in forms.items()]


def _alive(owner: weakref.ref[Any]) -> Any:
    pool = owner()
    if pool is None:
        raise InputError("the pool of this program was deleted: keep it while the program runs")
    return pool


def _require_supported(buffer: _Buffer) -> None:
    if jax.dtypes.canonicalize_dtype(buffer.dtype) != buffer.dtype:
        raise InputError(
            f"{buffer.key} is {buffer.dtype.name}, which JAX supports only after "
            "jax.config.update('jax_enable_x64', True)"
        )


def _flatten(buffer: _Buffer, values: Any) -> Any:
    """``values`` as a flat JAX array of the buffer's type."""
    array = jnp.asarray(values)
    if array.shape[:1] != buffer.shape[:1] or array.size != buffer.size:
        raise InputError(f"{buffer.key} takes an array of shape {buffer.shape}, not {array.shape}")
    return array.astype(buffer.dtype).reshape(-1)


def _make_callable(
    name: str, inputs: list[_Buffer], outputs: list[_Buffer], function: Callable[..., Any]
) -> Callable[..., Any]:
    """A JAX function of a handle and flat arrays that calls ``function`` on the host with NumPy arrays."""

    def call(handle: wp.array, *arrays: wp.array) -> None:
        results = function(*[array.numpy() for array in arrays[: len(inputs)]])
        for target, result in zip(arrays[len(inputs) :], results or (), strict=True):
            target.assign(result)

    numbers = [wp.dtype_from_numpy(buffer.dtype) for buffer in inputs]
    results = [(wp.dtype_from_numpy(buffer.dtype), buffer.size) for buffer in outputs]
    return make_jax_call(call, name, numbers, results)
