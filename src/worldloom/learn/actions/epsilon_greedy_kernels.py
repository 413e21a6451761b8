# mypy: ignore-errors
"""The kernel of epsilon-greedy action selection."""

from __future__ import annotations

import warp as wp

from worldloom.learn.actions.sampling_kernels import UNIT, random_words


@wp.kernel(enable_backward=False)
def choose_epsilon_greedy(
    values: wp.array2d(dtype=wp.float32), mask: wp.array2d(dtype=wp.bool), epsilon: wp.array(dtype=wp.float32),
    key: wp.array(dtype=wp.int64), offset: wp.int64, action: wp.array2d(dtype=wp.int32),
    world_action: wp.array2d(dtype=wp.int32),
) -> None:  # fmt: skip
    """The first best allowed choice of a row; with probability ``epsilon`` a random allowed one.

    A mask that allows nothing allows everything.
    """
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
