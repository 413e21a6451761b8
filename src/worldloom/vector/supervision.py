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

from worldloom.vector.hand_off import NEVER, Ring, barrier, numbers
from worldloom.vector.shared_memory import PoolMemory
from worldloom.vector.worker_process import STEP
from worldloom.vector.workers import PATIENCE_S, Crew, Fault, Worker, WorkerError, named

LOOK_S = 0.1
"""How often the workers are looked at while the pool waits for them."""
RESTARTED = pickle.dumps({"restarted": True}, pickle.HIGHEST_PROTOCOL)
"""The info of an environment whose episode was lost with its worker."""


class Supervisor:
    """The workers of a pool at work.

    Args:
        crew: The worker processes, which have just been started.
        payloads: What every worker needs to make its environments, pickled.
        timeout: Seconds that a worker may be silent while it has something to do.
        reseed: Seeds for the environments of a worker that is replaced, given its number and how many were replaced before.
    """

    def __init__(self, crew: Crew, payloads: Sequence[bytes], timeout: float, reseed: Callable[[int, int], list[int | None]]) -> None:
        self.crew, self.payloads, self.timeout, self.reseed = crew, payloads, timeout, reseed
        self.long_infos: dict[int, bytes] = {}
        self.restarts = 0
        self._faults: dict[int, Fault] = {}
        self._answers: dict[int, Any] = {}  # of the question that is being asked, by worker
        self._unanswered: set[int] = set()
        self._serial = self._turn = 0
        self._next_look = 0.0

    def start(self) -> list[Any]:
        """Have the environments made. Returns what every worker tells: spaces of its environments, metadata, render mode."""
        for worker, payload in zip(self.crew.workers, self.payloads, strict=True):
            _deliver(worker, payload)
        return [self._hear(worker, "made") for worker in self.crew.workers]

    def open(self, layout: dict[str, Any]) -> PoolMemory:
        """Allocate the shared memory and let the workers attach to it."""
        self.layout = layout
        self.memory = memory = PoolMemory(self.crew.memory, **layout, allocate=True)
        memory.target[0] = NEVER
        count = len(self.crew.workers)
        places = [memory.envs_of(k) for k in range(count)]
        self.owner = np.repeat(np.arange(count), [len(ids) for ids in self.crew.env_ids])
        self.requests = [Ring(memory.request_slots[place], memory.request_tails[k : k + 1]) for k, place in enumerate(places)]
        self.done = [Ring(memory.done_slots[place], memory.done_tails[k : k + 1]) for k, place in enumerate(places)]
        self._tails = numbers(memory.done_tails)
        self.at_work = np.zeros(layout["num_envs"], np.bool_)  # handed out, and not taken back since
        self.begun = np.zeros(layout["num_envs"], np.bool_)  # reset at least once
        self._cut = np.zeros(layout["num_envs"], np.bool_)  # at work when their worker failed
        self._silent_since, self._seen = [0.0] * count, [0] * count
        self._poller = select.poll()
        self._poller.register(self.crew.bell.reader, select.POLLIN)  # type: ignore[arg-type]
        self._by_descriptor: dict[int, Worker] = {}
        for worker in self.crew.workers:
            self._admit(worker, None)
        for worker in self.crew.workers:
            self._hear(worker, "ready")
        return memory

    # ---------------------------------------------------------------- handing over

    def hand_out(self, ids: np.ndarray) -> None:
        """Give environments, (n,), to their workers; what to do with them is in the shared memory."""
        self.at_work[ids] = True
        owners = self.owner[ids]
        with interrupts_later():  # either all of them take the step, or none
            for worker in self.crew.workers:
                theirs = ids if len(self.requests) == 1 else ids[owners == worker.index]
                if len(theirs):
                    self.requests[worker.index].push_all(theirs)
                    worker.wake.ring()

    def on_the_way(self) -> int:
        """How many environments are handed out and not taken back: what the rings say, which are never half written, wherever an interrupt came."""
        return sum(ring.tail for ring in self.requests) - sum(ring.head for ring in self.done)

    def wait(self, wanted: int) -> None:
        """Wait until ``wanted`` environments are finished.

        Raises:
            WorkerError: As soon as a worker failed; it has been replaced.
        """
        target = self._announce(wanted)
        self._attend(lambda: bool(self._faults) or sum(self._tails) >= target)

    def wait_for_all(self) -> int:
        """Wait until nothing is on its way any more. Returns how many finished environments can be taken.

        Raises:
            WorkerError: If workers failed, once all others are finished; they have been replaced.
        """
        count = self.on_the_way()
        self._announce(count)
        self._attend(lambda: all(ring.tail == tail or k in self._faults for k, (ring, tail) in enumerate(zip(self.requests, self._tails, strict=True))))
        return count

    def _announce(self, wanted: int) -> int:
        """Tell the workers at which of their results to ring."""
        target = sum(ring.head for ring in self.done) + wanted
        self.memory.target[0] = target
        barrier()
        return target

    def take(self, count: int) -> np.ndarray:
        """The ids of ``count`` finished environments, (count,) int32. Workers take turns in being asked first."""
        parts, missing = [], count
        for k in range(len(self.done)):
            part = self.done[(self._turn + k) % len(self.done)].pop_all(missing)
            parts.append(part)
            missing -= len(part)
        self._turn = (self._turn + 1) % len(self.done)
        ids = np.concatenate(parts)
        self.at_work[ids] = self._cut[ids] = False
        return ids

    def settle(self) -> None:
        """Wait for everything that is on its way, and drop it. An interrupt may have come before the last bell was rung."""
        for worker in self.crew.workers:
            worker.wake.ring()
        count = self.wait_for_all()
        lost = np.flatnonzero(self._cut)
        self.take(count)
        self.memory.restarted[lost], self.memory.truncated[lost] = True, False  # nobody was told, so their next answer tells
        self.at_work[:] = False
        self.long_infos.clear()

    def ask(self, verb: str, name: str, payloads: Sequence[Any]) -> list[list[Any]]:
        """Ask every worker something through its socket: ``call``, ``set`` or ``options``. Returns one result per environment, by worker."""
        self._serial += 1
        self._answers = {}
        self._unanswered = {worker.index for worker in self.crew.workers}
        for worker, payload in zip(self.crew.workers, payloads, strict=True):
            _deliver(worker, pickle.dumps((self._serial, verb, name, cloudpickle.dumps(payload))))
            self.memory.asked[worker.index] += 1
            worker.wake.ring()
        try:
            self._attend(lambda: self._unanswered <= self._faults.keys())
        finally:
            self._unanswered = set()
        refusals = [answer for answer in self._answers.values() if isinstance(answer, Fault)]
        if refusals:
            raise WorkerError(refusals, "its worker goes on")
        return [self._answers[worker.index] for worker in self.crew.workers]

    def info(self, env_id: int) -> bytes:
        """The pickled info of an environment that did not find room in the shared memory: sent before the environment was, so it is there or about to be."""
        worker = self.crew.workers[self.owner[env_id]]
        deadline = time.monotonic() + self.timeout
        while env_id not in self.long_infos and not self._faults and time.monotonic() < deadline:
            if worker.control.poll(LOOK_S):
                self._listen(worker)
        if env_id not in self.long_infos:
            self._note(worker, self._hung(worker))
            self._mend()
        return self.long_infos.pop(env_id)

    # ---------------------------------------------------------------- faults

    def _attend(self, finished: Callable[[], bool]) -> None:
        """Sleep until ``finished``, listening to the workers and looking after them."""
        now = time.monotonic()
        self._silent_since = [now] * len(self.done)
        try:
            while True:
                if now >= self._next_look:
                    self._look(now)
                if finished():
                    break
                for descriptor, _ in self._poller.poll(LOOK_S * 1000):
                    worker = self._by_descriptor.get(descriptor)
                    if worker is None:
                        self.crew.bell.hush()
                    else:
                        self._listen(worker)
                now = time.monotonic()
        finally:
            self.memory.target[0] = NEVER
        if self._faults:
            self._mend()

    def _listen(self, worker: Worker) -> None:
        """Take in what a worker has sent. A socket that has closed means that the worker has ended."""
        try:
            while worker.index not in self._faults and worker.control.poll():
                verb, *details = pickle.loads(worker.control.recv_bytes())  # noqa: S301
                if verb == "info":
                    self.long_infos[details[0]] = details[1]
                elif verb == "raised":
                    self._note(worker, self._raised(worker, *details))
                elif details[0] == self._serial:
                    refused = verb == "refusal"
                    self._answers[worker.index] = self._raised(worker, details[1], "was called", details[2]) if refused else pickle.loads(details[1])  # noqa: S301
                    self._unanswered.discard(worker.index)
        except (EOFError, OSError):
            self._note(worker, self._ended(worker))

    def _note(self, worker: Worker, fault: Fault) -> None:
        """Remember what went wrong in a worker, and listen to it no longer."""
        if worker.index not in self._faults:
            self._faults[worker.index] = fault
            self._poller.unregister(worker.control.fileno())
            del self._by_descriptor[worker.control.fileno()]

    def _look(self, now: float) -> None:
        """Find workers that have ended without a word, and those that are silent for too long."""
        self._next_look = now + LOOK_S
        for worker in self.crew.workers:
            k, tail = worker.index, self._tails[worker.index]
            if k in self._faults:
                continue
            if worker.has_ended():
                self._listen(worker)
                self._note(worker, self._ended(worker))
                continue
            if tail != self._seen[k]:
                self._seen[k], self._silent_since[k] = tail, now
            begun = float(self.memory.busy_since[k])
            waited_for = self.requests[k].tail != tail or k in self._unanswered
            if waited_for and (now - self._silent_since[k] > self.timeout or (begun and now - begun > self.timeout)):
                self._note(worker, self._hung(worker))

    def _working_on(self, worker: Worker) -> int | None:
        return int(self.memory.busy_env[worker.index]) if self.memory.busy_since[worker.index] else None

    def _raised(self, worker: Worker, env_id: int, doing: str, text: str) -> Fault:
        return Fault("raised", env_id, self.crew.env_ids[worker.index], f"environment {env_id} raised when it {doing}: {text.strip().splitlines()[-1]}", text)

    def _ended(self, worker: Worker) -> Fault:
        env_id = self._working_on(worker)
        ids = self.crew.env_ids[worker.index]
        where = "" if env_id is None else f" while it worked on environment {env_id}"
        return Fault("ended", env_id, ids, f"the worker of {named(ids)} {worker.ending()}{where}")

    def _hung(self, worker: Worker) -> Fault:
        env_id = self._working_on(worker)
        ids = self.crew.env_ids[worker.index]
        who = f"the worker of {named(ids)}" if env_id is None else f"environment {env_id}"
        return Fault("hung", env_id, ids, f"{who} gave no answer within {self.timeout:g} s")

    def _mend(self) -> None:
        """Replace the workers that failed, and say so."""
        faults, self._faults = self._faults, {}
        try:
            fresh = []
            for k in faults:
                failed = self.crew.workers[k]
                failed.kill()
                self._clear(k)
                fresh.append(self.crew.replace(failed))
                _deliver(fresh[-1], self.payloads[k])
            for worker in fresh:
                self._hear(worker, "made")
                self.restarts += 1
                self._admit(worker, self.reseed(worker.index, self.restarts))
            for worker in fresh:
                self._hear(worker, "ready")
        except BaseException:
            self.crew.dismiss(0.0)  # no half-mended pool
            raise
        reset = ", ".join(named(fault.env_ids) for fault in faults.values())
        raise WorkerError(list(faults.values()), f"a new worker has taken over and has reset {reset}")

    def _clear(self, k: int) -> None:
        """Make the shared memory right for a new worker: environments that were at work are finished, the others tell at their next step."""
        memory, place = self.memory, self.memory.envs_of(k)
        ids = np.arange(place.start, place.stop, dtype=np.int32)
        pending = ids[self.at_work[place]]
        stepped = pending[memory.kinds[pending] == STEP]
        if memory.finals is not None:
            memory.finals.copy_rows(place, memory.observations)  # the last that is known of the episodes that are lost
        memory.restarted[place] = self.begun[place] & ~self.at_work[place]
        memory.rewards[pending], memory.terminated[pending], memory.truncated[pending] = 0.0, False, False
        memory.info_sizes[pending] = 0
        memory.truncated[stepped] = self._cut[stepped] = True
        memory.infos[stepped, : len(RESTARTED)] = np.frombuffer(RESTARTED, np.uint8)
        memory.info_sizes[stepped] = len(RESTARTED)
        memory.busy_since[k] = 0.0
        self.requests[k].restart(pending)
        self.done[k].restart(pending)
        for env_id in ids.tolist():
            self.long_infos.pop(env_id, None)

    def _admit(self, worker: Worker, seeds: list[int | None] | None) -> None:
        """Let a worker attach to the shared memory; with ``seeds`` it resets its environments at once."""
        _deliver(worker, cloudpickle.dumps((self.layout, seeds)))
        self._poller.register(worker.control.fileno(), select.POLLIN)
        self._by_descriptor[worker.control.fileno()] = worker

    def _hear(self, worker: Worker, expected: str) -> Any:
        """The next message of a worker that is starting.

        Raises:
            WorkerError: If it does not start.
        """
        afterwards = "the pool is closed"
        ids = self.crew.env_ids[worker.index]
        try:
            if not worker.control.poll(PATIENCE_S):
                raise WorkerError([Fault("hung", None, ids, f"the worker of {named(ids)} did not start within {PATIENCE_S:g} s")], afterwards)
            verb, *details = pickle.loads(worker.control.recv_bytes())  # noqa: S301
        except (EOFError, OSError):
            raise WorkerError([Fault("ended", None, ids, f"the worker of {named(ids)} {worker.ending()} while it started")], afterwards) from None
        if verb == "raised":
            env_id, doing, text = details
            problem = f"environment {env_id} raised when it {doing}: {text.strip().splitlines()[-1]}"
            raise WorkerError([Fault("raised", env_id, ids, problem, text)], afterwards)
        assert verb == expected
        return details


def _deliver(worker: Worker, message: bytes) -> None:
    """Send bytes to a worker. One that has ended is noticed where its answer is waited for."""
    with contextlib.suppress(OSError):
        worker.control.send_bytes(message)


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the body. Handlers of the user's own, and threads other than the main one, which it never reaches, are left alone."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
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
