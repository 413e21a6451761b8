"""Starting worker processes, and making sure that none is left behind.

A worker is a fresh interpreter, neither forked nor spawned by multiprocessing: nothing of the parent's threads, locks or GPU gets into it, and
the user's main program is not run a second time. It leaves when its pipe to the parent closes, so it does not survive the parent, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from worldloom.core.base.errors import WorldloomError
from worldloom.vector.process_pool.shared_memory import create_anonymous_memory
from worldloom.vector.process_pool.spsc_ring import Wakeup

CLOSE_TIMEOUT_S = 2.0
"""How long workers may take to close their environments before they are killed."""
CONTROL_TIMEOUT_S = 120.0
"""How long a worker may take to make its environments, or to take in a message that it can neither do without nor answer."""
EXIT_TIMEOUT_S = 1.0
"""How long a worker may take to end after it has closed its socket."""

# The files of a worker are loaded under a package name of their own, so that the top of worldloom, and Warp with it, is not imported.
_START = """
import importlib, json, sys, types
folder, path, *numbers = sys.argv[1:]
sys.path[:] = json.loads(path)
package = sys.modules["worldloom_worker"] = types.ModuleType("worldloom_worker")
package.__path__ = [folder]
importlib.import_module("worldloom_worker.worker_process").main(*map(int, numbers))
"""


@dataclass(frozen=True)
class Fault:
    """What went wrong in one worker.

    Attributes:
        reason: ``raised``, ``ended`` (killed, or left by itself) or ``hung``.
        env_id: The environment that it worked on; None if it did not work on any.
        env_ids: All environments of that worker, which were reset.
        problem: One sentence.
        traceback: The worker's traceback, or an empty text.
    """

    reason: str
    env_id: int | None
    env_ids: tuple[int, ...]
    problem: str
    traceback: str = ""

    def __str__(self) -> str:
        return self.problem + (f"\n\n{self.traceback.rstrip()}" if self.traceback else "")


class WorkerError(WorldloomError):
    """A worker of a pool raised, ended or hung.

    Attributes:
        faults: What went wrong, one per worker.
        env_id: The environment at fault in the first of them, if any.
    """

    def __init__(self, faults: Sequence[Fault], afterwards: str) -> None:
        self.faults = tuple(faults)
        self.env_id = self.faults[0].env_id
        first, *others = self.faults
        super().__init__(
            "\n".join(
                [
                    f"{first.problem}; {afterwards}",
                    *([f"\n{first.traceback.rstrip()}"] if first.traceback else []),
                    *map(str, others),
                ]
            )
        )


def describe_envs(env_ids: Sequence[int]) -> str:
    """Neighbouring environments, in words."""
    return f"environment {env_ids[0]}" if len(env_ids) == 1 else f"environments {env_ids[0]} to {env_ids[-1]}"


class WorkerHandle:
    """One worker process as the parent sees it.

    Args:
        index: Its number.
        memory: The file descriptor of the shared memory.
        bell: The bell that wakes the parent.
    """

    def __init__(self, index: int, memory: int, parent_wakeup: Wakeup) -> None:
        self.index = index
        ours, theirs = socket.socketpair()
        for direction in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, direction, struct.pack("ll", int(CONTROL_TIMEOUT_S), 0))
        read_fd, write_fd = os.pipe()
        try:
            self.control, self.worker_wakeup = Connection(ours.detach()), Wakeup(None, write_fd)
            numbers = [str(n) for n in (index, theirs.fileno(), memory, read_fd, parent_wakeup.write_fd)]
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(Path(__file__).parent), json.dumps(sys.path), *numbers],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), memory, read_fd, parent_wakeup.write_fd),  # type: ignore[arg-type]
                start_new_session=True,  # Ctrl-C is for the parent, and what an environment starts can be ended with its worker
            )
        finally:
            theirs.close()
            os.close(read_fd)

    def disconnect(self) -> None:
        """Close our ends: the worker closes its environments and leaves."""
        self.worker_wakeup.close()
        self.control.close()

    def kill(self) -> None:
        """End it and all that was started from it, at once."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def has_exited(self) -> bool:
        """Whether the process is over. It stays unreaped where that is possible, so that its number is still its own when its group is killed."""
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        return (
            self.process.returncode is not None
            or os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        )

    def describe_exit(self) -> str:
        """How it ended, in words. Called when its socket has closed; if it lingers it is killed, with all that was started from it."""
        deadline = time.monotonic() + EXIT_TIMEOUT_S
        while not self.has_exited() and time.monotonic() < deadline:
            time.sleep(0.002)
        self.kill()
        code = self.process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"left with exit code {code}"


class WorkerSet:
    """All workers of a pool, their memory and the bell that they ring. It knows nothing of the pool, so that it can end after it.

    Args:
        env_ids: The environments of every worker.
    """

    def __init__(self, env_ids: Sequence[tuple[int, ...]]) -> None:
        self.owner_pid, self.env_ids = os.getpid(), list(env_ids)
        self.memory = create_anonymous_memory()
        self.parent_wakeup = Wakeup(*os.pipe())
        os.set_blocking(self.parent_wakeup.read_fd, False)  # type: ignore[arg-type]
        self.workers: list[WorkerHandle] = []
        _OPEN_WORKER_SETS.add(self)
        try:
            for index in range(len(env_ids)):
                self.workers.append(WorkerHandle(index, self.memory, self.parent_wakeup))
        except BaseException:
            self.shut_down(0.0)
            raise

    def replace(self, worker: WorkerHandle) -> WorkerHandle:
        """A new process in the place of one that has ended."""
        worker.disconnect()
        fresh = WorkerHandle(worker.index, self.memory, self.parent_wakeup)
        self.workers[worker.index] = fresh
        return fresh

    def shut_down(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """End all workers: in order if they leave within ``timeout`` seconds, by force if not. Nothing stays behind."""
        if self.owner_pid != os.getpid():
            return
        for worker in self.workers:
            worker.disconnect()
        deadline = time.monotonic() + timeout
        for worker in self.workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(deadline - time.monotonic(), 0.0))
        for worker in self.workers:
            worker.kill()
        self._close()
        self.workers = []

    def close_inherited(self) -> None:
        """Close what a fork has copied: the workers are the parent's alone."""
        for worker in self.workers:
            worker.disconnect()
        self._close()

    def _close(self) -> None:
        self.parent_wakeup.close()
        if self.memory >= 0:
            os.close(self.memory)
            self.memory = -1
        _OPEN_WORKER_SETS.discard(self)


_OPEN_WORKER_SETS: weakref.WeakSet[WorkerSet] = weakref.WeakSet()


def _close_all_inherited() -> None:
    for worker_set in list(_OPEN_WORKER_SETS):
        worker_set.close_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_inherited)
