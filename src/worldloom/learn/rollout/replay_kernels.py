# mypy: ignore-errors
"""Kernels of the replay buffer: uniform sampling, n-step windows, and the frames of a stack."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.random import integer
from worldloom.learn.device.device_number_kernels import current

_STREAM = wp.constant(wp.int32(0x5265706C))


@wp.kernel(enable_backward=False)
def draw_uniform(
    cursor: wp.array(dtype=wp.int64), capacity: wp.int32, rows: wp.int32, stack: wp.int32, n: wp.int32,
    seed: wp.uint32, tick: wp.array(dtype=wp.int64), indices: wp.array(dtype=wp.int64),
) -> None:  # fmt: skip
    """Draw one step with its stack's frames before it and ``n`` steps after it; an unused slot where there is none."""
    sample = wp.tid()
    now = tick[0]
    # Worlds use the episode, counted up from 0, in place of this number, counted down from -1: they never coincide.
    high, low = wp.int32(~(now >> wp.int64(32))), wp.int32(now)
    newest = wp.int32((cursor[0] + wp.int64(capacity - 1)) % wp.int64(capacity))
    oldest_age = wp.int32(wp.min(cursor[0] - wp.int64(1), wp.int64(capacity - stack)))
    age = integer(seed, sample, high, low, _STREAM, 0, n, oldest_age + 1)
    row = integer(seed, sample, high, low, _STREAM, 1, 0, rows)
    slot = (newest + capacity - age) % capacity
    indices[sample] = wp.int64(slot) * wp.int64(rows) + wp.int64(row)


@wp.func
def _look_back(
    sample: wp.int32,
    slot: wp.int32,
    row: wp.int32,
    valid: wp.array2d(dtype=wp.bool),
    frames: wp.array2d(dtype=wp.int64),
) -> None:
    """Write the indices of a stack's frames, newest last; before the start of an episode its first frame repeats."""
    capacity, rows, stack = valid.shape[0], valid.shape[1], frames.shape[1]
    back = wp.int32(0)
    for k in range(stack):
        at = (slot + capacity - back) % capacity
        frames[sample, stack - 1 - k] = wp.int64(at) * wp.int64(rows) + wp.int64(row)
        # The step before the start of an episode only reset, or was never filled: neither is valid.
        if valid[(at + capacity - 1) % capacity, row]:
            back += 1


@wp.kernel(enable_backward=False)
def n_step_windows(
    indices: wp.array(dtype=wp.int64), rewards: wp.array2d(dtype=wp.float32), terminated: wp.array2d(dtype=wp.bool),
    truncated: wp.array2d(dtype=wp.bool), valid: wp.array2d(dtype=wp.bool), n: wp.int32, gamma_value: wp.float32,
    scheduled: wp.array(dtype=wp.float32),
    returns: wp.array(dtype=wp.float32), discounts: wp.array(dtype=wp.float32), counts: wp.array(dtype=wp.float32),
    frames: wp.array2d(dtype=wp.int64), next_frames: wp.array2d(dtype=wp.int64),
) -> None:  # fmt: skip
    """Rewards, discount and frames of a transition of at most ``n`` steps."""
    sample = wp.tid()
    gamma = current(gamma_value, scheduled, 0)
    capacity, rows = rewards.shape[0], rewards.shape[1]
    slot = wp.int32(indices[sample] / wp.int64(rows))
    row = wp.int32(indices[sample] % wp.int64(rows))
    total, discount, length = wp.float32(0.0), wp.float32(1.0), wp.int32(0)
    for k in range(n):
        place = (slot + k) % capacity
        total += discount * rewards[place, row]
        discount *= gamma
        length = k + 1
        if terminated[place, row]:
            discount = wp.float32(0.0)
        if terminated[place, row] or truncated[place, row]:
            break
    returns[sample] = total
    discounts[sample] = discount
    counts[sample] = wp.where(valid[slot, row], 1.0, 0.0)
    _look_back(sample, slot, row, valid, frames)
    _look_back(sample, (slot + length) % capacity, row, valid, next_frames)
