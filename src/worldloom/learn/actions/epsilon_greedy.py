"""Epsilon-greedy actions: mostly the choice with the greatest value, now and then any; one kernel from values to the world's action."""

# Functions that Warp compiles: their annotations are Warp's, not Python's.
# mypy: disable-error-code="valid-type,no-untyped-def"
# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np
import torch
import warp as wp
from torch import Tensor

from worldloom.core.kernels.random import fold_seed
from worldloom.learn.actions.sampling_kernels import UNIT, random_words
from worldloom.learn.device.warp_launch import launch


@wp.kernel(enable_backward=False)
def _choose(
    values: wp.array2d(dtype=wp.float32),
    mask: wp.array2d(dtype=wp.bool),
    epsilon: wp.array(dtype=wp.float32),
    key: wp.array(dtype=wp.int64),
    offset: wp.int64,
    action: wp.array2d(dtype=wp.int32),
    world_action: wp.array2d(dtype=wp.int32),
) -> None:
    """The best allowed choice of a row, the first of several; with probability ``epsilon`` any allowed one. A mask that allows none allows all."""
    row = wp.tid()
    choices = values.shape[1]
    allowed = wp.int32(0)
    if mask.shape[0] > 0:
        for choice in range(choices):
            if mask[row, choice]:
                allowed += 1
    masked = allowed > 0
    if not masked:
        allowed = choices

    words = random_words(key, offset, row, 0)
    wanted = wp.int32(-1)
    if wp.float32(words[0] >> wp.uint32(8)) * UNIT < epsilon[0]:
        wanted = wp.int32((wp.uint64(words[1]) * wp.uint64(allowed)) >> wp.uint64(32))

    chosen, rank = wp.int32(-1), wp.int32(0)
    for choice in range(choices):
        if not masked or mask[row, choice]:
            if wanted >= 0:
                if rank == wanted:
                    chosen = choice
                rank += 1
            elif chosen < 0 or values[row, choice] > values[row, wp.max(chosen, 0)]:
                chosen = choice
    action[row, 0] = chosen
    if world_action.shape[0] > 0:
        world_action[row, 0] = chosen


class EpsilonGreedy:
    """Chooses for ``rows`` agents. Each draw is keyed by (seed, row, tick, stream), as those of a sampler are.

    Args:
        rows: How many agents act, N.
        device: Where the tensors are.
        seed: Seed of the draws, 0 up to 2**64 - 1.
        first_row: Id of row 0 among the rows of all processes.
        stream: Tells policies with the same seed apart.

    Attributes:
        epsilon: How often any choice is taken, float32 [1] on the device, to be written to.
    """

    def __init__(self, rows: int, device: torch.device, seed: int, first_row: int = 0, stream: int = 0) -> None:
        self.rows, self.device = rows, device
        folded = int(fold_seed(np.array([seed], np.uint64))[0])
        self._key = torch.tensor([0, folded, first_row, stream], dtype=torch.int64, device=device)
        self.epsilon = torch.ones(1, device=device)

    @property
    def tick(self) -> Tensor:
        """The count of draws so far, int64 [1] on the device."""
        return self._key[:1]

    def advance(self, count: int) -> None:
        """Count ``count`` draws on the device, so that the next ones are new."""
        self.tick.add_(count)

    def choose(
        self,
        values: Tensor,
        action: Tensor,
        mask: Tensor | None = None,
        world_action: Tensor | None = None,
        offset: int = 0,
    ) -> None:
        """Write one choice per row.

        Args:
            values: What each choice is worth, float32 [N, choices].
            action: Written: the choices, int32 [N, 1].
            mask: Which of them are allowed, bool [N, choices]; None where all are.
            world_action: Written likewise, where the world itself has room for it.
            offset: Added to the tick: the step within a part that :meth:`advance` counts as a whole.
        """
        launch(_choose, self.rows, (values, mask, self.epsilon, self._key, offset, action, world_action), self.device)
