"""The supervisor of a pool's workers: submits environments, waits for results, and restarts workers that fail."""

from __future__ import annotations

import contextlib
import math
import pickle
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from worldloom.vector.errors import WaitTimeoutError
from worldloom.vector.process_pool.faults import (
    Fault,
    WorkerAttributeError,
    WorkerError,
    describe_envs,
    exited_fault,
    hung_fault,
    raised_fault,
)
from worldloom.vector.process_pool.pool_copy import SupervisorState, restore_supervisor
from worldloom.vector.process_pool.shared_memory import PoolMemory
from worldloom.vector.process_pool.spsc_ring import NO_TARGET, SpscRing, memory_barrier, scalar_view
from worldloom.vector.process_pool.startup import await_startup
from worldloom.vector.process_pool.worker_process import STEP
from worldloom.vector.process_pool.workers import WorkerHandle, WorkerSet

HEALTH_CHECK_INTERVAL_S = 0.1
"""Interval of health checks while the pool waits for workers."""
RESTARTED_INFO = pickle.dumps({"restarted": True}, pickle.HIGHEST_PROTOCOL)
"""The pickled info of an environment whose episode was lost with its worker."""


class Supervisor:
    """Communication with the workers of a pool, and their replacement after faults.

    Args:
        worker_set: The worker processes, which have just been started.
        payloads: The pickled factories and settings of every worker.
        timeout: Seconds without progress after which a busy worker counts as hung.
        start_timeout: Seconds that a worker has in addition for its start and for making its environments.
        restart_seeds: Seeds for the environments of a replacement worker, given its number and the count of restarts.
    """

    def __init__(
        self,
        worker_set: WorkerSet,
        payloads: Sequence[bytes],
        timeout: float,
        start_timeout: float,
        restart_seeds: Callable[[int, int], list[int | None]],
    ) -> None:
        self.worker_set, self.payloads, self.restart_seeds = worker_set, payloads, restart_seeds
        self.timeout, self.start_timeout = timeout, start_timeout
        self.oversized_infos: dict[int, bytes] = {}
        self.restarts = 0
        self._faults: dict[int, Fault] = {}
        self._replies: dict[int, Any] = {}  # to the current request, by worker
        self._awaiting_reply: set[int] = set()
        self._attribute_missing = False
        self._request_id = self._first_worker = 0
        self._next_health_check = 0.0

    def start(self, payloads: Sequence[bytes]) -> list[Any]:
        """Make the environments of ``payloads``, one per worker; replacements of workers use ``self.payloads``.

        Returns:
            Per worker, the spaces of its environments, metadata and render mode.
        """
        for worker, payload in zip(self.worker_set.workers, payloads, strict=True):
            _send_bytes(worker, payload)
        return self._await_startup(self.worker_set.workers, "made")

    def open(self, memory_layout: dict[str, Any], state: SupervisorState | None) -> PoolMemory:
        """Allocate the shared memory, with the ``state`` of another pool if this is a copy, and attach the workers."""
        self.memory_layout = memory_layout
        self.memory = memory = PoolMemory(self.worker_set.memory, **memory_layout, allocate=True)
        memory.target[0] = NO_TARGET
        count = len(self.worker_set.workers)
        env_slices = [memory.env_slice(k) for k in range(count)]
        self.worker_of_env = np.repeat(np.arange(count), [len(ids) for ids in self.worker_set.env_ids])
        self.submissions = [
            SpscRing(memory.submission_slots[envs], memory.submission_tails[k : k + 1])
            for k, envs in enumerate(env_slices)
        ]
        self.completions = [
            SpscRing(memory.completion_slots[envs], memory.completion_tails[k : k + 1])
            for k, envs in enumerate(env_slices)
        ]
        self._tails = scalar_view(memory.completion_tails)
        self.in_flight = np.zeros(memory_layout["num_envs"], np.bool_)  # submitted, and not collected since
        self.has_reset = np.zeros(memory_layout["num_envs"], np.bool_)  # reset at least once
        self._lost_steps = np.zeros(memory_layout["num_envs"], np.bool_)  # in flight when their worker failed
        self._last_progress, self._last_tails = [0.0] * count, [0] * count
        self._poller = select.poll()
        self._poller.register(self.worker_set.parent_wakeup.read_fd, select.POLLIN)  # type: ignore[arg-type]
        self._by_descriptor: dict[int, WorkerHandle] = {}
        if state is not None:
            restore_supervisor(self, state)
        for worker in self.worker_set.workers:
            self._attach_worker(worker, None)
        self._await_startup(self.worker_set.workers, "ready")
        return memory

    def _await_startup(self, workers: Sequence[WorkerHandle], expected: str) -> list[Any]:
        return await_startup(workers, self.worker_set.env_ids, expected, self.timeout, self.start_timeout)

    # ---------------------------------------------------------------- submitting and collecting

    def submit(self, ids: np.ndarray) -> None:
        """Submit environments, (n,), to their workers; the shared memory holds the kind of request."""
        self.in_flight[ids] = True
        owners = self.worker_of_env[ids]
        with defer_interrupts():  # all of them are submitted, or none
            for worker in self.worker_set.workers:
                worker_ids = ids if len(self.submissions) == 1 else ids[owners == worker.index]
                if len(worker_ids):
                    self.submissions[worker.index].push_all(worker_ids)
                    worker.worker_wakeup.notify()

    def num_in_flight(self) -> int:
        """Number of environments submitted and not collected. The rings are consistent even after an interrupt."""
        return sum(ring.tail for ring in self.submissions) - sum(ring.head for ring in self.completions)

    def wait(self, count: int) -> None:
        """Wait until ``count`` environments are finished.

        Raises:
            WorkerError: As soon as a worker has failed; it has been replaced.
        """
        target = self._set_wakeup_target(count)
        self._wait_until(lambda: bool(self._faults) or sum(self._tails) >= target)

    def wait_for_all(self, timeout: float | None = None) -> int:
        """Wait until no environment is in flight. Returns the number of finished environments to collect.

        Args:
            timeout: Seconds to wait at most; None for no limit.

        Raises:
            WorkerError: If workers have failed, once all others are finished; they have been replaced.
            WaitTimeoutError: If some are in flight after ``timeout`` seconds.
        """
        count = self.num_in_flight()
        self._set_wakeup_target(count)
        self._wait_until(
            lambda: all(
                ring.tail == tail or k in self._faults
                for k, (ring, tail) in enumerate(zip(self.submissions, self._tails, strict=True))
            ),
            timeout,
        )
        return count

    def _set_wakeup_target(self, count: int) -> int:
        """Set the total number of completions at which workers wake the parent."""
        target = sum(ring.head for ring in self.completions) + count
        self.memory.target[0] = target
        memory_barrier()
        return target

    def collect(self, count: int) -> np.ndarray:
        """The ids of ``count`` finished environments, (count,) int32; the first worker rotates, for fairness."""
        collected, missing = [], count
        for k in range(len(self.completions)):
            worker_ids = self.completions[(self._first_worker + k) % len(self.completions)].pop_all(missing)
            collected.append(worker_ids)
            missing -= len(worker_ids)
        self._first_worker = (self._first_worker + 1) % len(self.completions)
        ids = np.concatenate(collected)
        self.in_flight[ids] = self._lost_steps[ids] = False
        return ids

    def discard_pending(self) -> None:
        """Wait for everything in flight, and discard it. An interrupt may have prevented the last notification."""
        for worker in self.worker_set.workers:
            worker.worker_wakeup.notify()
        count = self.wait_for_all()
        lost = np.flatnonzero(self._lost_steps)
        self.collect(count)
        self.memory.restarted[lost] = True  # the truncation was discarded, so the next step reports it again
        self.memory.truncated[lost] = False
        self.in_flight[:] = False
        self.oversized_infos.clear()

    def call_workers(self, verb: str, name: str, payloads: Sequence[Any]) -> list[list[Any]]:
        """:meth:`begin_call`, then :meth:`finish_call`."""
        self.begin_call(verb, name, payloads)
        return self.finish_call()

    def begin_call(self, verb: str, name: str, payloads: Sequence[Any]) -> None:
        """Send every worker a request through its socket: ``call``, ``set``, ``pickle`` or ``options``."""
        self._request_id += 1
        self._replies, self._attribute_missing = {}, False
        self._awaiting_reply = {worker.index for worker in self.worker_set.workers}
        for worker, payload in zip(self.worker_set.workers, payloads, strict=True):
            _send_bytes(worker, pickle.dumps((self._request_id, verb, name, cloudpickle.dumps(payload))))
            self.memory.requests_sent[worker.index] += 1
            worker.worker_wakeup.notify()

    def finish_call(self, timeout: float | None = None) -> list[list[Any]]:
        """The replies to the last request.

        Returns:
            One result per environment, by worker.

        Raises:
            WorkerError: If an environment raised, or a worker has failed; a WorkerAttributeError for unknown names.
            WaitTimeoutError: If a reply is missing after ``timeout`` seconds.
        """
        try:
            self._wait_until(lambda: self._awaiting_reply <= self._faults.keys(), timeout)
        finally:
            self._awaiting_reply = set()
        faults = [reply for reply in self._replies.values() if isinstance(reply, Fault)]
        if faults:
            raise (WorkerAttributeError if self._attribute_missing else WorkerError)(faults, "its worker continues")
        return [self._replies[worker.index] for worker in self.worker_set.workers]

    def receive_info(self, env_id: int) -> bytes:
        """The pickled info of an environment that was too long for the shared memory; sent before its completion."""
        worker = self.worker_set.workers[self.worker_of_env[env_id]]
        deadline = time.monotonic() + self.timeout
        while env_id not in self.oversized_infos and not self._faults and time.monotonic() < deadline:
            if worker.control.poll(HEALTH_CHECK_INTERVAL_S):
                self._read_messages(worker)
        if env_id not in self.oversized_infos:
            self._record_fault(worker, self._hung_fault(worker))
            self._restart_workers()
        return self.oversized_infos.pop(env_id)

    # ---------------------------------------------------------------- faults

    def _wait_until(self, finished: Callable[[], bool], timeout: float | None = None) -> None:
        """Sleep until ``finished``; meanwhile read the workers' messages and check their health."""
        now = time.monotonic()
        deadline = math.inf if timeout is None else now + timeout
        self._last_progress = [now] * len(self.completions)
        try:
            while True:
                if now >= self._next_health_check:
                    self._check_health(now)
                if finished():
                    break
                if now >= deadline:
                    raise WaitTimeoutError(f"the environments did not finish within {timeout:g} s: wait longer")
                for descriptor, _ in self._poller.poll(min(HEALTH_CHECK_INTERVAL_S, deadline - now) * 1000):
                    worker = self._by_descriptor.get(descriptor)
                    if worker is None:
                        self.worker_set.parent_wakeup.drain()
                    else:
                        self._read_messages(worker)
                now = time.monotonic()
        finally:
            self.memory.target[0] = NO_TARGET
        if self._faults:
            self._restart_workers()

    def _read_messages(self, worker: WorkerHandle) -> None:
        """Read all messages of a worker. A closed socket means that the worker has exited."""
        try:
            while worker.index not in self._faults and worker.control.poll():
                verb, *details = pickle.loads(worker.control.recv_bytes())  # noqa: S301 - from our own worker
                if verb == "info":
                    self.oversized_infos[details[0]] = details[1]
                elif verb == "raised":
                    self._record_fault(worker, raised_fault(self._env_ids(worker), *details))
                elif details[0] == self._request_id:
                    if verb == "error":
                        reply = raised_fault(self._env_ids(worker), details[1], "was called", details[2])
                        self._attribute_missing |= details[3]
                    else:
                        reply = pickle.loads(details[1])  # noqa: S301 - from our own worker
                    self._replies[worker.index] = reply
                    self._awaiting_reply.discard(worker.index)
        except (EOFError, OSError):
            self._record_fault(worker, self._exited_fault(worker))

    def _record_fault(self, worker: WorkerHandle, fault: Fault) -> None:
        """Store the fault of a worker, and stop polling its socket."""
        if worker.index not in self._faults:
            self._faults[worker.index] = fault
            self._poller.unregister(worker.control.fileno())
            del self._by_descriptor[worker.control.fileno()]

    def _check_health(self, now: float) -> None:
        """Record faults of workers that have exited without a message, or made no progress for too long."""
        self._next_health_check = now + HEALTH_CHECK_INTERVAL_S
        for worker in self.worker_set.workers:
            k, tail = worker.index, self._tails[worker.index]
            if k in self._faults:
                continue
            if worker.has_exited():
                self._read_messages(worker)
                self._record_fault(worker, self._exited_fault(worker))
                continue
            if tail != self._last_tails[k]:
                self._last_tails[k], self._last_progress[k] = tail, now
            start = float(self.memory.busy_since[k])
            busy = self.submissions[k].tail != tail or k in self._awaiting_reply
            if busy and (now - self._last_progress[k] > self.timeout or (start and now - start > self.timeout)):
                self._record_fault(worker, self._hung_fault(worker))

    def _current_env(self, worker: WorkerHandle) -> int | None:
        return int(self.memory.busy_env[worker.index]) if self.memory.busy_since[worker.index] else None

    def _env_ids(self, worker: WorkerHandle) -> tuple[int, ...]:
        return self.worker_set.env_ids[worker.index]

    def _exited_fault(self, worker: WorkerHandle) -> Fault:
        return exited_fault(self._env_ids(worker), self._current_env(worker), worker.describe_exit())

    def _hung_fault(self, worker: WorkerHandle) -> Fault:
        return hung_fault(self._env_ids(worker), self._current_env(worker), self.timeout)

    def _restart_workers(self) -> None:
        """Replace the workers that failed, and raise WorkerError."""
        faults, self._faults = self._faults, {}
        try:
            replacements = []
            for k in faults:
                failed = self.worker_set.workers[k]
                failed.kill()
                self._clear_worker_rows(k)
                replacements.append(self.worker_set.replace(failed))
                _send_bytes(replacements[-1], self.payloads[k])
            self._await_startup(replacements, "made")
            for worker in replacements:
                self.restarts += 1
                self._attach_worker(worker, self.restart_seeds(worker.index, self.restarts))
            self._await_startup(replacements, "ready")
        except BaseException:
            self.worker_set.shut_down(0.0)  # a pool is never left half restarted
            raise
        reset = ", ".join(describe_envs(fault.env_ids) for fault in faults.values())
        raise WorkerError(list(faults.values()), f"a new worker has taken over and has reset {reset}")

    def _clear_worker_rows(self, k: int) -> None:
        """Prepare the shared memory for a replacement worker.

        Environments in flight are finished and truncated; the others report the restart at their next step.
        """
        memory, envs = self.memory, self.memory.env_slice(k)
        ids = np.arange(envs.start, envs.stop, dtype=np.int32)
        pending = ids[self.in_flight[envs]]
        stepped = pending[memory.request_kinds[pending] == STEP]
        if memory.final_observations is not None:  # the last known observations of the lost episodes
            memory.final_observations.copy_rows(envs, memory.observations)
        memory.restarted[envs] = self.has_reset[envs] & ~self.in_flight[envs]
        memory.rewards[pending], memory.terminated[pending], memory.truncated[pending] = 0.0, False, False
        memory.info_sizes[pending] = 0
        memory.truncated[stepped] = self._lost_steps[stepped] = True
        memory.infos[stepped, : len(RESTARTED_INFO)] = np.frombuffer(RESTARTED_INFO, np.uint8)
        memory.info_sizes[stepped] = len(RESTARTED_INFO)
        memory.busy_since[k] = 0.0
        self.submissions[k].reset_to(pending)
        self.completions[k].reset_to(pending)
        for env_id in ids.tolist():
            self.oversized_infos.pop(env_id, None)

    def _attach_worker(self, worker: WorkerHandle, seeds: list[int | None] | None) -> None:
        """Attach a worker to the shared memory; with ``seeds`` it resets its environments at once."""
        _send_bytes(worker, cloudpickle.dumps((self.memory_layout, seeds)))
        self._poller.register(worker.control.fileno(), select.POLLIN)
        self._by_descriptor[worker.control.fileno()] = worker


def _send_bytes(worker: WorkerHandle, message: bytes) -> None:
    """Send bytes to a worker. If it has exited, waiting for its reply detects it."""
    with contextlib.suppress(OSError):
        worker.control.send_bytes(message)


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer Ctrl-C to the end of the body, unless the user has set a handler or this is not the main thread."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupts:
        raise KeyboardInterrupt
