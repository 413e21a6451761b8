"""Start and end worker processes.

A worker is a new interpreter, neither forked nor spawned by multiprocessing: it inherits no threads, locks or GPU
state, and does not run the user's main program again. It exits when its pipe to the parent closes, so it never outlives
the parent.
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
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from worldloom.core.base.errors import InputError
from worldloom.vector.process_pool.shared_memory import create_anonymous_memory
from worldloom.vector.process_pool.wakeup import Wakeup

CLOSE_TIMEOUT_S = 2.0
"""Time limit for closing environments, after which workers are killed."""
CONTROL_TIMEOUT_S = 120.0
"""Time limit for sending or receiving a message."""
EXIT_TIMEOUT_S = 1.0
"""Time limit for the exit of a worker that has closed its socket."""

# A worker loads its files under a separate package name, so that it does not import worldloom, and Warp with it.
_START = """
import importlib, json, sys, types
folder, path, *numbers = sys.argv[1:]
sys.path[:] = json.loads(path)
package = sys.modules["worldloom_worker"] = types.ModuleType("worldloom_worker")
package.__path__ = [folder]
importlib.import_module("worldloom_worker.worker_process").main(*map(int, numbers))
"""


class WorkerHandle:
    """The parent's handle of one worker process.

    Args:
        index: The worker's number.
        memory: The file descriptor of the shared memory.
        parent_wakeup: Wakes the parent.
    """

    def __init__(self, index: int, memory: int, parent_wakeup: Wakeup) -> None:
        self.index = index
        parent_end, child_end = socket.socketpair()
        for direction in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            parent_end.setsockopt(socket.SOL_SOCKET, direction, struct.pack("ll", int(CONTROL_TIMEOUT_S), 0))
        read_fd, write_fd = os.pipe()
        try:
            self.control, self.worker_wakeup = Connection(parent_end.detach()), Wakeup(None, write_fd)
            numbers = [str(n) for n in (index, child_end.fileno(), memory, read_fd, parent_wakeup.write_fd)]
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START, str(Path(__file__).parent), json.dumps(sys.path), *numbers],
                stdin=subprocess.DEVNULL,
                pass_fds=(child_end.fileno(), memory, read_fd, parent_wakeup.write_fd),  # type: ignore[arg-type]
                start_new_session=True,  # no Ctrl-C for the worker, and a process group that can be killed
            )
        except BaseException:
            self.disconnect()
            raise
        finally:
            child_end.close()
            os.close(read_fd)

    def disconnect(self) -> None:
        """Close the parent's ends; the worker then closes its environments and exits."""
        self.worker_wakeup.close()
        self.control.close()

    def kill(self) -> None:
        """Kill the worker and every process that it started."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def has_exited(self) -> bool:
        """Whether the process has exited; it is not reaped if possible, so that killing its group hits no other."""
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        return (
            self.process.returncode is not None
            or os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        )

    def describe_exit(self) -> str:
        """How the process exited, in words. Call it once its socket has closed; after a time limit it is killed."""
        deadline = time.monotonic() + EXIT_TIMEOUT_S
        while not self.has_exited() and time.monotonic() < deadline:
            time.sleep(0.002)
        self.kill()
        code = self.process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"


@contextlib.contextmanager
def explain_limits(num_workers: int) -> Iterator[None]:
    """Raise InputError where the operating system refuses file descriptors or processes."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"the operating system refuses what {num_workers} worker processes need: {error.strerror}; "
            f"pass fewer num_workers, or raise the limit of open files (ulimit -n, about {2 * num_workers + 64} here) "
            "or of processes (ulimit -u)"
        ) from None


class WorkerSet:
    """All workers of a pool, their shared memory and the parent's wake-up. Has no reference to the pool.

    Args:
        env_ids: The environments of every worker.
    """

    def __init__(self, env_ids: Sequence[tuple[int, ...]]) -> None:
        self.owner_pid, self.env_ids = os.getpid(), list(env_ids)
        self.workers: list[WorkerHandle] = []
        with explain_limits(len(env_ids)):
            self.memory = create_anonymous_memory()
            self.parent_wakeup = Wakeup(*os.pipe())
        os.set_blocking(self.parent_wakeup.read_fd, False)  # type: ignore[arg-type]
        _OPEN_WORKER_SETS.add(self)
        try:
            with explain_limits(len(env_ids)):
                for index in range(len(env_ids)):
                    self.workers.append(WorkerHandle(index, self.memory, self.parent_wakeup))
        except BaseException:
            self.shut_down(0.0)
            raise

    def replace(self, worker: WorkerHandle) -> WorkerHandle:
        """Start a new process in place of one that has exited."""
        worker.disconnect()
        with explain_limits(len(self.workers)):
            fresh = WorkerHandle(worker.index, self.memory, self.parent_wakeup)
        self.workers[worker.index] = fresh
        return fresh

    def shut_down(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Close all workers; those that do not exit within ``timeout`` seconds are killed."""
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
        """Close what a forked child has inherited: the workers belong to the parent."""
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
