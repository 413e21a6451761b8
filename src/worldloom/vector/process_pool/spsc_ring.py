"""Single-producer single-consumer rings of environment ids in shared memory, without locks.

The capacity of a ring is the number of environments that can be in it, so it never overflows. The producer stores the
ids before it advances the tail; the consumer reads the tail before the ids.

Worker processes load this file without the rest of worldloom, so it imports nothing of it.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

NO_TARGET = 2**62
"""The wake-up target of a parent that is not waiting."""

_fence = threading.Lock()


def memory_barrier() -> None:
    """Order earlier stores before later loads, as seen by the other process: a lock's atomic operation does so."""
    with _fence:
        pass


def scalar_view(array: np.ndarray) -> Any:
    """A memoryview of ``array``, which reads and writes single numbers faster."""
    return memoryview(array)  # type: ignore[arg-type]


class SpscRing:
    """A queue of ids from one process to another.

    Args:
        slots: Shared ids, (capacity,).
        tail: Shared number of ids written so far, (1,).
    """

    def __init__(self, slots: np.ndarray, tail: np.ndarray) -> None:
        self.slots, self.capacity = slots, len(slots)
        self._slot, self._tail = scalar_view(slots), scalar_view(tail)
        self.head: int = self._tail[0]  # ids read so far; private to the consumer

    @property
    def tail(self) -> int:
        """Number of ids written so far."""
        return int(self._tail[0])

    def push(self, index: int) -> None:
        """Append one id."""
        tail = self._tail[0]
        self._slot[tail % self.capacity] = index
        memory_barrier()
        self._tail[0] = tail + 1
        memory_barrier()

    def push_all(self, ids: np.ndarray) -> None:
        """Append several ids, (n,)."""
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

    def contents(self) -> np.ndarray:
        """The ids that have not been read, (n,), without reading them."""
        ids: np.ndarray = self.slots[np.arange(self.head, self._tail[0]) % self.capacity]
        return ids

    def reset_to(self, ids: np.ndarray) -> None:
        """Empty the ring and fill it with ``ids``. Only while the other process is not running."""
        self.slots[: len(ids)] = ids
        self._tail[0] = len(ids)
        self.head = 0
