"""Worlds inside compiled JAX programs: ``handle, recv, send, step = env.xla()``, for ``jax.jit`` and ``jax.lax.scan``.

The compiled program calls back into this process, which steps the worlds where they are: actions are copied from JAX's buffers into
columns, and columns into JAX's buffers, on the same device. On a GPU all of it is queued on JAX's own stream, and nothing waits.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import scalar_of
from worldloom.core.runtime.table import Column
from worldloom.core.schedule.lifecycle import FINAL
from worldloom.vector.env_layout import EnvComponent
from worldloom.vector.world_batch import WorldBatch

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    raise InputError("env.xla() needs the package jax: pip install 'worldloom[jax]'") from missing

StepResult = tuple[Any, Any, Any, Any, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos, as ``WorldVectorEnv.step`` returns them, in JAX arrays."""


class Xla(NamedTuple):
    """What ``env.xla()`` returns.

    Attributes:
        handle: Stands for the worlds in a program. Every call takes the last one and returns the next, which puts the calls in order.
        recv: ``handle, outcome = recv(handle)``: what the worlds show now, without a step.
        send: ``handle = send(handle, actions)``: one step.
        step: ``handle, outcome = step(handle, actions)``: one step, and what the worlds show then.
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
        outside = batch.layout
        self._actions = [self._component_buffer(leaf) for leaf in outside.actions]
        self._outputs = {
            "observations": [self._component_buffer(leaf) for leaf in outside.observations],
            "rewards": [self._component_buffer(leaf) for leaf in outside.rewards],
            "flags": [self._column_buffer(column, ()) for column in flags],
            "infos": [self._component_buffer(leaf) for leaf in outside.infos],
        }
        if batch.simulation.autoreset == "same_step":
            self._outputs["final_obs"] = [self._component_buffer(leaf, FINAL) for leaf in outside.observations]
            self._outputs["final_info"] = [self._component_buffer(leaf, FINAL) for leaf in outside.infos]
        self._call_recv = self._make_callable("recv", steps=False, shows=True)
        self._call_send = self._make_callable("send", steps=True, shows=False)
        self._call_step = self._make_callable("step", steps=True, shows=True)

    def handle(self) -> Any:
        """A first handle, on the JAX device that holds the worlds; programs that take it run there."""
        try:
            place = wp.device_to_jax(self.device)
        except RuntimeError:
            raise InputError(
                f"JAX does not see the device {self.device.alias} that holds the worlds: install JAX for it, or make them on the CPU"
            ) from None
        return jax.device_put(np.zeros(1, np.int32), place)

    # -- what programs call ------------------------------------------------------------------------------------------

    def recv(self, handle: Any) -> tuple[Any, StepResult]:
        """What the worlds show now."""
        following, *found = self._call_recv(handle)
        return following, self._outcome(_with_barrier(found))

    def send(self, handle: Any, actions: Any = None, env_id: Any = None) -> Any:
        """Step every world. With ``env_id``, a permutation of all worlds, row k of ``actions`` is for world ``env_id[k]``."""
        return self._call_send(handle, *_with_barrier(self._flatten_actions(actions, env_id)))[0]

    def step(self, handle: Any, actions: Any = None, env_id: Any = None) -> tuple[Any, StepResult]:
        """Step every world, and what they show then; rows are in the order of the worlds."""
        following, *found = self._call_step(handle, *_with_barrier(self._flatten_actions(actions, env_id)))
        return following, self._outcome(_with_barrier(found))

    def _flatten_actions(self, actions: Any, env_id: Any) -> list[Any]:
        """``actions`` as flat arrays of the columns' types."""
        leaves = self.batch.layout.actions
        if len(leaves) == 1 and not isinstance(actions, Mapping):
            actions = {leaves[0].key: actions}
        if leaves and (not isinstance(actions, Mapping) or set(actions) != {leaf.key for leaf in leaves}):
            raise InputError(f"actions are a mapping with the keys {', '.join(leaf.key for leaf in leaves)}")
        return [
            self._flatten_action(port, jnp.asarray(actions[leaf.key]), env_id)
            for leaf, port in zip(leaves, self._actions, strict=True)
        ]

    def _flatten_action(self, port: _ColumnBuffer, actions: Any, env_id: Any) -> Any:
        rows = self.batch.num_envs
        if actions.shape[:1] != (rows,) or actions.size != port.size:
            raise InputError(f"{port.column.name} takes actions of shape {(rows, *port.shape)}, not {actions.shape}")
        kinds = {"f": jnp.number, "b": jnp.bool_}
        if not jnp.issubdtype(actions.dtype, kinds.get(port.column.dtype.kind, jnp.integer)):
            raise InputError(
                f"{port.column.name} takes actions of type {port.column.dtype.name}, not {actions.dtype.name}"
            )
        if env_id is not None:
            actions = actions[jnp.argsort(jnp.asarray(env_id))]
        return actions.reshape(-1).astype(port.column.dtype)

    def _outcome(self, found: list[Any]) -> StepResult:
        """The arrays that a call gave back, in Gymnasium's order and shapes."""
        rows, arrays = self.batch.num_envs, iter(found)
        parts = {
            what: [next(arrays).reshape(rows, *port.shape) for port in ports] for what, ports in self._outputs.items()
        }
        outside = self.batch.layout
        rewards = sum(
            (part.reshape(rows, -1).sum(1) if part.ndim > 1 else part for part in parts["rewards"]),
            jnp.zeros(rows, jnp.float32),
        )
        terminations, truncations = parts["flags"]
        all_worlds_mask = jnp.ones(rows, jnp.bool_)
        infos: dict[str, Any] = {
            **self._infos(parts["infos"], all_worlds_mask),
            "env_id": jnp.arange(rows, dtype=jnp.int32),
        }
        if "final_obs" in parts:
            over = terminations | truncations
            infos |= {"final_obs": _combine_arrays(outside.observations, parts["final_obs"]), "_final_obs": over}
            infos |= {"final_info": self._infos(parts["final_info"], over), "_final_info": over}
        return _combine_arrays(outside.observations, parts["observations"]), rewards, terminations, truncations, infos

    def _infos(self, parts: list[Any], mask: Any) -> dict[str, Any]:
        found = zip(self.batch.layout.infos, parts, strict=True)
        return {key: value for leaf, part in found for key, value in ((leaf.key, part), ("_" + leaf.key, mask))}

    # -- what happens when a program calls ---------------------------------------------------------------------------

    def run(self, handle: wp.array, arrays: tuple[wp.array, ...], steps: bool, shows: bool) -> None:
        """One call: take actions and step, with ``steps``; show every column, with ``shows``.

        Args:
            handle: Says which device the program runs on.
            arrays: Memory of JAX: the actions, with ``steps``, then what is shown, with ``shows``.
            steps, shows: What to do.
        """
        if handle.device != self.device:
            raise InputError(
                f"the program runs on {handle.device.alias}, but its worlds are on {self.device.alias}: start it from their handle"
            )
        given, shown = self._call_buffers(steps, shows)
        with self._stream():
            for port, source in zip(given, arrays[: len(given)], strict=True):
                wp.copy(port.memory, source)
            if steps:
                self.batch.simulation.step()
            for port, target in zip(shown, arrays[len(given) :], strict=True):
                wp.copy(target, port.memory)

    def _call_buffers(self, steps: bool, shows: bool) -> tuple[list[_ColumnBuffer], list[_ColumnBuffer]]:
        return self._actions if steps else [], [
            port for ports in self._outputs.values() for port in ports
        ] if shows else []

    @contextlib.contextmanager
    def _stream(self) -> Iterator[None]:
        """On a GPU: work goes to JAX's stream, after whatever was asked of these worlds outside of JAX."""
        if self._world_stream is None:
            yield
            return
        stream = wp.get_stream(self.device)  # JAX's, for the time of this call
        stream.wait_stream(self._world_stream)
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            yield
            return
        same = torch.cuda.ExternalStream(stream.cuda_stream, device=self.device.ordinal)
        same.wait_stream(torch.cuda.default_stream(self.device.ordinal))
        with torch.cuda.stream(same):  # the engine follows PyTorch's current stream where PyTorch is in use
            yield

    def _make_callable(self, name: str, steps: bool, shows: bool) -> Callable[..., Any]:
        """A function for JAX programs that takes a handle and flat actions, and returns a handle and flat columns.

        JAX keeps such functions for ever, so this one does not keep the worlds.
        """
        owner = weakref.ref(self)

        def call(handle: wp.array, *arrays: wp.array) -> None:
            bridge = owner()
            if bridge is None:
                raise InputError("the worlds of this program are gone: keep their environment for as long as it runs")
            bridge.run(handle, arrays, steps, shows)

        given, shown = self._call_buffers(steps, shows)
        types = {"handle": wp.array(dtype=wp.int32)}
        types |= {f"given_{k}": wp.array(dtype=port.memory.dtype) for k, port in enumerate(given)}
        types |= {f"shown_{k}": wp.array(dtype=port.memory.dtype) for k, port in enumerate(shown)}
        parameters = [
            inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=t) for n, t in types.items()
        ]
        call.__qualname__ = f"worldloom_{name}"
        call.__annotations__ = types
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        made: Callable[..., Any] = wp.jax_callable(
            call,
            num_outputs=1 + len(shown),
            in_out_argnames=["handle"],
            output_dims={f"shown_{k}": port.size for k, port in enumerate(shown)},
            graph_mode=wp.JaxCallableGraphMode.NONE,  # a step is a recorded graph already
            vmap_method=None,
            module_preload_mode=wp.JaxModulePreloadMode.NONE,
            has_side_effect=True,
        )
        return made

    def _component_buffer(self, leaf: EnvComponent, prefix: str = "") -> _ColumnBuffer:
        return self._column_buffer(self.batch.simulation.tables[leaf.table][prefix + leaf.name], leaf.shape)

    def _column_buffer(self, column: Column, shape: tuple[int, ...]) -> _ColumnBuffer:
        if jax.dtypes.canonicalize_dtype(column.dtype) != column.dtype:
            raise InputError(
                f"{column.name} is {column.dtype.name}, which JAX holds only after jax.config.update('jax_enable_x64', True)"
            )
        size = self.batch.num_envs * int(np.prod(shape))
        memory = wp.array(ptr=column.array.ptr, dtype=scalar_of(column.field.dtype), shape=(size,), device=self.device)
        return _ColumnBuffer(column, shape, memory)


def _with_barrier(arrays: list[Any]) -> list[Any]:
    """The same arrays, kept apart from the call that takes or gives them.

    On a GPU, XLA joins a call with the slices of a ``lax.scan`` that lie next to it, and then makes the call twice.
    """
    return list(jax.lax.optimization_barrier(tuple(arrays)))


def _combine_arrays(leaves: list[EnvComponent], parts: list[Any]) -> Any:
    """One component's array alone, or those of several by their keys."""
    return parts[0] if len(parts) == 1 else {leaf.key: part for leaf, part in zip(leaves, parts, strict=True)}


def make_xla(batch: WorldBatch) -> Xla:
    """The handle and the functions for programs that step ``batch``."""
    bridge = JaxBridge(batch)
    return Xla(bridge.handle(), bridge.recv, bridge.send, bridge.step)
