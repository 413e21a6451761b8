"""Minibatches: which steps of which rows go together. Drawn per row, so that it does not depend on how rows are shared by processes."""

from __future__ import annotations

import torch
import warp as wp

from worldloom.core.kernels.random import bits, fold_seed
from worldloom.learn.device.warp_launch import launch

_STREAM = wp.constant(0x5EED)


@wp.kernel(enable_backward=False)
def _shuffle_steps(
    seed: wp.uint32, first_row: int, tick: wp.array(dtype=wp.int64), offset: int, order: wp.array2d(dtype=wp.int64)
):
    """Row: a random order of its steps, as places in a flat (steps, rows) tensor."""
    row = wp.tid()
    steps = order.shape[0]
    rows = order.shape[1]
    now = wp.int32(tick[0]) + offset
    for t in range(steps):
        order[t, row] = wp.int64(t) * wp.int64(rows) + wp.int64(row)
    for t in range(steps - 1):
        word = bits(seed, first_row + row, now, 0, _STREAM, t)
        other = t + wp.int32(word % wp.uint32(steps - t))
        held = order[t, row]
        order[t, row] = order[other, row]
        order[other, row] = held


@wp.kernel(enable_backward=False)
def _shuffle_rows(
    seed: wp.uint32, first_row: int, tick: wp.array(dtype=wp.int64), offset: int, order: wp.array2d(dtype=wp.int64)
):
    """Block of as many neighbouring rows as there are minibatches: each gets one of them."""
    block = wp.tid()
    batches = order.shape[0]
    first = block * batches
    now = wp.int32(tick[0]) + offset
    for m in range(batches):
        order[m, block] = wp.int64(first + m)
    for m in range(batches - 1):
        word = bits(seed, first_row + first, now, 1, _STREAM, m)
        other = m + wp.int32(word % wp.uint32(batches - m))
        held = order[m, block]
        order[m, block] = order[other, block]
        order[other, block] = held


class MinibatchShuffler:
    """Random orders of a roll-out's steps, drawn from counters.

    Args:
        rows: Of this process.
        device: Where the orders are needed.
        seed: Where the random numbers start.
        first_row: The number of the first row among those of all processes.
    """

    def __init__(self, rows: int, device: torch.device, seed: int, first_row: int = 0) -> None:
        self.rows, self.device, self.first_row = rows, device, first_row
        self.seed = int(fold_seed_of(seed))
        self.tick = torch.zeros(1, dtype=torch.int64, device=device)
        """How many orders were drawn."""

    def steps(self, count: int, batches: int, offset: int = 0) -> torch.Tensor:
        """Places of a flat (count, rows) tensor, shape (batches, count * rows / batches): every row gives as many steps to each minibatch."""
        order = torch.empty((count, self.rows), dtype=torch.int64, device=self.device)
        launch(_shuffle_steps, self.rows, [self.seed, self.first_row, self.tick, offset, order], self.device)
        return order.view(batches, -1)

    def whole_rows(self, batches: int, offset: int = 0) -> torch.Tensor:
        """Rows, shape (batches, rows / batches): of every ``batches`` neighbours each minibatch gets one, at random."""
        order = torch.empty((batches, self.rows // batches), dtype=torch.int64, device=self.device)
        launch(_shuffle_rows, self.rows // batches, [self.seed, self.first_row, self.tick, offset, order], self.device)
        return order

    def advance(self, count: int) -> None:
        """Have further orders differ from the last ``count``."""
        self.tick += count


def fold_seed_of(seed: int) -> int:
    """A seed of up to 64 bits as the 32 bits of a key."""
    import numpy as np

    return int(fold_seed(np.asarray(seed, dtype=np.uint64)))
