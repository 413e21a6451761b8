"""An asynchronous pool of worlds: some groups step on CPU threads while the learner processes others."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.base.arrays import checked_int, to_numpy
from worldloom.core.base.errors import InputError, WorldFault
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime import memory
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.vector.checks import StepResult, check_action_keys, check_env_ids, check_seeds, check_timeout
from worldloom.vector.errors import ClosedError, NoCallError, PendingCallError, WaitTimeoutError
from worldloom.vector.world_batch import WorldBatch, resolve_definition


class WorldPool(NoShallowCopy):
    """``num_envs`` worlds in groups of ``batch_size``; a group steps on one thread once it has all its actions.

    The interface is EnvPool's: ``async_reset``, then ``recv`` and ``send`` in turn. ``infos["env_id"]`` holds the ids
    of the worlds that ``recv`` returned.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: Number of worlds, a multiple of ``batch_size``.
        batch_size: Number of worlds that ``recv`` returns.
        timeout: Seconds that ``recv`` waits before it raises.
        autoreset: ``same_step``, with ``infos["final_obs"]``, or ``next_step``, as in EnvPool.
        device, seed, config, exact: As for :class:`worldloom.Simulation`; ``seed`` may hold one seed per world.
        threads: Number of groups that step at the same time.
        gymnasium_types: Whether observations have the types of Gymnasium's spaces, or else those of their columns.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int,
        batch_size: int,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        timeout: float = 60.0,
        autoreset: Autoreset = "same_step",
        config: Mapping[str, Any] | None = None,
        exact: bool = False,
        gymnasium_types: bool = True,
    ) -> None:
        checked_int("num_envs", num_envs, 1)
        checked_int("batch_size", batch_size, 1)
        checked_int("threads", 1 if threads is None else threads, 1)
        check_timeout(timeout)
        if num_envs % batch_size:
            raise InputError(f"num_envs ({num_envs}) must be a multiple of batch_size ({batch_size})")
        if autoreset == "disabled":
            raise InputError("a pool resets its worlds automatically: choose autoreset='same_step' or 'next_step'")
        self.num_envs, self.batch_size, self.timeout = num_envs, batch_size, timeout
        self._batches = self._create_groups(
            resolve_definition(world),
            check_seeds(seed, num_envs),
            config,
            device=device,
            autoreset=autoreset,
            exact=exact,
            gymnasium_types=gymnasium_types,
        )
        layout, tables = self._batches[0].layout, self._batches[0].simulation.tables
        self.single_observation_space, self.single_action_space = (
            self._batches[0].observation_space,
            layout.action_space,
        )
        self.observation_space: gymnasium.Space[Any] = batch_space(self.single_observation_space, batch_size)
        self.action_space: gymnasium.Space[Any] = batch_space(layout.action_space, batch_size)
        self._actions: list[dict[str, np.ndarray[Any, Any]]] = [{} for _ in self._batches]
        for component in layout.actions:
            dtype = tables[component.table][component.name].dtype
            if dtype.kind == "i":
                dtype = np.dtype(np.int64)  # so that the range check of the step sees the value that was sent
            for actions in self._actions:
                actions[component.key] = np.zeros((batch_size, *component.shape), dtype)
        self._action_received = np.zeros((len(self._batches), batch_size), np.bool_)
        self._in_flight = np.zeros(len(self._batches), np.bool_)
        self._start_threads(min(threads or os.cpu_count() or 1, len(self._batches)))

    def _start_threads(self, num_threads: int, done: Sequence[tuple[int, StepResult | Exception]] = ()) -> None:
        """Start the threads; ``done`` are results that have not been received yet."""
        self._jobs: queue.SimpleQueue[tuple[int, bool] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, StepResult | Exception]] = queue.SimpleQueue()
        for item in done:
            self._done.put(item)
        steps = GroupSteps(self._batches, self._actions, self._jobs, self._done)
        self._threads = [
            threading.Thread(target=steps.run, daemon=True, name=f"worldloom-pool-{i}") for i in range(num_threads)
        ]
        for thread in self._threads:
            thread.start()
        self._finalizer = weakref.finalize(self, steps.stop, num_threads)  # it has no reference to the pool
        self.closed = False

    def _create_groups(
        self,
        definition: Definition,
        seeds: np.ndarray[Any, Any] | None,
        config: Mapping[str, Any] | None,
        **options: Any,
    ) -> list[WorldBatch]:
        """One batch of worlds per group."""
        batches = []
        for first in range(0, self.num_envs, self.batch_size):
            batch = WorldBatch.create(
                definition,
                self.batch_size,
                seed=seeds if seeds is None or seeds.ndim == 0 else seeds[first : first + self.batch_size],  # type: ignore[arg-type]
                threads=1,
                config=group_config(definition, config, first, self.batch_size, self.num_envs),
                share=True,
                world_offset=first,
                **options,
            )
            batches.append(batch)
            if not first:
                remaining = self.num_envs - self.batch_size
                memory.require_bytes(
                    remaining * batch.simulation.bytes_per_world,
                    batch.simulation.device,
                    f"{remaining:,} more worlds of '{definition.id}'",
                )
        return batches

    def async_reset(self) -> None:
        """Start a new episode in every world; ``recv`` then returns the first observations, group by group."""
        self._check_open()
        if self._in_flight.any():
            raise PendingCallError("some worlds are still stepping: receive them all before async_reset", "step")
        self._action_received[:] = False
        self._in_flight[:] = True
        for group in range(len(self._batches)):
            self._jobs.put((group, False))

    def recv(self) -> StepResult:
        """The step result of the next finished group.

        Returns:
            Observations, rewards, terminations, truncations and infos, each of shape (batch_size, ...).
        """
        self._check_open()
        if not self._in_flight.any():
            raise NoCallError("no world is stepping: call async_reset or send first", "step")
        try:
            group, step_result = self._done.get(timeout=self.timeout)
        except queue.Empty:
            raise WaitTimeoutError(
                f"no group of worlds came back within {self.timeout:g} s: pass a longer timeout, "
                "or profile the world's systems"
            ) from None
        self._in_flight[group] = False
        if isinstance(step_result, Exception):
            raise step_result
        return step_result

    def send(self, actions: Any, env_id: Any) -> None:
        """Send one action to each world of ``env_id``. A group steps once all its worlds have an action.

        Args:
            actions: An array of shape (len(env_id), ...), or a mapping of such arrays for worlds with several actions.
            env_id: Ids of worlds, in any order.
        """
        self._check_open()
        ids = self._ids(env_id)
        arrays = self._check_actions(actions, len(ids))
        groups, slots = np.divmod(ids, self.batch_size)
        for group in np.unique(groups).tolist():
            rows = groups == group
            for key, values in arrays.items():
                self._actions[group][key][slots[rows]] = values[rows].reshape(-1, *self._actions[group][key].shape[1:])
            self._action_received[group, slots[rows]] = True
            if self._action_received[group].all():
                self._action_received[group] = False
                self._in_flight[group] = True
                self._jobs.put((group, True))

    def _ids(self, env_id: Any) -> Any:
        """``env_id`` as an array of ids, each of a world without an action."""
        ids = check_env_ids(env_id, self.num_envs, "a world")
        groups, slots = np.divmod(ids, self.batch_size)
        busy = self._in_flight[groups] | self._action_received[groups, slots]
        if busy.any():
            raise InputError(f"world {int(ids[busy.argmax()])} has its action already: receive it first")
        return ids

    def _check_actions(self, actions: Any, count: int) -> dict[str, Any]:
        """``actions`` as arrays by key, each with one row per world and of a type that its column can hold."""
        buffers = self._actions[0]
        if len(buffers) == 1 and not isinstance(actions, Mapping):
            actions = {next(iter(buffers)): actions}
        check_action_keys(actions, buffers)
        arrays = {key: to_numpy(values, "the actions") for key, values in actions.items()}
        for key, values in arrays.items():
            shape, dtype = (count, *buffers[key].shape[1:]), buffers[key].dtype
            if (
                values.shape[:1] != (count,)
                or values.size != np.prod(shape, dtype=int)
                or not np.can_cast(values.dtype, dtype, "same_kind")
            ):
                raise InputError(
                    f"action '{key}' takes {dtype.name} of shape {shape}, "
                    f"not {values.dtype.name} of shape {values.shape}"
                )
        return arrays

    def step(self, actions: Any, env_id: Any) -> StepResult:
        """``send``, then ``recv``."""
        self.send(actions, env_id)
        return self.recv()

    @property
    def simulations(self) -> list[Simulation]:
        """One simulation per group, in the order of their worlds. Access one only while its group is not stepping."""
        return [batch.simulation for batch in self._batches]

    def errors(self) -> list[WorldFault]:
        """Faults of single worlds since the last call, in the groups that are not stepping."""
        return [
            fault
            for in_flight, batch in zip(self._in_flight, self._batches, strict=True)
            if not in_flight
            for fault in batch.simulation.errors()
        ]

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedError("this pool is closed: make a new one")

    def close(self) -> None:
        """Stop the threads and release the memory."""
        if self.closed:
            return
        self.closed = True
        self._finalizer()
        for thread in self._threads:
            thread.join(self.timeout)
        for batch in self._batches:
            batch.simulation.close()

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, once all groups that step have finished."""
        self._check_open()
        done = [self._done.get(timeout=self.timeout) for _ in range(int(self._in_flight.sum()))]
        for item in done:
            self._done.put(item)
        own = {name: value for name, value in self.__dict__.items() if name not in _NOT_COPIED}
        return {**own, "done": done, "num_threads": len(self._threads)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        done, num_threads = state.pop("done"), state.pop("num_threads")
        self.__dict__.update(state)
        self._start_threads(num_threads, done)

    def __enter__(self) -> WorldPool:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


_NOT_COPIED = ("_jobs", "_done", "_threads", "_finalizer")
"""Attributes of a pool that belong to its threads."""


class GroupSteps:
    """The work of a pool's threads. It has no reference to the pool, which is freed when its user drops it.

    Args:
        batches: The worlds of every group.
        actions: Their actions.
        jobs: Groups to step (True) or to reset (False); None ends a thread.
        done: Groups with their results.
    """

    def __init__(
        self,
        batches: Sequence[WorldBatch],
        actions: Sequence[dict[str, np.ndarray[Any, Any]]],
        jobs: queue.SimpleQueue[tuple[int, bool] | None],
        done: queue.SimpleQueue[tuple[int, StepResult | Exception]],
    ) -> None:
        self.batches, self.actions, self.jobs, self.done = batches, actions, jobs, done

    def run(self) -> None:
        """Step and reset groups until there is a None among the jobs."""
        while (job := self.jobs.get()) is not None:
            self.done.put((job[0], self._result(*job)))

    def _result(self, group: int, stepping: bool) -> StepResult | Exception:
        batch = self.batches[group]
        try:
            batch.step(self.actions[group]) if stepping else batch.start_episodes()
            step_result = batch.step_result()
            first = group * batch.num_envs
            step_result[4]["env_id"] = np.arange(first, first + batch.num_envs, dtype=np.int32)
        except Exception as error:
            return error
        return step_result

    def stop(self, num_threads: int) -> None:
        """End the threads, each after the job that it has begun. Does not wait: garbage collection may call it."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.jobs.get_nowait()
        for _ in range(num_threads):
            self.jobs.put(None)


def group_config(
    definition: Definition, config: Mapping[str, Any] | None, first: int, size: int, num_envs: int
) -> dict[str, Any]:
    """The configuration of one group: a slice of values per world, and the same value otherwise."""
    group = dict(config or {})
    for name, value in group.items():
        field = definition.world.fields.get(name)
        if field is not None and np.shape(value) == (num_envs, *field.value_shape):
            group[name] = value[first : first + size]
    return group
