"""Handing environments over between processes without locks: rings of ids in shared memory, and bells that wake a sleeper.

A ring has one writer and one reader, and it is as long as there are environments that can be in it, so it never overflows.
The writer stores the ids first and the new end of the ring after them; the reader looks at the end first and at the ids after it.

Worker processes load this file without the rest of worldloom, so it imports nothing of it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

import numpy as np

NO_TARGET = 2**62
"""The target of a parent that is not waiting."""

_fence = threading.Lock()


def memory_barrier() -> None:
    """What was stored before is visible to the other process before anything is loaded after: a lock's atomic operation orders both."""
    with _fence:
        pass


def scalar_view(array: np.ndarray) -> Any:
    """``array`` for reading and writing one number at a time, which is faster so."""
    return memoryview(array)  # type: ignore[arg-type]


class SpscRing:
    """Ids on their way from one process to another.

    Args:
        slots: Shared ids, (capacity,).
        tail: Shared count of the ids ever written, (1,).
    """

    def __init__(self, slots: np.ndarray, tail: np.ndarray) -> None:
        self.slots, self.capacity = slots, len(slots)
        self._slot, self._tail = scalar_view(slots), scalar_view(tail)
        self.head: int = self._tail[0]  # ids read so far; nobody else needs to know

    @property
    def tail(self) -> int:
        """Ids ever written."""
        return int(self._tail[0])

    def push(self, index: int) -> None:
        """Hand over one id."""
        tail = self._tail[0]
        self._slot[tail % self.capacity] = index
        memory_barrier()
        self._tail[0] = tail + 1
        memory_barrier()

    def push_all(self, ids: np.ndarray) -> None:
        """Hand over several ids, (n,)."""
        tail = self._tail[0]
        self.slots[np.arange(tail, tail + len(ids)) % self.capacity] = ids
        memory_barrier()
        self._tail[0] = tail + len(ids)
        memory_barrier()

    def pop(self) -> int | None:
        """The next id, or None."""
        head = self.head
        if head == self._tail[0]:
            return None
        memory_barrier()
        self.head = head + 1
        return int(self._slot[head % self.capacity])

    def pop_all(self, limit: int) -> np.ndarray:
        """The next ids, at most ``limit``: (n,)."""
        count = min(self._tail[0] - self.head, limit)
        memory_barrier()
        ids: np.ndarray = self.slots[np.arange(self.head, self.head + count) % self.capacity]
        self.head += count
        return ids

    def reset_to(self, ids: np.ndarray) -> None:
        """Begin anew with ``ids`` in the ring. Only while the other process does not run."""
        self.slots[: len(ids)] = ids
        self._tail[0] = len(ids)
        self.head = 0


class Wakeup:
    """A pipe that wakes who waits at its other end. Rings that were not heard yet count as one.

    Args:
        reader: The end to wait at, if it is ours.
        writer: The end to ring, if it is ours.
    """

    def __init__(self, read_fd: int | None, write_fd: int | None) -> None:
        self.read_fd, self.write_fd = read_fd, write_fd
        if write_fd is not None:
            os.set_blocking(write_fd, False)

    def notify(self) -> None:
        """Wake the other side. A full pipe wakes it anyway, and one that has gone is noticed elsewhere."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self.write_fd, b"\0")  # type: ignore[arg-type]

    def wait(self) -> bool:
        """Sleep until it rings; False once every process that could ring has gone."""
        return os.read(self.read_fd, 4096) != b""  # type: ignore[arg-type]

    def drain(self) -> None:
        """Forget rings, without waiting for one."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.read_fd, 4096)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the ends that are ours."""
        for end in (self.read_fd, self.write_fd):
            if end is not None:
                with contextlib.suppress(OSError):
                    os.close(end)
        self.read_fd = self.write_fd = None
