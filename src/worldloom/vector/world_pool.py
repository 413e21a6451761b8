"""An asynchronous pool of worlds: while some batches step on CPU threads, others are with the learner."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.base.arrays import checked_int, to_numpy
from worldloom.core.base.errors import InputError, WorldFault
from worldloom.core.base.not_copyable import NotCopyable
from worldloom.core.registry.registry import Definition, definition
from worldloom.core.runtime import memory
from worldloom.core.schedule.schedule import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.vector.env_layout import make_layout
from worldloom.vector.world_batch import StepResult, WorldBatch


class WorldPool(NotCopyable):
    """``num_envs`` worlds in groups of ``batch_size``; each group steps as a whole, on a thread of its own, when all its actions are there.

    The interface is EnvPool's: ``async_reset``, then ``recv`` and ``send`` in turn; ``infos["env_id"]`` says which worlds came back.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: How many worlds; a multiple of ``batch_size``.
        batch_size: How many come back at a time.
        timeout: Seconds after which ``recv`` gives up.
        autoreset: ``same_step``, with ``infos["final_obs"]``, or ``next_step``, as EnvPool has it.
        device, seed, threads, config, exact: As for :class:`worldloom.Simulation`; ``threads`` is how many groups step at once.
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
    ) -> None:
        checked_int("num_envs", num_envs, 1)
        checked_int("batch_size", batch_size, 1)
        checked_int("threads", 1 if threads is None else threads, 1)
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
            raise InputError(f"timeout is a positive number of seconds, not {timeout!r}")
        if num_envs % batch_size:
            raise InputError(f"num_envs ({num_envs}) must be a multiple of batch_size ({batch_size})")
        if autoreset == "disabled":
            raise InputError("a pool resets its worlds by itself: choose autoreset='same_step' or 'next_step'")
        made = world if isinstance(world, Definition) else definition(world)
        seeds = to_numpy(seed, "the seeds") if isinstance(seed, Sequence) else None
        if seeds is not None and (seeds.shape != (num_envs,) or seeds.dtype.kind not in "iu"):
            raise InputError(f"seed is a whole number or one per world ({num_envs}), not {seed!r}")
        self.num_envs, self.batch_size, self.timeout = num_envs, batch_size, timeout
        outside = make_layout(made)
        self._batches = []
        for first in range(0, num_envs, batch_size):
            given = None if seeds is None else seeds[first : first + batch_size]
            sim = Simulation(
                made,
                batch_size,
                device,
                seed=seed if given is None else 0,  # type: ignore[arg-type]
                autoreset=autoreset,
                threads=1,
                config=_group_config(made, config, first, batch_size, num_envs),
                exact=exact,
                world_offset=first,
            )
            if given is not None:
                sim.reset(seeds=given)
                sim.pristine = True
            self._batches.append(WorldBatch(sim, outside, "numpy", copy=True))
            if not first:
                memory.require_bytes(
                    (num_envs - batch_size) * sim.bytes_per_world,
                    sim.device,
                    f"{num_envs - batch_size:,} more worlds of '{made.id}'",
                )
        self.single_observation_space, self.single_action_space = outside.observation_space, outside.action_space
        self.observation_space: gymnasium.Space[Any] = batch_space(outside.observation_space, batch_size)
        self.action_space: gymnasium.Space[Any] = batch_space(outside.action_space, batch_size)
        columns = {leaf.key: self._batches[0].simulation.tables[leaf.table][leaf.name] for leaf in outside.actions}
        kinds = {
            key: np.dtype(np.int64) if column.dtype.kind == "i" else column.dtype for key, column in columns.items()
        }  # what does not fit is told
        self._actions = [
            {leaf.key: np.zeros((batch_size, *leaf.shape), kinds[leaf.key]) for leaf in outside.actions}
            for _ in self._batches
        ]
        self._action_received = np.zeros((len(self._batches), batch_size), np.bool_)
        self._in_flight = np.zeros(len(self._batches), np.bool_)
        self._jobs: queue.SimpleQueue[tuple[int, bool] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, StepResult | Exception]] = queue.SimpleQueue()
        at_once = min(threads or os.cpu_count() or 1, len(self._batches))
        self._threads = [
            threading.Thread(target=self._run_thread, daemon=True, name=f"worldloom-pool-{i}") for i in range(at_once)
        ]
        for thread in self._threads:
            thread.start()
        self.closed = False

    def async_reset(self) -> None:
        """Start a new episode in every world; ``recv`` then gives the first observations, group by group."""
        self._check_open()
        if self._in_flight.any():
            raise InputError("some worlds are still stepping: receive them all before async_reset")
        self._action_received[:] = False
        self._in_flight[:] = True
        for group in range(len(self._batches)):
            self._jobs.put((group, False))

    def recv(self) -> StepResult:
        """The observations, rewards, terminations, truncations and infos of the next group that is done, shape (batch_size, ...)."""
        self._check_open()
        if not self._in_flight.any():
            raise InputError("no world is stepping: call async_reset or send first")
        try:
            group, step_result = self._done.get(timeout=self.timeout)
        except queue.Empty:
            raise InputError(
                f"no group of worlds came back within {self.timeout:g} s: give a longer timeout, or look into the world's systems"
            ) from None
        self._in_flight[group] = False
        if isinstance(step_result, Exception):
            raise step_result
        return step_result

    def send(self, actions: Any, env_id: Any) -> None:
        """Hand in one action for each world of ``env_id``; a group steps when all its worlds have theirs.

        Args:
            actions: An array of shape (len(env_id), ...), or a mapping of such arrays for worlds with several actions.
            env_id: Worlds, in any order.
        """
        self._check_open()
        ids = self._ids(env_id)
        given = self._check_actions(actions, len(ids))
        groups, slots = np.divmod(ids, self.batch_size)
        for group in np.unique(groups).tolist():
            rows = groups == group
            for key, values in given.items():
                self._actions[group][key][slots[rows]] = values[rows].reshape(-1, *self._actions[group][key].shape[1:])
            self._action_received[group, slots[rows]] = True
            if self._action_received[group].all():
                self._action_received[group] = False
                self._in_flight[group] = True
                self._jobs.put((group, True))

    def _ids(self, env_id: Any) -> Any:
        """``env_id`` as an array, of worlds that wait for an action."""
        ids = to_numpy(env_id, "env_id")
        if (
            ids.ndim != 1
            or ids.dtype.kind not in "iu"
            or (ids.size and not (ids.min() >= 0 and ids.max() < self.num_envs))
        ):
            raise InputError(f"env_id holds whole numbers from 0 to {self.num_envs - 1}, not {env_id!r}")
        busy = (
            self._in_flight[ids // self.batch_size]
            | self._action_received[ids // self.batch_size, ids % self.batch_size]
        )
        if busy.any():
            raise InputError(f"world {int(ids[busy.argmax()])} has its action already: receive it first")
        if len(np.unique(ids)) != len(ids):
            raise InputError(f"env_id names a world twice: {env_id!r}")
        return ids

    def _check_actions(self, actions: Any, count: int) -> dict[str, Any]:
        """``actions`` by key, each with one row per world and of a type that its column can hold."""
        wanted = self._actions[0]
        if len(wanted) == 1 and not isinstance(actions, Mapping):
            actions = {next(iter(wanted)): actions}
        if not isinstance(actions, Mapping) or set(actions) != set(wanted):
            raise InputError(f"actions are a mapping with the keys {', '.join(wanted)}")
        found = {key: to_numpy(values, "the actions") for key, values in actions.items()}
        for key, values in found.items():
            shape, dtype = (count, *wanted[key].shape[1:]), wanted[key].dtype
            if (
                values.shape[:1] != (count,)
                or values.size != np.prod(shape, dtype=int)
                or not np.can_cast(values.dtype, dtype, "same_kind")
            ):
                raise InputError(
                    f"action '{key}' takes {dtype.name} of shape {shape}, not {values.dtype.name} of shape {values.shape}"
                )
        return found

    def step(self, actions: Any, env_id: Any) -> StepResult:
        """``send``, then ``recv``."""
        self.send(actions, env_id)
        return self.recv()

    @property
    def simulations(self) -> list[Simulation]:
        """The groups, in the order of their worlds; look into them only while they are not stepping."""
        return [batch.simulation for batch in self._batches]

    def errors(self) -> list[WorldFault]:
        """What went wrong in single worlds since the last call, in the groups that are not stepping."""
        return [
            fault
            for out, batch in zip(self._in_flight, self._batches, strict=True)
            if not out
            for fault in batch.simulation.errors()
        ]

    def _run_thread(self) -> None:
        while (job := self._jobs.get()) is not None:
            group, stepping = job
            batch = self._batches[group]
            try:
                batch.step(self._actions[group]) if stepping else batch.start_episodes()
                step_result = batch.step_result()
                step_result[4]["env_id"] = np.arange(
                    group * self.batch_size, (group + 1) * self.batch_size, dtype=np.int32
                )
                self._done.put((group, step_result))
            except Exception as error:
                self._done.put((group, error))

    def _check_open(self) -> None:
        if self.closed:
            raise InputError("this pool is closed: make a new one")

    def close(self) -> None:
        """Stop the threads and give back the memory."""
        if self.closed:
            return
        self.closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(self.timeout)
        for batch in self._batches:
            batch.simulation.close()

    def __enter__(self) -> WorldPool:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def _group_config(
    made: Definition, config: Mapping[str, Any] | None, first: int, size: int, whole: int
) -> dict[str, Any]:
    """The configuration of one group: values per world are cut, values for all stay."""
    found = dict(config or {})
    for name, value in found.items():
        field = made.world.fields.get(name)
        if field is not None and np.shape(value) == (whole, *field.value_shape):
            found[name] = value[first : first + size]
    return found
