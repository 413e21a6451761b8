"""Looking after the workers of a pool: handing out environments, waiting for them, and replacing workers that fail."""

from __future__ import annotations

import contextlib
import pickle
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from worldloom.vector.process_pool.shared_memory import PoolMemory
from worldloom.vector.process_pool.spsc_ring import NO_TARGET, SpscRing, memory_barrier, scalar_view
from worldloom.vector.process_pool.worker_process import STEP
from worldloom.vector.process_pool.workers import (
    CONTROL_TIMEOUT_S,
    Fault,
    WorkerError,
    WorkerHandle,
    WorkerSet,
    describe_envs,
)

HEALTH_CHECK_INTERVAL_S = 0.1
"""How often the workers are looked at while the pool waits for them."""
RESTARTED_INFO = pickle.dumps({"restarted": True}, pickle.HIGHEST_PROTOCOL)
"""The info of an environment whose episode was lost with its worker."""


class Supervisor:
    """The workers of a pool at work.

    Args:
        crew: The worker processes, which have just been started.
        payloads: What every worker needs to make its environments, pickled.
        timeout: Seconds that a worker may be silent while it has something to do.
        reseed: Seeds for the environments of a worker that is replaced, given its number and how many were replaced before.
    """

    def __init__(
        self,
        worker_set: WorkerSet,
        payloads: Sequence[bytes],
        timeout: float,
        restart_seeds: Callable[[int, int], list[int | None]],
    ) -> None:
        self.worker_set, self.payloads, self.timeout, self.restart_seeds = worker_set, payloads, timeout, restart_seeds
        self.oversized_infos: dict[int, bytes] = {}
        self.restarts = 0
        self._faults: dict[int, Fault] = {}
        self._replies: dict[int, Any] = {}  # of the question that is being asked, by worker
        self._awaiting_reply: set[int] = set()
        self._request_id = self._first_worker = 0
        self._next_health_check = 0.0

    def start(self) -> list[Any]:
        """Have the environments made. Returns what every worker tells: spaces of its environments, metadata, render mode."""
        for worker, payload in zip(self.worker_set.workers, self.payloads, strict=True):
            _send_bytes(worker, payload)
        return [self._receive_startup(worker, "made") for worker in self.worker_set.workers]

    def open(self, memory_layout: dict[str, Any]) -> PoolMemory:
        """Allocate the shared memory and let the workers attach to it."""
        self.memory_layout = memory_layout
        self.memory = memory = PoolMemory(self.worker_set.memory, **memory_layout, allocate=True)
        memory.target[0] = NO_TARGET
        count = len(self.worker_set.workers)
        places = [memory.env_slice(k) for k in range(count)]
        self.worker_of_env = np.repeat(np.arange(count), [len(ids) for ids in self.worker_set.env_ids])
        self.submissions = [
            SpscRing(memory.submission_slots[place], memory.submission_tails[k : k + 1])
            for k, place in enumerate(places)
        ]
        self.completions = [
            SpscRing(memory.completion_slots[place], memory.completion_tails[k : k + 1])
            for k, place in enumerate(places)
        ]
        self._tails = scalar_view(memory.completion_tails)
        self.in_flight = np.zeros(memory_layout["num_envs"], np.bool_)  # handed out, and not taken back since
        self.has_reset = np.zeros(memory_layout["num_envs"], np.bool_)  # reset at least once
        self._lost_steps = np.zeros(memory_layout["num_envs"], np.bool_)  # at work when their worker failed
        self._last_progress, self._last_tails = [0.0] * count, [0] * count
        self._poller = select.poll()
        self._poller.register(self.worker_set.parent_wakeup.read_fd, select.POLLIN)  # type: ignore[arg-type]
        self._by_descriptor: dict[int, WorkerHandle] = {}
        for worker in self.worker_set.workers:
            self._attach_worker(worker, None)
        for worker in self.worker_set.workers:
            self._receive_startup(worker, "ready")
        return memory

    # ---------------------------------------------------------------- handing over

    def submit(self, ids: np.ndarray) -> None:
        """Give environments, (n,), to their workers; what to do with them is in the shared memory."""
        self.in_flight[ids] = True
        owners = self.worker_of_env[ids]
        with defer_interrupts():  # either all of them take the step, or none
            for worker in self.worker_set.workers:
                theirs = ids if len(self.submissions) == 1 else ids[owners == worker.index]
                if len(theirs):
                    self.submissions[worker.index].push_all(theirs)
                    worker.worker_wakeup.notify()

    def num_in_flight(self) -> int:
        """How many environments are handed out and not taken back: what the rings say, which are never half written, wherever an interrupt came."""
        return sum(ring.tail for ring in self.submissions) - sum(ring.head for ring in self.completions)

    def wait(self, wanted: int) -> None:
        """Wait until ``wanted`` environments are finished.

        Raises:
            WorkerError: As soon as a worker failed; it has been replaced.
        """
        target = self._set_wakeup_target(wanted)
        self._wait_until(lambda: bool(self._faults) or sum(self._tails) >= target)

    def wait_for_all(self) -> int:
        """Wait until nothing is on its way any more. Returns how many finished environments can be taken.

        Raises:
            WorkerError: If workers failed, once all others are finished; they have been replaced.
        """
        count = self.num_in_flight()
        self._set_wakeup_target(count)
        self._wait_until(
            lambda: all(
                ring.tail == tail or k in self._faults
                for k, (ring, tail) in enumerate(zip(self.submissions, self._tails, strict=True))
            )
        )
        return count

    def _set_wakeup_target(self, wanted: int) -> int:
        """Tell the workers at which of their results to ring."""
        target = sum(ring.head for ring in self.completions) + wanted
        self.memory.target[0] = target
        memory_barrier()
        return target

    def collect(self, count: int) -> np.ndarray:
        """The ids of ``count`` finished environments, (count,) int32. Workers take turns in being asked first."""
        parts, missing = [], count
        for k in range(len(self.completions)):
            part = self.completions[(self._first_worker + k) % len(self.completions)].pop_all(missing)
            parts.append(part)
            missing -= len(part)
        self._first_worker = (self._first_worker + 1) % len(self.completions)
        ids = np.concatenate(parts)
        self.in_flight[ids] = self._lost_steps[ids] = False
        return ids

    def discard_pending(self) -> None:
        """Wait for everything that is on its way, and drop it. An interrupt may have come before the last bell was rung."""
        for worker in self.worker_set.workers:
            worker.worker_wakeup.notify()
        count = self.wait_for_all()
        lost = np.flatnonzero(self._lost_steps)
        self.collect(count)
        self.memory.restarted[lost], self.memory.truncated[lost] = (
            True,
            False,
        )  # nobody was told, so their next answer tells
        self.in_flight[:] = False
        self.oversized_infos.clear()

    def call_workers(self, verb: str, name: str, payloads: Sequence[Any]) -> list[list[Any]]:
        """Ask every worker something through its socket: ``call``, ``set`` or ``options``. Returns one result per environment, by worker."""
        self._request_id += 1
        self._replies = {}
        self._awaiting_reply = {worker.index for worker in self.worker_set.workers}
        for worker, payload in zip(self.worker_set.workers, payloads, strict=True):
            _send_bytes(worker, pickle.dumps((self._request_id, verb, name, cloudpickle.dumps(payload))))
            self.memory.requests_sent[worker.index] += 1
            worker.worker_wakeup.notify()
        try:
            self._wait_until(lambda: self._awaiting_reply <= self._faults.keys())
        finally:
            self._awaiting_reply = set()
        refusals = [answer for answer in self._replies.values() if isinstance(answer, Fault)]
        if refusals:
            raise WorkerError(refusals, "its worker goes on")
        return [self._replies[worker.index] for worker in self.worker_set.workers]

    def receive_info(self, env_id: int) -> bytes:
        """The pickled info of an environment that did not find room in the shared memory: sent before the environment was, so it is there or about to be."""
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

    def _wait_until(self, finished: Callable[[], bool]) -> None:
        """Sleep until ``finished``, listening to the workers and looking after them."""
        now = time.monotonic()
        self._last_progress = [now] * len(self.completions)
        try:
            while True:
                if now >= self._next_health_check:
                    self._check_health(now)
                if finished():
                    break
                for descriptor, _ in self._poller.poll(HEALTH_CHECK_INTERVAL_S * 1000):
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
        """Take in what a worker has sent. A socket that has closed means that the worker has ended."""
        try:
            while worker.index not in self._faults and worker.control.poll():
                verb, *details = pickle.loads(worker.control.recv_bytes())
                if verb == "info":
                    self.oversized_infos[details[0]] = details[1]
                elif verb == "raised":
                    self._record_fault(worker, self._raised_fault(worker, *details))
                elif details[0] == self._request_id:
                    refused = verb == "refusal"
                    self._replies[worker.index] = (
                        self._raised_fault(worker, details[1], "was called", details[2])
                        if refused
                        else pickle.loads(details[1])
                    )
                    self._awaiting_reply.discard(worker.index)
        except (EOFError, OSError):
            self._record_fault(worker, self._exited_fault(worker))

    def _record_fault(self, worker: WorkerHandle, fault: Fault) -> None:
        """Remember what went wrong in a worker, and listen to it no longer."""
        if worker.index not in self._faults:
            self._faults[worker.index] = fault
            self._poller.unregister(worker.control.fileno())
            del self._by_descriptor[worker.control.fileno()]

    def _check_health(self, now: float) -> None:
        """Find workers that have ended without a word, and those that are silent for too long."""
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
            begun = float(self.memory.busy_since[k])
            waited_for = self.submissions[k].tail != tail or k in self._awaiting_reply
            if waited_for and (now - self._last_progress[k] > self.timeout or (begun and now - begun > self.timeout)):
                self._record_fault(worker, self._hung_fault(worker))

    def _current_env(self, worker: WorkerHandle) -> int | None:
        return int(self.memory.busy_env[worker.index]) if self.memory.busy_since[worker.index] else None

    def _raised_fault(self, worker: WorkerHandle, env_id: int, doing: str, text: str) -> Fault:
        return Fault(
            "raised",
            env_id,
            self.worker_set.env_ids[worker.index],
            f"environment {env_id} raised when it {doing}: {text.strip().splitlines()[-1]}",
            text,
        )

    def _exited_fault(self, worker: WorkerHandle) -> Fault:
        env_id = self._current_env(worker)
        ids = self.worker_set.env_ids[worker.index]
        where = "" if env_id is None else f" while it worked on environment {env_id}"
        return Fault("ended", env_id, ids, f"the worker of {describe_envs(ids)} {worker.describe_exit()}{where}")

    def _hung_fault(self, worker: WorkerHandle) -> Fault:
        env_id = self._current_env(worker)
        ids = self.worker_set.env_ids[worker.index]
        who = f"the worker of {describe_envs(ids)}" if env_id is None else f"environment {env_id}"
        return Fault("hung", env_id, ids, f"{who} gave no answer within {self.timeout:g} s")

    def _restart_workers(self) -> None:
        """Replace the workers that failed, and say so."""
        faults, self._faults = self._faults, {}
        try:
            fresh = []
            for k in faults:
                failed = self.worker_set.workers[k]
                failed.kill()
                self._clear_worker_rows(k)
                fresh.append(self.worker_set.replace(failed))
                _send_bytes(fresh[-1], self.payloads[k])
            for worker in fresh:
                self._receive_startup(worker, "made")
                self.restarts += 1
                self._attach_worker(worker, self.restart_seeds(worker.index, self.restarts))
            for worker in fresh:
                self._receive_startup(worker, "ready")
        except BaseException:
            self.worker_set.shut_down(0.0)  # no half-mended pool
            raise
        reset = ", ".join(describe_envs(fault.env_ids) for fault in faults.values())
        raise WorkerError(list(faults.values()), f"a new worker has taken over and has reset {reset}")

    def _clear_worker_rows(self, k: int) -> None:
        """Make the shared memory right for a new worker: environments that were at work are finished, the others tell at their next step."""
        memory, place = self.memory, self.memory.env_slice(k)
        ids = np.arange(place.start, place.stop, dtype=np.int32)
        pending = ids[self.in_flight[place]]
        stepped = pending[memory.request_kinds[pending] == STEP]
        if memory.final_observations is not None:
            memory.final_observations.copy_rows(
                place, memory.observations
            )  # the last that is known of the episodes that are lost
        memory.restarted[place] = self.has_reset[place] & ~self.in_flight[place]
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
        """Let a worker attach to the shared memory; with ``seeds`` it resets its environments at once."""
        _send_bytes(worker, cloudpickle.dumps((self.memory_layout, seeds)))
        self._poller.register(worker.control.fileno(), select.POLLIN)
        self._by_descriptor[worker.control.fileno()] = worker

    def _receive_startup(self, worker: WorkerHandle, expected: str) -> Any:
        """The next message of a worker that is starting.

        Raises:
            WorkerError: If it does not start.
        """
        afterwards = "the pool is closed"
        ids = self.worker_set.env_ids[worker.index]
        try:
            if not worker.control.poll(CONTROL_TIMEOUT_S):
                raise WorkerError(
                    [
                        Fault(
                            "hung",
                            None,
                            ids,
                            f"the worker of {describe_envs(ids)} did not start within {CONTROL_TIMEOUT_S:g} s",
                        )
                    ],
                    afterwards,
                )
            verb, *details = pickle.loads(worker.control.recv_bytes())
        except (EOFError, OSError):
            raise WorkerError(
                [
                    Fault(
                        "ended",
                        None,
                        ids,
                        f"the worker of {describe_envs(ids)} {worker.describe_exit()} while it started",
                    )
                ],
                afterwards,
            ) from None
        if verb == "raised":
            env_id, doing, text = details
            problem = f"environment {env_id} raised when it {doing}: {text.strip().splitlines()[-1]}"
            raise WorkerError([Fault("raised", env_id, ids, problem, text)], afterwards)
        assert verb == expected
        return details


def _send_bytes(worker: WorkerHandle, message: bytes) -> None:
    """Send bytes to a worker. One that has ended is noticed where its answer is waited for."""
    with contextlib.suppress(OSError):
        worker.control.send_bytes(message)


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the body. Handlers of the user's own, and threads other than the main one, which it never reaches, are left alone."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
