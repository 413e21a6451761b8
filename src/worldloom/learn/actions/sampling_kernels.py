# mypy: ignore-errors
"""Kernels of the sampler: choices by inverse transform sampling, numbers by the Box-Muller transform.

Choices have two kernels with the same arguments and, up to rounding, the same results: one thread per row, and a block
of threads per row, which is many times faster on a GPU for many choices.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from worldloom.core.kernels.random import philox

LANES = 32
"""Threads of a block that samples for a row."""

UNIT = wp.constant(wp.float32(2.0**-24))
TWO_PI = wp.constant(wp.float32(2.0 * np.pi))
HALF_LOG_TWO_PI = wp.constant(wp.float32(0.5 * np.log(2.0 * np.pi)))
LOWEST = wp.constant(wp.float32(np.finfo(np.float32).min))


@wp.func
def random_words(key: wp.array(dtype=wp.int64), offset: wp.int64, row: wp.int32, block: wp.int32):
    """Four random words. ``key`` holds the tick, the seed, the index of row 0 and the stream.

    Worlds use the episode, counted up from 0, in place of ``~high``, counted down from -1: the two never coincide.
    """
    tick = key[0] + offset
    high = wp.uint32(tick >> wp.int64(32))
    return philox(
        wp.uint32(block),
        wp.uint32(key[3]),
        wp.uint32(tick),
        ~high,
        wp.uint32(key[1]),
        wp.uint32(key[2]) + wp.uint32(row),
    )


@wp.kernel(enable_backward=False)
def draw_choices(
    logits: wp.array2d(dtype=wp.float32), mask: wp.array2d(dtype=wp.bool), starts: wp.array(dtype=wp.int32),
    key: wp.array(dtype=wp.int64), offset: wp.int64, action: wp.array2d(dtype=wp.int32),
    world_action: wp.array2d(dtype=wp.int32), log_prob: wp.array(dtype=wp.float32),
    entropy: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Sample each part by inverting its distribution function at one uniform number."""
    row = wp.tid()
    words = random_words(key, offset, row, 0)
    sum_log_prob = wp.float32(0.0)
    sum_entropy = wp.float32(0.0)
    for part in range(action.shape[1]):
        if part > 0 and part % 4 == 0:
            words = random_words(key, offset, row, part / 4)
        start = starts[part]
        stop = starts[part + 1]

        masked = wp.bool(False)
        if mask.shape[0] > 0:
            for choice in range(start, stop):
                masked = masked or mask[row, choice]

        chosen = wp.int32(start)
        if masked:
            while not mask[row, chosen]:
                chosen += 1
        top = logits[row, chosen]
        for choice in range(chosen, stop):
            if not masked or mask[row, choice]:
                top = wp.max(top, logits[row, choice])

        # Choices of weight 0 are skipped, so that logits of minus infinity do not produce NaN.
        total = wp.float32(0.0)
        moment = wp.float32(0.0)
        for choice in range(start, stop):
            if not masked or mask[row, choice]:
                below = logits[row, choice] - top
                weight = wp.exp(below)
                if weight > 0.0:
                    total += weight
                    moment += weight * below

        # The running sum repeats the one above, so it passes the target, unless rounding lifted the target to the
        # total: then the last choice is taken.
        target = wp.float32(words[part % 4] >> wp.uint32(8)) * UNIT * total
        running = wp.float32(0.0)
        for choice in range(start, stop):
            if not masked or mask[row, choice]:
                weight = wp.exp(logits[row, choice] - top)
                if weight > 0.0:
                    running += weight
                    chosen = choice
                    if running > target:
                        break

        action[row, part] = chosen - start
        if world_action.shape[0] > 0:
            world_action[row, part] = chosen - start
        log_total = wp.log(total)
        sum_log_prob += logits[row, chosen] - top - log_total
        sum_entropy += log_total - moment / total
    log_prob[row] = sum_log_prob
    entropy[row] = sum_entropy


@wp.kernel(enable_backward=False, module="unique")
def draw_choices_together(
    logits: wp.array2d(dtype=wp.float32), mask: wp.array2d(dtype=wp.bool), starts: wp.array(dtype=wp.int32),
    key: wp.array(dtype=wp.int64), offset: wp.int64, action: wp.array2d(dtype=wp.int32),
    world_action: wp.array2d(dtype=wp.int32), log_prob: wp.array(dtype=wp.float32),
    entropy: wp.array(dtype=wp.float32),
):  # fmt: skip
    """As :func:`draw_choices`; each lane of a row's block handles a range of adjacent choices."""
    row, lane = wp.tid()
    lanes = wp.block_dim()
    words = random_words(key, offset, row, 0)
    sum_log_prob = wp.float32(0.0)
    sum_entropy = wp.float32(0.0)
    for part in range(action.shape[1]):
        if part > 0 and part % 4 == 0:
            words = random_words(key, offset, row, part / 4)
        start = starts[part]
        stop = starts[part + 1]
        stretch = (stop - start + lanes - 1) / lanes
        first = wp.min(start + lane * stretch, stop)
        last = wp.min(first + stretch, stop)

        masked = wp.bool(False)
        if mask.shape[0] > 0:
            allowed = wp.int32(0)
            for choice in range(start + lane, stop, lanes):
                if mask[row, choice]:
                    allowed = 1
            masked = wp.tile_max(wp.tile(allowed))[0] > 0

        top = wp.float32(LOWEST)
        for choice in range(start + lane, stop, lanes):
            if not masked or mask[row, choice]:
                top = wp.max(top, logits[row, choice])
        top = wp.tile_max(wp.tile(top))[0]

        chosen = wp.int32(-1)
        weights = wp.float32(0.0)
        moments = wp.float32(0.0)
        for choice in range(first, last):
            if not masked or mask[row, choice]:
                if chosen < 0:
                    chosen = choice
                below = logits[row, choice] - top
                weight = wp.exp(below)
                if weight > 0.0:
                    weights += weight
                    moments += weight * below
        reached = wp.tile_scan_inclusive(wp.tile(weights))
        upto = reached[lane]
        total = reached[lanes - 1]
        moment = wp.tile_sum(wp.tile(moments))[0]

        # One lane draws: the first that passes the target; where rounding prevents that, the last with any weight; with
        # NaN, the first with an allowed choice.
        target = wp.float32(words[part % 4] >> wp.uint32(8)) * UNIT * total
        rank = wp.int32(3 * lanes)
        if weights > 0.0:
            rank = 2 * lanes - 1 - lane
            if upto > target:
                rank = lane
        elif chosen >= 0:
            rank = 2 * lanes + lane
        best = wp.tile_min(wp.tile(rank))[0]
        log_total = wp.log(total)
        if rank == best:
            running = upto - weights
            for choice in range(first, last):
                if not masked or mask[row, choice]:
                    weight = wp.exp(logits[row, choice] - top)
                    if weight > 0.0:
                        running += weight
                        chosen = choice
                        if running > target:
                            break
            action[row, part] = chosen - start
            if world_action.shape[0] > 0:
                world_action[row, part] = chosen - start
            sum_log_prob += logits[row, chosen] - top - log_total
        sum_entropy += log_total - moment / total
    all_log_prob = wp.tile_sum(wp.tile(sum_log_prob))[0]
    if lane == 0:
        log_prob[row] = all_log_prob
        entropy[row] = sum_entropy


@wp.kernel(enable_backward=False)
def draw_numbers(
    means: wp.array2d(dtype=wp.float32), log_std: wp.array2d(dtype=wp.float32), scale: wp.array(dtype=wp.vec4f),
    key: wp.array(dtype=wp.int64), offset: wp.int64, action: wp.array2d(dtype=wp.float32),
    world_action: wp.array2d(dtype=wp.float32), log_prob: wp.array(dtype=wp.float32),
    entropy: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Sample each number by the Box-Muller transform; one block of random words yields four of them."""
    row = wp.tid()
    words = random_words(key, offset, row, 0)
    sum_log_prob = wp.float32(0.0)
    sum_entropy = wp.float32(0.0)
    for part in range(action.shape[1]):
        if part > 0 and part % 4 == 0:
            words = random_words(key, offset, row, part / 4)
        pair = part & 2
        radius = wp.sqrt(-2.0 * wp.log(wp.float32((words[pair] >> wp.uint32(8)) + wp.uint32(1)) * UNIT))
        angle = TWO_PI * wp.float32(words[pair + 1] >> wp.uint32(8)) * UNIT
        turned = wp.where(part % 2 == 0, wp.cos(angle), wp.sin(angle))

        spread = log_std[row, part]
        mean = means[row, part]
        value = mean + wp.exp(spread) * radius * turned
        action[row, part] = value
        if world_action.shape[0] > 0:
            fit = scale[part]
            moved = fit[0] + fit[1] * value
            if moved < fit[2]:
                moved = fit[2]
            if moved > fit[3]:
                moved = fit[3]
            world_action[row, part] = moved

        # From the rounded action, so that it can be recomputed from the stored action.
        distance = (value - mean) * wp.exp(-spread)
        sum_log_prob += -0.5 * distance * distance - spread - HALF_LOG_TWO_PI
        sum_entropy += spread + HALF_LOG_TWO_PI + 0.5
    log_prob[row] = sum_log_prob
    entropy[row] = sum_entropy
