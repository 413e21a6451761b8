"""Random minibatches of a rollout. They are drawn per row, so that they do not depend on the number of processes."""

from __future__ import annotations

import numpy as np
import torch

from worldloom.core.kernels.random import fold_seed
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.rollout.minibatch_kernels import shuffle_rows, shuffle_steps


class MinibatchShuffler:
    """Random permutations of a rollout's steps, from a counter-based random generator.

    Args:
        rows: Rows of this process.
        device: The device.
        seed: The random seed.
        first_row: Global index of the first row among all processes.
    """

    def __init__(self, rows: int, device: torch.device, seed: int, first_row: int = 0) -> None:
        self.rows, self.device, self.first_row = rows, device, first_row
        self.seed = int(fold_seed_of(seed))
        self.tick = torch.zeros(1, dtype=torch.int64, device=device)
        """Number of permutations drawn."""

    def steps(self, count: int, batches: int, offset: int = 0) -> torch.Tensor:
        """Indices of a flat (count, rows) tensor, shape (batches, count * rows / batches).

        Every row contributes equally many steps to each minibatch.
        """
        order = torch.empty((count, self.rows), dtype=torch.int64, device=self.device)
        launch(shuffle_steps, self.rows, [self.seed, self.first_row, self.tick, offset, order], self.device)
        return order.view(batches, -1)

    def whole_rows(self, batches: int, offset: int = 0) -> torch.Tensor:
        """Rows, shape (batches, rows / batches): each minibatch gets a random one of ``batches`` adjacent rows."""
        order = torch.empty((batches, self.rows // batches), dtype=torch.int64, device=self.device)
        launch(shuffle_rows, self.rows // batches, [self.seed, self.first_row, self.tick, offset, order], self.device)
        return order

    def advance(self, count: int) -> None:
        """Advance the generator past the last ``count`` permutations."""
        self.tick += count


def fold_seed_of(seed: int) -> int:
    """A seed of up to 64 bits as a 32-bit key."""
    return int(fold_seed(np.asarray(seed, dtype=np.uint64)))
