"""Prioritised replay: steps drawn in proportion to how much they surprised, and the weights that correct for it.

The proportional variant of Schaul et al. (2016). A place i of the replay has the priority p_i = (|td_i| + epsilon)^alpha and is
drawn with the probability P(i) = p_i / sum(p); its loss is then weighed by (P(i) * size)^-beta, divided by the greatest of these
weights in the batch. Places without a step to train on have priority 0.

Priorities lie in one flat tensor. A draw sums it in blocks of 128 and lets a thread per drawn place search the running sums,
then its block: it reads every priority once, which at a million places is cheaper than keeping a tree up to date.
"""

from __future__ import annotations

import numpy as np
import torch
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import bits, fold_seed
from worldloom.learn.device.warp_launch import launch

BLOCK = 128
"""Places that are summed together."""

_STREAM = wp.constant(wp.int32(0x7052696F))
_SCALE = wp.constant(wp.float64(2.0**-32))


@wp.kernel(enable_backward=False)
def _draw(
    priorities: wp.array2d(dtype=wp.float32),
    running: wp.array(dtype=wp.float64),
    seed: wp.uint32,
    tick: wp.array(dtype=wp.int64),
    indices: wp.array(dtype=wp.int64),
    drawn: wp.array(dtype=wp.float32),
) -> None:
    """Draw one place from the sample's own stratum: the sample's share of the sum of all priorities."""
    sample = wp.tid()
    blocks = running.shape[0]
    now = tick[0]
    # In place of an episode, which worlds count up from 0, stands a number counted down from -1: the two never meet.
    word = bits(seed, sample, wp.int32(~(now >> wp.int64(32))), wp.int32(now), _STREAM, 0)
    share = (wp.float64(sample) + wp.float64(word) * _SCALE) / wp.float64(indices.shape[0])
    target = share * running[blocks - 1]

    block, last = wp.int32(0), blocks - 1
    while block < last:
        middle = (block + last) // 2
        if running[middle] > target:
            last = middle
        else:
            block = middle + 1

    # The walk adds in another order than the block's sum, so it may run past the end: then the last place that counts is taken.
    left = target
    if block > 0:
        left = target - running[block - 1]
    place, priority = wp.int32(0), wp.float32(0.0)
    for k in range(priorities.shape[1]):
        p = priorities[block, k]
        if p > 0.0 and left >= wp.float64(0.0):
            place, priority = k, p
            left -= wp.float64(p)
    indices[sample] = wp.int64(block) * wp.int64(priorities.shape[1]) + wp.int64(place)
    drawn[sample] = priority


class ReplayPriorities:
    """Priorities of the places of a replay.

    Args:
        steps: How many steps of each row there are.
        rows: How many rows; the place of a step of a row is ``step * rows + row``.
        device: Where they lie.
        alpha: How much surprise counts: 0 draws uniformly, 1 in proportion.
        beta: How much of the bias the weights correct at first, see :meth:`anneal`.
        epsilon: Added to every surprise, so that nothing is never drawn again.
        seed: Where random numbers start. Processes that learn together need different ones.
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
        self.steps, self.rows, self.alpha, self.epsilon, self.first_beta = steps, rows, alpha, epsilon, beta
        self.seed = int(fold_seed(np.asarray(seed, dtype=np.uint64)))
        self.blocks = torch.zeros((-(-steps * rows // BLOCK), BLOCK), dtype=torch.float32, device=device)
        """p_i of every place, in blocks; the last block is filled up with zeros."""
        self.values = self.blocks.view(-1)[: steps * rows].view(steps, rows)
        """The same by step and row, in the same memory."""
        self.greatest = torch.ones(1, dtype=torch.float32, device=device)
        """The greatest p_i seen so far, which new steps start with."""
        self.beta = torch.full((1,), beta, dtype=torch.float32, device=device)
        """How much of the bias the weights correct now."""
        self.tick = torch.zeros(1, dtype=torch.int64, device=device)
        """How many batches were drawn."""

    def anneal(self, progress: torch.Tensor) -> None:
        """Set beta on its way from its first value to 1. ``progress`` lies on the device: 0 at the start of training, 1 at its end."""
        self.beta.copy_(self.first_beta + (1.0 - self.first_beta) * progress.clamp(0.0, 1.0))

    def sample(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw ``batch`` places, one from each of as many equal shares of the sum of all priorities.

        Returns:
            The places, int64 [batch], and their weights, float32 [batch]: at most 1, and 0 where there was nothing to draw.
        """
        device = self.blocks.device
        running = self.blocks.sum(dim=1).cumsum(dim=0, dtype=torch.float64)
        indices = torch.empty(batch, dtype=torch.int64, device=device)
        drawn = torch.empty(batch, dtype=torch.float32, device=device)
        launch(_draw, batch, (self.blocks, running, self.seed, self.tick, indices, drawn), device)
        self.tick += 1
        # (P(i) * size)^-beta over its maximum: the sum of all priorities and the size cancel out.
        nothing = drawn <= 0.0
        least = drawn.masked_fill(nothing, torch.inf).amin()
        weights = ((least / drawn) ** self.beta).masked_fill(nothing, 0.0)
        return indices, weights

    def update(self, indices: torch.Tensor, td_errors: torch.Tensor) -> None:
        """Set the priorities of places to their new surprise; of a place that comes twice, to the greater one.

        Args:
            indices: Places, int64 [B], as :meth:`sample` gave them. Those that have no step to train on stay at 0.
            td_errors: Difference between target and estimate, of any sign, [B].
        """
        values = self.values.view(-1)
        priorities = (td_errors.detach().float().abs() + self.epsilon) ** self.alpha
        priorities = priorities.masked_fill(values.index_select(0, indices) <= 0.0, 0.0)
        # The maximum does not depend on the order in which threads arrive, as a plain write would.
        values.scatter_reduce_(0, indices, priorities, "amax", include_self=False)
        torch.maximum(self.greatest, priorities.amax(), out=self.greatest)

    def enable(self, step: torch.Tensor, counts: torch.Tensor) -> None:
        """Let a step be drawn: with the greatest priority seen so far in the rows that count, never in the others.

        Args:
            step: Which step, int64 [1].
            counts: Whether each row has something to train on there, bool [1, N].
        """
        self.values.index_copy_(0, step, self.greatest * counts)

    def disable(self, step: torch.Tensor) -> None:
        """Keep a step, int64 [1], from being drawn in any row."""
        self.values.index_fill_(0, step, 0.0)

    def clear_padding(self) -> None:
        """Zero what fills up the last block: it has no place in the replay, and must never be drawn."""
        self.blocks.view(-1)[self.steps * self.rows :] = 0.0

    def tensors(self) -> dict[str, torch.Tensor]:
        """Everything that changes, by name, for checkpoints."""
        return {"priorities": self.blocks, "greatest": self.greatest, "beta": self.beta, "tick": self.tick}
