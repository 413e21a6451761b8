"""Prioritized replay: sampling in proportion to the TD error, with importance-sampling weights.

The proportional variant of Schaul et al. (2016). Entry i of the replay buffer has the priority
p_i = (|td_i| + epsilon)^alpha and is drawn with probability P(i) = p_i / sum(p). Its loss is weighted by
(P(i) * size)^-beta, divided by the largest weight of the batch. Entries without a valid step have priority 0.

Priorities are one flat tensor. A draw sums it in blocks of 128; one thread per sample searches the cumulative sums,
then its block. It reads every priority once, which for a million entries is cheaper than updating a sum tree.
"""

from __future__ import annotations

import numpy as np
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import fold_seed
from worldloom.learn.device.device_numbers import Number
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.rollout.priority_kernels import draw_by_priority

BLOCK = 128
"""Entries that are summed together."""


class ReplayPriorities:
    """Priorities of the entries of a replay buffer.

    Args:
        steps: Steps per row.
        rows: Number of rows. The index of a step of a row is ``step * rows + row``.
        device: The device.
        alpha: Priority exponent: 0 for uniform sampling, 1 for sampling proportional to the TD error.
        beta: Initial importance-sampling exponent, see :meth:`anneal`.
        epsilon: Added to every TD error, so that every entry keeps a positive probability.
        seed: The random seed. Processes that train together need different ones.
    """

    def __init__(
        self,
        steps: int,
        rows: int,
        device: torch.device,
        *,
        alpha: float = 0.6,
        beta: float = 0.4,
        epsilon: float = 1e-6,
        seed: int = 0,
    ) -> None:
        if steps < 1 or rows < 1:
            raise InputError(f"priorities need at least one step of one row, not {steps} of {rows}")
        if not (alpha >= 0.0 and 0.0 <= beta <= 1.0 and epsilon > 0.0):
            raise InputError(
                f"priorities need alpha >= 0, 0 <= beta <= 1 and epsilon > 0, not {alpha}, {beta} and {epsilon}"
            )
        self.steps, self.rows, self.epsilon, self.first_beta = steps, rows, epsilon, beta
        self.alpha: Number = alpha
        """Priority exponent; a tensor [] on the device where it changes during training."""
        self.seed = int(fold_seed(np.asarray(seed, dtype=np.uint64)))
        self.blocks = torch.zeros((-(-steps * rows // BLOCK), BLOCK), dtype=torch.float32, device=device)
        """p_i of every entry, in blocks; the last block is padded with zeros."""
        self.values = self.blocks.view(-1)[: steps * rows].view(steps, rows)
        """The same by step and row; a view."""
        self.greatest = torch.ones(1, dtype=torch.float32, device=device)
        """The largest p_i so far, which is the initial priority of new steps."""
        self.beta = torch.full((1,), beta, dtype=torch.float32, device=device)
        """The current importance-sampling exponent."""
        self.tick = torch.zeros(1, dtype=torch.int64, device=device)
        """Number of batches drawn."""

    def anneal(self, progress: torch.Tensor) -> None:
        """Anneal beta linearly to 1. ``progress`` is on the device: 0 at the start of the training, 1 at its end."""
        self.beta.copy_(self.first_beta + (1.0 - self.first_beta) * progress.clamp(0.0, 1.0))

    def sample(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw ``batch`` entries by stratified sampling: one from each of ``batch`` equal parts of the total priority.

        Returns:
            The indices, int64 [batch], and their weights, float32 [batch]: at most 1, and 0 where there was nothing to
            draw.
        """
        device = self.blocks.device
        running = self.blocks.sum(dim=1).cumsum(dim=0, dtype=torch.float64)
        indices = torch.empty(batch, dtype=torch.int64, device=device)
        drawn = torch.empty(batch, dtype=torch.float32, device=device)
        launch(draw_by_priority, batch, (self.blocks, running, self.seed, self.tick, indices, drawn), device)
        self.tick += 1
        # (P(i) * size)^-beta over its maximum: the sum of all priorities and the size cancel out.
        empty = drawn <= 0.0
        minimum = drawn.masked_fill(empty, torch.inf).amin()
        weights = ((minimum / drawn) ** self.beta).masked_fill(empty, 0.0)
        return indices, weights

    def update(self, indices: torch.Tensor, td_errors: torch.Tensor) -> None:
        """Update priorities from TD errors; of duplicate indices the larger one counts.

        Args:
            indices: Indices, int64 [B], from :meth:`sample`. Entries without a valid step stay at 0.
            td_errors: TD errors of any sign, [B].
        """
        values = self.values.view(-1)
        priorities = (td_errors.detach().float().abs() + self.epsilon) ** self.alpha
        priorities = priorities.masked_fill(values.index_select(0, indices) <= 0.0, 0.0)
        # Unlike a plain write, the maximum does not depend on the order of the threads.
        values.scatter_reduce_(0, indices, priorities, "amax", include_self=False)
        torch.maximum(self.greatest, priorities.amax(), out=self.greatest)

    def enable(self, step: torch.Tensor, counts: torch.Tensor) -> None:
        """Enable a step for sampling, with the largest priority so far in its valid rows.

        Args:
            step: The step, int64 [1].
            counts: Whether each row has a valid step there, bool [1, N].
        """
        self.values.index_copy_(0, step, self.greatest * counts)

    def disable(self, step: torch.Tensor) -> None:
        """Disable a step, int64 [1], for sampling in all rows."""
        self.values.index_fill_(0, step, 0.0)

    def clear_padding(self) -> None:
        """Zero the padding of the last block, which must never be drawn."""
        self.blocks.view(-1)[self.steps * self.rows :] = 0.0

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state, by name, for checkpoints."""
        return {"priorities": self.blocks, "greatest": self.greatest, "beta": self.beta, "tick": self.tick}
