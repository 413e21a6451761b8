"""What is known of one kernel beside its text: its columns, its threads, and why it is one of its own."""

from __future__ import annotations

from dataclasses import dataclass

import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import ColumnKey


def block_dim(device: wp.Device) -> int:
    """Threads per block. 128 was the fastest for CartPole on an H200, and it is what the kernels are compiled for."""
    return 128 if device.is_cuda else 1


@dataclass(frozen=True)
class KernelSpec:
    """One kernel: its name, its threads per world, and the columns it takes, in order.

    Attributes:
        labels: The systems it runs, in order.
        bytes_read, bytes_written: Bytes of columns per world and launch, masked parts left out.
        loads, stores: The columns that these bytes are of.
        reason: Why one of its systems did not join an earlier kernel.
        whole_block: Whether on CUDA a block of threads shares a world, whatever its size.
        threads: Threads that share one row; more than a warp of them are a block.
        total: Threads in all, where they are not counted by worlds.
        whole_warps: Whether its last threads have nothing to do but to make up a warp, whose threads count together.
        begins: Whether it is the first kernel of its part of the schedule: a settlement may take several.
        whose: The system that ``reason`` is about.
        stages: What its threads run one after the other, waiting for each other in between, where it is several kernels in one.
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

    @property
    def parts(self) -> tuple[KernelSpec, ...]:
        """Its stages, or itself."""
        return self.stages or (self,)

    @property
    def is_block(self) -> bool:
        """Whether the threads of one row are a block, whose size is then no matter of taste."""
        return self.threads > WARP_SIZE

    def block_dim(self, device: wp.Device) -> int:
        """Threads per block for this kernel, where nobody has tuned it."""
        return self.threads if self.is_block else block_dim(device)

    def active_threads(self, num_worlds: int, block: int | None = None) -> int:
        """How many threads have something to do, in blocks of ``block`` on CUDA."""
        if self.total is not None:
            return self.total
        return num_worlds * (block if self.whole_block and block is not None else self.rows)

    def launch_size(self, num_worlds: int, block: int | None = None) -> int:
        """How many threads CUDA starts."""
        threads = self.active_threads(num_worlds, block)
        return -(-threads // WARP_SIZE) * WARP_SIZE if self.whole_warps else threads
