"""Descriptions of kernels: their columns, their threads, and why they were not fused with another."""

from __future__ import annotations

from dataclasses import dataclass

import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import ColumnKey


def block_dim(device: wp.Device) -> int:
    """Threads per block that kernels are compiled for. 128 was the fastest for CartPole on an H200."""
    return 128 if device.is_cuda else 1


LIST_THREADS = 2**17
"""Threads of a kernel that works through a list, at most; each takes several rows of a longer one."""
LONG_LIST_THREADS = 2**16
"""The same of a long system, of whose threads a GPU holds fewer: an H200 holds 67,584 with 128 registers each."""
WORLD_LIST_THREADS = 2**16
"""Threads of a kernel that works through a list of worlds, at most: enough for a GPU where all worlds are listed."""


@dataclass(frozen=True)
class KernelSpec:
    """One kernel: its name, its threads per world, and the columns it takes, in order.

    Attributes:
        labels: The systems it runs, in order.
        bytes_read, bytes_written: Bytes of columns per world and launch, without masked parts.
        loads, stores: The columns that these bytes belong to.
        reason: Why one of its systems was not fused into an earlier kernel.
        whole_block: Whether on CUDA a block of any size shares a world.
        threads: Threads that share one row; more than a warp of them are a block.
        total: Threads in total, where they are not per world.
        whole_warps: Whether the number of threads is rounded up to whole warps, whose threads cooperate.
        first_of_entry: Whether it is the first kernel of its entry of the schedule: a compaction may have several.
        whose: The system that ``reason`` is about.
        coalesced: The columns whose rows the threads of a block collect in shared memory and store together.
        block: Threads per block where their shared memory limits them; None otherwise.
        row_list: The number of the list whose rows it works through; None for all rows of the worlds.
        long: Whether it works through a list with a long system, which changes other entities.
        world_list: Whether it works through a list of worlds instead of all worlds.
        beside: Whether it runs at the same time as all later entries of the step that are not beside others.
        stages: The distinct stages of a kernel that joins several, which its threads run with barriers in between: in
            order, or in a longer sequence where the kernel is tiled.
        tile: Worlds that a block of a tiled kernel takes through its stages; 0 for other kernels.
        sequence: Number of stages in the sequence of a tiled kernel.
        shared_bytes: Dynamic shared memory of a block.
        shared_columns: The columns of which it keeps rows in shared memory.
    """

    name: str
    rows: int
    columns: tuple[ColumnKey, ...]
    takes_errors: bool
    takes_alarm: bool
    labels: tuple[str, ...]
    bytes_read: int
    bytes_written: int
    loads: tuple[ColumnKey, ...]
    stores: tuple[ColumnKey, ...]
    reason: str
    whole_block: bool = False
    threads: int = 1
    total: int | None = None
    whole_warps: bool = False
    first_of_entry: bool = True
    stages: tuple[KernelSpec, ...] = ()
    whose: str = ""
    coalesced: tuple[ColumnKey, ...] = ()
    block: int | None = None
    row_list: int | None = None
    long: bool = False
    world_list: bool = False
    beside: bool = False
    tile: int = 0
    shared_bytes: int = 0
    sequence: int = 0
    shared_columns: tuple[ColumnKey, ...] = ()

    @property
    def parts(self) -> tuple[KernelSpec, ...]:
        """Its stages, or itself."""
        return self.stages or (self,)

    @property
    def is_block(self) -> bool:
        """Whether the threads of one row are a block, which fixes the size of blocks."""
        return self.threads > WARP_SIZE

    @property
    def has_free_block(self) -> bool:
        """Whether the size of blocks can be tuned."""
        return not self.is_block and self.block is None

    def block_dim(self, device: wp.Device) -> int:
        """Threads per block of this kernel without tuning."""
        return self.threads if self.is_block else self.block or block_dim(device)

    def active_threads(self, num_worlds: int, block: int | None = None) -> int:
        """The number of threads with work, in blocks of ``block`` on CUDA."""
        if self.total is not None:
            return self.total
        if self.tile and self.block is not None:
            return -(-num_worlds // self.tile) * self.block
        if self.row_list is not None:
            return min(num_worlds * self.rows, LONG_LIST_THREADS if self.long else LIST_THREADS)
        if self.world_list:
            return min(num_worlds * self.rows, max(WORLD_LIST_THREADS // self.threads, 1) * self.threads)
        return num_worlds * (block if self.whole_block and block is not None else self.rows)

    def rows_argument(self, num_worlds: int, block: int | None = None) -> int:
        """The value of the parameter ``rows``: the number of worlds of a tiled kernel, else of threads with work."""
        return num_worlds if self.tile else self.active_threads(num_worlds, block)

    def launch_size(self, num_worlds: int, block: int | None = None) -> int:
        """The number of threads that CUDA starts."""
        threads = self.active_threads(num_worlds, block)
        return -(-threads // WARP_SIZE) * WARP_SIZE if self.whole_warps else threads
