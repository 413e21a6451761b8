"""A pool of Gymnasium environments in worker processes, with shared memory and EnvPool's asynchronous interface."""

from __future__ import annotations

import functools
import itertools
import os
import pickle
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from worldloom.core.base.arrays import check_flags
from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.base.shards import num_cores
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.checks import (
    AUTORESET_MODES,
    StepResult,
    check_env_ids,
    check_timeout,
    resolve_autoreset,
)
from worldloom.vector.errors import ArgumentTypeError, ClosedError, NotResetError
from worldloom.vector.process_pool.arguments import (
    MAX_ENVS,
    Factory,
    Seeds,
    WorkerPlan,
    check_count,
    count_envs,
    make_factories,
    pickle_payload,
    restart_seeds,
    seeds_per_env,
)
from worldloom.vector.process_pool.batched_infos import add_info
from worldloom.vector.process_pool.gymnasium_calls import GymnasiumCalls
from worldloom.vector.process_pool.pool_copy import SupervisorState, capture, rebuild
from worldloom.vector.process_pool.pool_spaces import ObservationMode, resolve_spaces
from worldloom.vector.process_pool.shared_memory import INFO_TOO_LONG
from worldloom.vector.process_pool.supervisor import Supervisor
from worldloom.vector.process_pool.worker_process import RESET, RESET_WITH_OPTIONS, STEP
from worldloom.vector.process_pool.workers import WorkerSet


class ProcessPool(NoShallowCopy, GymnasiumCalls):
    """``num_envs`` Gymnasium environments in worker processes.

    Without ``batch_size`` it is a Gymnasium vector environment: :meth:`reset` and :meth:`step` cover all environments.
    :meth:`step_async`, :meth:`step_wait` and the other methods of Gymnasium's ``AsyncVectorEnv`` work too.
    With a smaller ``batch_size`` it is asynchronous: after one :meth:`async_reset`, :meth:`recv` returns the first
    ``batch_size`` finished environments, and :meth:`send` submits new actions for them, while the others continue.

    :class:`~worldloom.vector.WorkerError` is raised when an environment raises, or when a worker is killed or hangs. By
    then another worker has taken over and has reset its environments, and the pool stays usable: each of those
    environments returns once with ``truncated`` and ``infos["restarted"]``.

    Not thread-safe.

    Args:
        factories_or_id: An id for ``gymnasium.make``, a function that makes an environment, or a list of ``num_envs``
            such functions.
        num_envs: Number of environments; by default that of the functions, or 1.
        batch_size: Number of environments that :meth:`recv` waits for; all by default.
        num_workers: Number of processes; one per core by default. More are useful if steps wait more than they compute.
        seed: Seeds of the first reset: one, to which the id of the environment is added, or one per environment.
        timeout: Seconds without progress after which a busy worker counts as hung, in resets too.
        autoreset: The autoreset mode, as Gymnasium documents it; ``next_step`` by default.
        autoreset_mode: The same under Gymnasium's name, an AutoresetMode.
        copy: Whether observations are copied out of the shared memory. Without copies the next step overwrites them.
        observation_mode: ``same``; ``different`` for observation spaces with different bounds; or the batched and the
            single observation space.
        env_kwargs: Arguments for ``gymnasium.make``, with an id.
        start_timeout: Seconds that a worker has, beyond ``timeout``, to start: a new interpreter, imports, and the
            construction of its environments.
    """

    def __init__(
        self,
        factories_or_id: str | Factory | Sequence[Factory],
        num_envs: int | None = None,
        batch_size: int | None = None,
        num_workers: int | None = None,
        seed: Seeds = None,
        timeout: float = 60.0,
        autoreset: Autoreset | AutoresetMode | None = None,
        copy: bool = True,
        env_kwargs: dict[str, Any] | None = None,
        *,
        autoreset_mode: AutoresetMode | str | None = None,
        observation_mode: ObservationMode = "same",
        start_timeout: float = 60.0,
    ) -> None:
        self.closed = True  # until there is something to close
        if os.name != "posix":
            raise InputError(
                f"a process pool passes file descriptors to its workers, which {sys.platform} does not allow: "
                "use gymnasium.vector.AsyncVectorEnv"
            )
        num_envs = self.num_envs = check_count("num_envs", count_envs(factories_or_id, num_envs), MAX_ENVS)
        self.batch_size = check_count("batch_size", num_envs if batch_size is None else batch_size, num_envs)
        self.autoreset = resolve_autoreset(autoreset, autoreset_mode, "next_step")
        self.timeout, self.start_timeout = check_timeout(timeout), check_timeout(start_timeout, "start_timeout")
        check_flags(copy=copy)
        self.copy, self._observation_mode = copy, observation_mode
        self._synchronous = self.batch_size == num_envs
        self._initial_seeds = seeds_per_env(seed, self.num_envs)
        self._interrupted = False  # results of an unfinished step or reset may still be in flight
        self._pending: str | None = None  # the call that a method such as step_async has begun
        factories, self.spec = make_factories(factories_or_id, num_envs, env_kwargs)
        workers = check_count(
            "num_workers", min(num_envs, num_cores()) if num_workers is None else num_workers, num_envs
        )
        starts = [num_envs * k // workers for k in range(workers + 1)]
        payloads = [
            pickle_payload((factories[first:last], first, self.autoreset)) for first, last in itertools.pairwise(starts)
        ]
        self._plan = WorkerPlan(starts, payloads, seeds_per_env(seed, num_envs))
        self._launch(payloads)

    def _launch(self, payloads: list[bytes], state: SupervisorState | None = None) -> None:
        """Start the workers with the environments of ``payloads``, and with the ``state`` of another pool."""
        plan = self._plan
        self._worker_set = WorkerSet([tuple(range(envs.start, envs.stop)) for envs in plan.env_slices])
        self._finalizer = weakref.finalize(self, self._worker_set.shut_down)
        self.closed = False
        try:
            restart = functools.partial(restart_seeds, plan.seeds, plan.env_slices)
            self._supervisor = Supervisor(self._worker_set, plan.payloads, self.timeout, self.start_timeout, restart)
            replies = self._supervisor.start(payloads)
            pairs = [pair for reply in replies for pair in reply[0]]
            self.__dict__.update(vars(resolve_spaces(pairs, self._observation_mode, self.batch_size)))
            self.metadata = {**replies[0][1], "autoreset_mode": AUTORESET_MODES[self.autoreset]}
            self.render_mode = replies[0][2]
            self._memory = self._supervisor.open(
                {
                    "num_envs": self.num_envs,
                    "starts": plan.starts,
                    "observation_space": self.single_observation_space,
                    "action_space": self.single_action_space,
                    "keep_final": self.autoreset == "same_step",
                },
                state,
            )
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has environments and workers of its own, and continues from the same state."""
        self._check_idle("copy")
        return rebuild, (type(self), capture(self))

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    # ---------------------------------------------------------------- EnvPool's interface

    def async_reset(self, env_id: Any = None, seed: Seeds = None) -> None:
        """Start new episodes without waiting for them: :meth:`recv` returns the first observations.

        Args:
            env_id: The environments, (n,). By default all of them; results in flight are then discarded.
            seed: As in :meth:`reset`.
        """
        self._check_idle("async_reset")
        if env_id is None:
            self._supervisor.discard_pending()
        self._reset(self._ids(env_id), seed, {})

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Submit actions without waiting for their results.

        Args:
            actions: One action per environment, batched as in ``action_space``.
            env_id: Which environments they are for, (n,); all of them by default.
        """
        self._check_idle("send")
        self._send(actions, env_id)

    def _send(self, actions: Any, env_id: Any) -> None:
        ids = self._ids(env_id)
        memory, has_reset = self._memory, self._supervisor.has_reset[ids]
        if not has_reset.all():
            raise NotResetError(
                f"environment {ids[~has_reset][0]} has not been reset yet: "
                f"call {'reset' if self._synchronous else 'async_reset'}() first"
            )
        if self.autoreset == "disabled" and (ended := ids[memory.terminated[ids] | memory.truncated[ids]]).size:
            call = "reset(options={'reset_mask': ...})" if self._synchronous else f"async_reset(env_id=[{ended[0]}])"
            raise NotResetError(
                f"the episode of environment {ended[0]} is over, and autoreset is disabled: call {call} first"
            )
        try:
            memory.actions.put_batch(slice(None) if env_id is None else ids, actions)
        except (TypeError, ValueError) as error:
            is_batch = hasattr(actions, "__len__") and np.shape(actions) != ()
            raise (InputError if is_batch else ArgumentTypeError)(
                f"the actions do not fit {self.single_action_space} for {len(ids)} environments: {error}"
            ) from None
        memory.request_kinds[ids] = STEP
        self._supervisor.submit(ids)

    def recv(self) -> StepResult:
        """The results of the first ``batch_size`` finished environments; ``infos["env_id"]`` holds their ids."""
        self._check_idle("recv")
        in_flight = self._supervisor.num_in_flight()
        if in_flight < self.batch_size:
            raise InputError(
                f"recv() waits for {self.batch_size} environments, but {in_flight} are in flight: "
                "send() actions to more of them first"
            )
        self._supervisor.wait(self.batch_size)
        ids = self._supervisor.collect(self.batch_size)
        self._interrupted = False
        if self._synchronous:
            ids.sort()
        results = self._results(ids)
        results[4]["env_id"] = ids
        return results

    # ---------------------------------------------------------------- private

    def _reset(self, ids: np.ndarray, seed: Seeds, options: dict[str, Any]) -> None:
        seeds = seeds_per_env(seed, self.num_envs)
        if seed is None and self._initial_seeds is not None:
            seeds = self._initial_seeds.copy()
        if self._initial_seeds is not None:
            self._initial_seeds[ids] = None  # the pool's seeds apply to the first reset of each environment
        if options:
            self._supervisor.call_workers("options", "", [options] * len(self._worker_set.workers))
        chosen = np.full(len(ids), None) if seeds is None else seeds[ids]
        self._memory.put_seeds(ids, chosen)
        self._memory.request_kinds[ids] = RESET_WITH_OPTIONS if options else RESET
        self._supervisor.has_reset[ids] = True
        self._supervisor.submit(ids)

    def _results(self, ids: np.ndarray | None) -> StepResult:
        """The results of environments ``ids``, or of all: arrays (n, ...)."""
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
        has_info = memory.info_sizes[ids] != 0
        ended = (
            memory.terminated[ids] | memory.truncated[ids]
            if memory.final_observations is not None
            else np.zeros(len(ids), np.bool_)
        )
        for k in np.flatnonzero(has_info | ended).tolist():
            env_id = int(ids[k])
            info = self._info(env_id)
            if ended[k]:
                info = {
                    "final_obs": memory.final_observations.get(env_id),  # type: ignore[union-attr]
                    "final_info": info.pop("final_info", {}),
                    **info,
                }
            add_info(batch, info, int(rows[k]), size)
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
        info: dict[str, Any] = pickle.loads(blob)  # noqa: S301 - from our own worker
        return info

    def _ids(self, env_id: Any) -> np.ndarray:
        """The user's ``env_id`` as int32 (n,), without duplicates, and none of them in flight."""
        if env_id is None:
            ids = np.arange(self.num_envs, dtype=np.int32)
        else:
            ids = check_env_ids(env_id, self.num_envs, "an environment").astype(np.int32)
        in_flight = self._supervisor.in_flight[ids]
        if in_flight.any():
            raise InputError(f"environment {ids[in_flight][0]} is still in flight: recv() it first")
        return ids

    def _check_open(self) -> None:
        if self.closed or not self._worker_set.workers:
            self.closed = True
            raise ClosedError("this pool is closed: make a new one")
        if self._worker_set.owner_pid != os.getpid():
            raise InputError("this pool belongs to the process that made it: make a new one after a fork")
