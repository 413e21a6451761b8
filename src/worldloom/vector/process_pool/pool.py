"""A pool for any Gymnasium environment: worker processes, shared memory, and EnvPool's asynchronous interface."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import os
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NotCopyable
from worldloom.vector.process_pool.batched_infos import add_info
from worldloom.vector.process_pool.shared_memory import INFO_TOO_LONG, NO_SEED, space_leaves
from worldloom.vector.process_pool.supervisor import Supervisor
from worldloom.vector.process_pool.worker_process import RESET, RESET_WITH_OPTIONS, STEP
from worldloom.vector.process_pool.workers import Fault, WorkerError, WorkerSet

__all__ = ["Fault", "ProcessPool", "WorkerError"]

Factory = Callable[[], gymnasium.Env[Any, Any]]
Seeds = int | Sequence[int | None] | None
StepResult = tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]
MAX_ENVS = 2**20
"""Every environment is an object of its own in a worker process."""
AUTORESET_MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class ProcessPool(NotCopyable, VectorEnv):  # type: ignore[misc]
    """``num_envs`` Gymnasium environments in worker processes.

    With ``batch_size`` left out it is a Gymnasium vector environment: :meth:`reset` and :meth:`step` hand all environments in and out.
    With a smaller ``batch_size`` it is asynchronous: :meth:`async_reset` once, then :meth:`recv` the first ``batch_size`` environments that are
    finished and :meth:`send` them new actions, while the others go on.

    A worker whose environment raises, that is killed or that hangs raises :class:`WorkerError`. By then another worker has taken over and has reset
    its environments, and the pool can be used on: each of those environments answers once with ``truncated`` and ``infos["restarted"]``.

    Not for several threads at once.

    Args:
        factories_or_id: An id for ``gymnasium.make``, a function that makes an environment, or a list of ``num_envs`` such functions.
        num_envs: Number of environments.
        batch_size: How many of them :meth:`recv` waits for; all of them by default.
        num_workers: Number of processes; one per core by default. More pay off where steps wait rather than compute.
        seed: Seeds of the first reset: one, to which the number of the environment is added, or one per environment.
        timeout: Seconds that a worker may be silent while it has something to do, before it counts as hung.
        autoreset: What follows the end of an episode, as Gymnasium describes it.
        copy: Whether observations are copied out of the shared memory; without, the next step overwrites them.
        env_kwargs: Arguments for ``gymnasium.make``, with an id.
    """

    def __init__(
        self,
        factories_or_id: str | Factory | Sequence[Factory],
        num_envs: int,
        batch_size: int | None = None,
        num_workers: int | None = None,
        seed: Seeds = None,
        timeout: float = 60.0,
        autoreset: Literal["next_step", "same_step", "disabled"] = "next_step",
        copy: bool = True,
        env_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.closed = True  # until there is something to close
        if os.name != "posix":
            raise InputError(
                f"a process pool hands file descriptors to its workers, which {sys.platform} does not allow: use gymnasium.vector.AsyncVectorEnv"
            )
        self.num_envs = _check_count("num_envs", num_envs, MAX_ENVS)
        self.batch_size = _check_count("batch_size", num_envs if batch_size is None else batch_size, num_envs)
        if not isinstance(autoreset, str) or autoreset not in AUTORESET_MODES:
            raise InputError(f"autoreset is one of {', '.join(AUTORESET_MODES)}, not {autoreset!r}")
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
            raise InputError(f"timeout is a positive number of seconds, not {timeout!r}")
        self.autoreset, self.timeout, self.copy = autoreset, float(timeout), bool(copy)
        self._synchronous = self.batch_size == num_envs
        self._initial_seeds = self._seeds(seed)
        self._interrupted = False  # results of an unfinished step or reset may still be on their way
        factories, self.spec = _factories(factories_or_id, num_envs, env_kwargs)
        workers = _check_count(
            "num_workers", min(num_envs, _num_cores()) if num_workers is None else num_workers, num_envs
        )
        starts = [num_envs * k // workers for k in range(workers + 1)]
        places = [slice(first, last) for first, last in itertools.pairwise(starts)]
        payloads = [_pickle_payload((factories[place], place.start, autoreset)) for place in places]

        self._worker_set = WorkerSet([tuple(range(place.start, place.stop)) for place in places])
        self._finalizer = weakref.finalize(self, self._worker_set.shut_down)
        self.closed = False
        try:
            self._supervisor = Supervisor(
                self._worker_set, payloads, self.timeout, functools.partial(_restart_seeds, self._seeds(seed), places)
            )
            self._open(self._supervisor.start(), starts)
        except BaseException:
            self.close()
            raise

    def _open(self, startup_replies: list[Any], starts: list[int]) -> None:
        """Allocate what is shared, now that the workers have told their spaces."""
        spaces = [pair for story in startup_replies for pair in story[0]]
        self.single_observation_space, self.single_action_space = spaces[0]
        for env_id, pair in enumerate(spaces):
            if pair != spaces[0]:
                raise InputError(
                    f"environment {env_id} has other spaces than environment 0: {pair[0]} and {pair[1]}, not {spaces[0][0]} and {spaces[0][1]}"
                )
        try:
            space_leaves(self.single_observation_space), space_leaves(self.single_action_space)
        except TypeError as error:
            raise InputError(str(error)) from None
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        self.action_space = batch_space(self.single_action_space, self.batch_size)
        self.metadata = {**startup_replies[0][1], "autoreset_mode": AUTORESET_MODES[self.autoreset]}
        self.render_mode = startup_replies[0][2]
        self._memory = self._supervisor.open(
            {
                "num_envs": self.num_envs,
                "starts": starts,
                "observation_space": self.single_observation_space,
                "action_space": self.single_action_space,
                "keep_final": self.autoreset == "same_step",
            }
        )

    # ---------------------------------------------------------------- Gymnasium's interface

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: One seed, to which the number of the environment is added, or one per environment. By default every environment goes on with
                its own random numbers; the first time the pool's ``seed`` counts.
            options: Handed to every environment, but for ``reset_mask``: which environments to reset, bool (num_envs,).

        Returns:
            The observations of all environments, and the infos of those that were reset.
        """
        self._check_open()
        if not self._synchronous:
            raise InputError(
                f"this pool hands out {self.batch_size} of {self.num_envs} environments at a time: call async_reset(), then recv()"
            )
        if options is not None and not isinstance(options, Mapping):
            raise InputError(f"the options of a reset are a mapping, such as {{'reset_mask': mask}}, not {options!r}")
        rest = dict(options or {})
        ids = np.arange(self.num_envs, dtype=np.int32)
        if "reset_mask" in rest:
            ids = ids[_check_mask(rest.pop("reset_mask"), self.num_envs)]
        with self._track_interruption():
            self._supervisor.discard_pending()
            self._reset(ids, seed, rest)
            self._supervisor.collect(self._supervisor.wait_for_all())
        return self._memory.observations.get_batch(None, self.copy), self._infos(ids, ids, self.num_envs)

    def step(self, actions: Any, env_id: Any = None) -> StepResult:
        """Take one step in every environment; in an asynchronous pool :meth:`send`, then :meth:`recv`.

        Args:
            actions: One action per environment, batched as ``action_space`` says.
            env_id: Which environments they are for, (n,); all of them by default.

        Returns:
            Observations, rewards (n,), terminations (n,), truncations (n,) and infos.
        """
        self._check_open()
        if not self._synchronous or env_id is not None:
            self.send(actions, env_id)
            return self.recv()
        with self._track_interruption():
            if self._interrupted:
                self._supervisor.discard_pending()
            self.send(actions)
            self._supervisor.collect(self._supervisor.wait_for_all())
        return self._results(None)

    def render(self) -> tuple[Any, ...]:
        """A frame of every environment."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read its attribute, once they are finished with what they are at."""
        self._check_open()
        if name in ("reset", "step", "close"):
            raise InputError(f"call('{name}') would go past the pool: use {name}()")
        return tuple(
            value
            for results in self._supervisor.call_workers("call", name, [(args, kwargs)] * len(self._worker_set.workers))
            for value in results
        )

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment: a list or tuple holds one value per environment, anything else is for all."""
        self._check_open()
        each = list(values) if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise InputError(f"set_attr needs one value for all environments or {self.num_envs}, not {len(each)}")
        self._supervisor.call_workers(
            "set", name, [[each[env_id] for env_id in ids] for ids in self._worker_set.env_ids]
        )

    def close_extras(self, timeout: float | None = None) -> None:
        """End the workers; those that do not close their environments within ``timeout`` seconds are killed."""
        self._finalizer.detach()
        self._worker_set.shut_down() if timeout is None else self._worker_set.shut_down(timeout)

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    # ---------------------------------------------------------------- EnvPool's interface

    def async_reset(self, env_id: Any = None, seed: Seeds = None) -> None:
        """Start new episodes without waiting for them: :meth:`recv` hands out the first observations.

        Args:
            env_id: Which environments, (n,); all of them by default, and what they were at is dropped.
            seed: As in :meth:`reset`.
        """
        self._check_open()
        if env_id is None:
            self._supervisor.discard_pending()
        self._reset(self._ids(env_id), seed, {})

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Hand out actions without waiting for their results.

        Args:
            actions: One action per environment, batched as ``action_space`` says.
            env_id: Which environments they are for, (n,); all of them by default.
        """
        self._check_open()
        ids = self._ids(env_id)
        memory, begun = self._memory, self._supervisor.has_reset[ids]
        if not begun.all():
            raise InputError(
                f"environment {ids[~begun][0]} has not been reset yet: call {'reset' if self._synchronous else 'async_reset'}() first"
            )
        if self.autoreset == "disabled" and (over := ids[memory.terminated[ids] | memory.truncated[ids]]).size:
            way = "reset(options={'reset_mask': ...})" if self._synchronous else f"async_reset(env_id=[{over[0]}])"
            raise InputError(
                f"the episode of environment {over[0]} is over, and autoreset is disabled: call {way} first"
            )
        try:
            memory.actions.put_batch(slice(None) if env_id is None else ids, actions)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the actions do not fit {self.single_action_space} for {len(ids)} environments: {error}"
            ) from None
        memory.request_kinds[ids] = STEP
        self._supervisor.submit(ids)

    def recv(self) -> StepResult:
        """The first ``batch_size`` environments that are finished; ``infos["env_id"]`` says which they are, (batch_size,)."""
        self._check_open()
        in_flight = self._supervisor.num_in_flight()
        if in_flight < self.batch_size:
            raise InputError(
                f"recv() waits for {self.batch_size} environments, but {in_flight} are at work: send() actions to more of them first"
            )
        self._supervisor.wait(self.batch_size)
        ids = self._supervisor.collect(self.batch_size)
        self._interrupted = False
        if self._synchronous:
            ids.sort()
        results = self._results(ids)
        results[4]["env_id"] = ids
        return results

    # ---------------------------------------------------------------- inside

    def _reset(self, ids: np.ndarray, seed: Seeds, options: dict[str, Any]) -> None:
        seeds = self._seeds(seed)
        if seed is None and self._initial_seeds is not None:
            seeds = self._initial_seeds.copy()
        if self._initial_seeds is not None:
            self._initial_seeds[ids] = NO_SEED  # the pool's own seeds count for the first reset of each environment
        if options:
            self._supervisor.call_workers("options", "", [options] * len(self._worker_set.workers))
        self._memory.seeds[ids] = NO_SEED if seeds is None else seeds[ids]
        self._memory.request_kinds[ids] = RESET_WITH_OPTIONS if options else RESET
        self._supervisor.has_reset[ids] = True
        self._supervisor.submit(ids)

    def _results(self, ids: np.ndarray | None) -> StepResult:
        """What environments ``ids`` answered, or all of them: arrays (n, ...)."""
        memory = self._memory
        rows = slice(None) if ids is None else ids
        env_ids = np.arange(self.num_envs) if ids is None else ids
        infos = self._infos(env_ids, np.arange(len(env_ids)), len(env_ids))
        observations = memory.observations.get_batch(ids, self.copy)
        return (
            observations,
            memory.rewards[rows].copy(),
            memory.terminated[rows].copy(),
            memory.truncated[rows].copy(),
            infos,
        )

    def _infos(self, ids: np.ndarray, rows: np.ndarray, size: int) -> dict[str, Any]:
        """The infos of environments ``ids``, (n,), at ``rows``, (n,), of a batch of ``size``."""
        memory = self._memory
        batch: dict[str, Any] = {}
        told = memory.info_sizes[ids] != 0
        over = (
            memory.terminated[ids] | memory.truncated[ids]
            if memory.final_observations is not None
            else np.zeros(len(ids), np.bool_)
        )
        for place in np.flatnonzero(told | over).tolist():
            env_id = int(ids[place])
            info = self._info(env_id)
            if over[place]:
                info = {
                    "final_obs": memory.final_observations.get(env_id),
                    "final_info": info.pop("final_info", {}),
                    **info,
                }  # type: ignore[union-attr]
            add_info(batch, info, int(rows[place]), size)
        return batch

    def _info(self, env_id: int) -> dict[str, Any]:
        size = int(self._memory.info_sizes[env_id])
        if not size:
            return {}
        blob = (
            self._supervisor.receive_info(env_id)
            if size == INFO_TOO_LONG
            else self._memory.infos[env_id, :size].tobytes()
        )
        info: dict[str, Any] = pickle.loads(blob)
        return info

    def _ids(self, env_id: Any) -> np.ndarray:
        """Environments named by the user as int32 (n,), none of them twice and none at work."""
        if env_id is None:
            ids = np.arange(self.num_envs, dtype=np.int32)
        else:
            given = to_numpy(env_id, "env_id")
            if (
                given.ndim != 1
                or given.dtype.kind not in "iu"
                or (given.size and not 0 <= given.min() <= given.max() < self.num_envs)
            ):
                raise InputError(f"env_id holds whole numbers from 0 to {self.num_envs - 1}, not {env_id!r}")
            ids = given.astype(np.int32)
            if len(np.unique(ids)) != len(ids):
                raise InputError(f"env_id names an environment twice: {ids.tolist()}")
        in_flight = self._supervisor.in_flight[ids]
        if in_flight.any():
            raise InputError(f"environment {ids[in_flight][0]} is still at work: recv() it first")
        return ids

    def _seeds(self, seed: Seeds) -> np.ndarray | None:
        """One seed per environment, int64 (num_envs,), with NO_SEED where there is none."""
        if seed is None:
            return None
        each = (
            [int(seed) + k for k in range(self.num_envs)]
            if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
            else seed
        )
        if not isinstance(each, (Sequence, np.ndarray)) or len(each) != self.num_envs:
            raise InputError(f"seed is a whole number or one per environment ({self.num_envs}), not {seed!r}")
        if not all(s is None or (isinstance(s, (int, np.integer)) and 0 <= s < 2**63) for s in each):
            raise InputError(f"seeds are whole numbers from 0 to 2**63 - 1, not {seed!r}")
        return np.array([NO_SEED if s is None else s for s in each], np.int64)

    def _check_open(self) -> None:
        if self.closed or not self._worker_set.workers:
            self.closed = True
            raise InputError("this pool is closed: make a new one")
        if self._worker_set.owner_pid != os.getpid():
            raise InputError("this pool belongs to the process that made it: make a new one after a fork")

    @contextlib.contextmanager
    def _track_interruption(self) -> Iterator[None]:
        """Remember, if the body is left early, that results may still be on their way."""
        try:
            yield
        except InputError:
            raise
        except BaseException:
            self._interrupted = True
            raise
        self._interrupted = False


def _restart_seeds(seeds: np.ndarray | None, places: list[slice], worker: int, restarts: int) -> list[int | None]:
    """Seeds for the environments of a new worker: with the pool's seeds reproducible, but other than those of the episodes before."""
    place = places[worker]
    if seeds is None:
        return [None] * (place.stop - place.start)
    return [
        int(np.random.SeedSequence([max(seed, 0), restarts]).generate_state(1)[0]) for seed in seeds[place].tolist()
    ]


def _check_count(name: str, value: Any, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= largest:
        raise InputError(f"{name} is a whole number from 1 to {largest}, not {value!r}")
    return int(value)


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_mask(mask: Any, num_envs: int) -> np.ndarray:
    array = to_numpy(mask, "reset_mask")
    if array.shape != (num_envs,) or array.dtype != np.bool_ or not array.any():
        raise InputError(f"reset_mask is a bool array of shape ({num_envs},) with at least one True, not {mask!r}")
    return array


def _factories(
    given: str | Factory | Sequence[Factory], num_envs: int, env_kwargs: dict[str, Any] | None
) -> tuple[list[Any], Any]:
    """One factory per environment, and the spec where there is one. An id is looked up here, since the user's program registers ids in this process alone."""
    if isinstance(given, str):
        module, _, name = given.rpartition(":")
        if module:
            try:
                importlib.import_module(module)
            except (ImportError, ValueError) as error:
                raise InputError(f"the module '{module}' of {given!r} cannot be imported: {error}") from None
        try:
            spec = gymnasium.spec(name)
        except gymnasium.error.Error as error:
            raise InputError(f"Gymnasium knows no environment {given!r}: {error}") from None
        return [(spec, env_kwargs or {})] * num_envs, spec
    if env_kwargs:
        raise InputError(
            "env_kwargs are arguments for gymnasium.make: give an id with them, or bind them in the factory"
        )
    each = [given] * num_envs if callable(given) else list(given) if isinstance(given, Sequence) else []
    if len(each) != num_envs or not all(callable(factory) for factory in each):
        raise InputError(
            f"give an id, a function that makes an environment, or a list of {num_envs} such functions, not {given!r}"
        )
    return each, None


def _pickle_payload(payload: Any) -> bytes:
    try:
        blob: bytes = cloudpickle.dumps(payload)
    except Exception as error:
        raise InputError(
            f"the factory cannot be sent to a worker process: {error}. Let it make everything itself, instead of holding it"
        ) from error
    return blob
