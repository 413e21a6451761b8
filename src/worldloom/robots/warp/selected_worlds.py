"""MuJoCo Warp for the worlds that begin an episode: it computes all worlds, and the others get their columns back.

The computation is the body of a conditional node of the recorded graph, which is skipped in steps without a reset. Such
a body must not allocate memory, as functions of MuJoCo Warp do: on CUDA they allocate from memory reserved beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Shard
from worldloom.robots.warp.engine_kernels import copy_selected, count_down, find_selected

ALIGNMENT = 256
"""Bytes. The memory pools of CUDA align arrays likewise."""


class Arena:
    """An allocator of arrays within one block of memory. Arrays of different :meth:`scope` blocks share the memory.

    Args:
        device: The CUDA device.
    """

    def __init__(self, device: wp.Device) -> None:
        self.device = device
        self._block: wp.array | None = None
        self._used = 0
        self._measured: list[wp.array] = []

    def allocate(self, size_in_bytes: int) -> int:
        """The address of ``size_in_bytes`` bytes."""
        size = -(-size_in_bytes // ALIGNMENT) * ALIGNMENT
        address, self._used = self._used, self._used + size
        if self._block is None:
            with wp.ScopedAllocator(self.device, None):
                self._measured.append(wp.empty(size, dtype=wp.uint8, device=self.device))
            return int(self._measured[-1].ptr)
        if self._used > self._block.size:
            raise RuntimeError(f"the reserved {self._block.size} bytes are too few: {self._used} are in use")
        return int(self._block.ptr) + address

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Nothing: the memory is reused by the next scope."""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Allocate the arrays of the block here."""
        self._used = 0
        with wp.ScopedAllocator(self.device, self):
            yield

    def reserve(self, run: Callable[[], None]) -> None:
        """Reserve the memory that ``run`` allocates, by running it once."""
        with self.scope():
            run()
        wp.synchronize_device(self.device)
        self._measured.clear()
        self._block = wp.empty(self._used, dtype=wp.uint8, device=self.device)


class SelectedWorlds:
    """Runs MuJoCo Warp for the worlds that a shard selects.

    Args:
        columns: The columns that MuJoCo Warp writes, as rows of numbers, shape (num_worlds, numbers).
        device: The device.
        run: What allocates the most of all functions that will run; it is run once on CUDA.
    """

    def __init__(self, columns: Sequence[wp.array], device: wp.Device, run: Callable[[], None]) -> None:
        if device.is_cuda and not wp.is_conditional_graph_supported():
            raise InputError("resets of this world need a driver with CUDA 12.4 or newer: update the driver")
        self.columns = [(column, wp.empty_like(column)) for column in columns]
        self.condition = wp.zeros(1, dtype=wp.int32, device=device)
        self.count = wp.zeros(1, dtype=wp.int32, device=device)
        self.arena: Arena | None = None
        if device.is_cuda:
            self.arena = Arena(device)
            self.arena.reserve(run)

    def run(self, shard: Shard, body: Callable[[], None]) -> None:
        """Record ``body``, which runs if any world is selected. The other worlds keep their columns."""
        self.condition.zero_()
        inputs = [shard.mask, shard.value]
        wp.launch(find_selected, dim=shard.count, inputs=inputs, outputs=[self.condition], record_tape=False)
        wp.capture_if(self.condition, on_true=lambda: self._preserve(shard, body))

    def _preserve(self, shard: Shard, body: Callable[[], None]) -> None:
        for column, saved in self.columns:
            wp.copy(saved, column)
        body()
        if shard.mask is None:
            return
        for column, saved in self.columns:
            inputs = [shard.mask, not shard.value, saved]
            wp.launch(copy_selected, dim=column.shape, inputs=inputs, outputs=[column], record_tape=False)

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Allocate the arrays of the block, one call of MuJoCo Warp, from the reserved memory."""
        if self.arena is None:
            yield
        else:
            with self.arena.scope():
                yield

    def repeat(self, times: int, body: Callable[[], None]) -> None:
        """Record a loop that runs ``body`` ``times`` times."""

        def run() -> None:
            body()
            wp.launch(count_down, dim=1, inputs=[self.count], record_tape=False)

        self.count.fill_(times)
        wp.capture_while(self.count, while_body=run)
