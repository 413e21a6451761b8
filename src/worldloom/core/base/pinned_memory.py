"""Page-locked host memory, to which a GPU copies several times as fast as to other memory of the host.

Locking pages takes longer than the copy, so the memory of an array is used again when the array and its views are gone.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict

import warp as wp

MIN_BYTES = 1 << 18
"""Arrays with fewer bytes are copied to ordinary memory: for them the launch of the copy takes longest."""
MAX_BYTES = 1 << 30
"""Bytes that stay locked at most. Clients that keep more arrays than that get ordinary memory for the further ones."""


class PinnedMemory:
    """Blocks of memory for arrays, of which a block serves one array at a time.

    Args:
        max_bytes: The sum of the sizes of all blocks.
        pinned: Whether the memory is page-locked, which needs a CUDA driver.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, pinned: bool = True) -> None:
        self._max_bytes, self._pinned = max_bytes, pinned
        self._num_bytes = 0
        self._free: defaultdict[int, list[wp.array]] = defaultdict(list)
        """Blocks without an array, by their size."""
        self._lock = threading.RLock()  # an array may be freed while this thread has the lock

    def empty_like(self, array: wp.array) -> wp.array | None:
        """A host array of the type and shape of a contiguous ``array``; None where it would exceed ``max_bytes``."""
        block = self._take(array.size * wp.types.type_size_in_bytes(array.dtype))
        if block is None:
            return None
        copy = wp.array(ptr=block.ptr, dtype=array.dtype, shape=array.shape, device="cpu", pinned=self._pinned)
        weakref.finalize(copy, self._give_back, block).atexit = False
        return copy

    def _take(self, size: int) -> wp.array | None:
        with self._lock:
            if self._free[size]:
                wp.synchronize()  # work on any stream may still read what was in the block
                return self._free[size].pop()
            if self._num_bytes + size > self._max_bytes:
                unused, self._free = self._free, defaultdict(list)
                self._num_bytes -= sum(length * len(blocks) for length, blocks in unused.items())
            if self._num_bytes + size > self._max_bytes:
                return None
            try:
                block = wp.empty(size, dtype=wp.uint8, device="cpu", pinned=self._pinned)
            except RuntimeError:  # the system does not lock so much memory
                return None
            self._num_bytes += size
            return block

    def _give_back(self, block: wp.array) -> None:
        with self._lock:
            self._free[block.size].append(block)


PINNED_MEMORY = PinnedMemory()
"""The page-locked memory of this process."""
