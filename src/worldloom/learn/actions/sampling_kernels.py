# mypy: ignore-errors
"""Kernels of the sampler: choices by inverse transform sampling, numbers by the Box-Muller transform.

Choices have two kernels with the same arguments and, up to rounding, the same results: one thread per row, and a block
of threads per row, which is many times faster on a GPU for many choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from worldloom.core.kernels.array_types import Bools2D, Floats, Floats2D, Ints, Ints2D, Longs
from worldloom.core.kernels.random import philox
from worldloom.learn.actions.gaussian_kernels import GaussianRules, clamp_log_std, log_tanh_derivative, make_rules

LANES = 32
"""Threads of a block that samples for a row."""

UNIT = wp.constant(wp.float32(2.0**-24))
TWO_PI = wp.constant(wp.float32(2.0 * np.pi))
HALF_LOG_TWO_PI = wp.constant(wp.float32(0.5 * np.log(2.0 * np.pi)))
LOWEST = wp.constant(wp.float32(np.finfo(np.float32).min))


@wp.func
def random_words(key: Longs, offset: wp.int64, row: wp.int32, block: wp.int32):
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


@wp.func
def part_words(words: wp.vec4ui, key: Longs, offset: wp.int64, row: wp.int32, part: wp.int32):
    """The random words of a part of an action: those of the part before it, or new ones for every fourth part."""
    if part % 4 == 0:
        return random_words(key, offset, row, part / 4)
    return words


@wp.func
def uniform(words: wp.vec4ui, part: wp.int32):
    """A number from 0 to below 1 for a part of an action, of 24 bits."""
    return wp.float32(words[part % 4] >> wp.uint32(8)) * UNIT


@wp.func
def box_muller(words: wp.vec4ui, part: wp.int32):
    """Two factors whose product is a standard normal number for a part of an action."""
    pair = part & 2
    radius = wp.sqrt(-2.0 * wp.log(wp.float32((words[pair] >> wp.uint32(8)) + wp.uint32(1)) * UNIT))
    angle = TWO_PI * wp.float32(words[pair + 1] >> wp.uint32(8)) * UNIT
    return radius, wp.where(part % 2 == 0, wp.cos(angle), wp.sin(angle))


@wp.func
def any_allowed(mask: Bools2D, row: wp.int32, first: wp.int32, stop: wp.int32, step: wp.int32):
    """Whether a mask allows a choice of ``range(first, stop, step)``; False without a mask."""
    allowed = wp.bool(False)
    if mask.shape[0] > 0:
        for choice in range(first, stop, step):
            allowed = allowed or mask[row, choice]
    return allowed


@wp.func
def first_allowed(mask: Bools2D, row: wp.int32, masked: wp.bool, first: wp.int32, stop: wp.int32):
    """The first allowed choice from ``first`` to ``stop``, or -1. Only where ``masked`` does the mask count."""
    for choice in range(first, stop):
        if not masked or mask[row, choice]:
            return choice
    return wp.int32(-1)


@wp.func
def sum_weights(
    logits: Floats2D, mask: Bools2D, row: wp.int32, masked: wp.bool, first: wp.int32, stop: wp.int32, top: wp.float32
):
    """The sum of the weights w = exp(logit - top) of the allowed choices, and of w log w.

    Choices of weight 0 are skipped, so that logits of minus infinity do not produce NaN.
    """
    total = wp.float32(0.0)
    moment = wp.float32(0.0)
    for choice in range(first, stop):
        if not masked or mask[row, choice]:
            below = logits[row, choice] - top
            weight = wp.exp(below)
            if weight > 0.0:
                total += weight
                moment += weight * below
    return total, moment


@wp.func
def invert(
    logits: Floats2D, mask: Bools2D, row: wp.int32, masked: wp.bool, first: wp.int32, stop: wp.int32, top: wp.float32,
    start: wp.float32, target: wp.float32, default: wp.int32,
):  # fmt: skip
    """The first choice at which the running sum of the weights, from ``start`` on, exceeds ``target``.

    The sum repeats the one of :func:`sum_weights`. Where rounding lifted the target to the total, the last choice of
    positive weight is taken; ``default`` where there is none.
    """
    running = start
    chosen = default
    for choice in range(first, stop):
        if not masked or mask[row, choice]:
            weight = wp.exp(logits[row, choice] - top)
            if weight > 0.0:
                running += weight
                chosen = choice
                if running > target:
                    break
    return chosen


@wp.func
def store_choice(action: wp.array2d(dtype=Any), world_action: Ints2D, row: wp.int32, part: wp.int32, choice: wp.int32):
    action[row, part] = action.dtype(choice)
    if world_action.shape[0] > 0:
        world_action[row, part] = choice


@wp.func
def sample_choices(
    row: wp.int32, logits: Floats2D, mask: Bools2D, starts: Ints, key: Longs, offset: wp.int64,
    action: wp.array2d(dtype=Any), world_action: Ints2D,
):  # fmt: skip
    """Sample each part of a row by inverting its distribution function at one uniform number.

    Writes the choices. Returns their log-probability and entropy, summed over the parts.
    """
    words = wp.vec4ui()
    sum_log_prob, sum_entropy = wp.float32(0.0), wp.float32(0.0)
    for part in range(action.shape[1]):
        start, stop = starts[part], starts[part + 1]
        masked = any_allowed(mask, row, start, stop, 1)
        chosen = first_allowed(mask, row, masked, start, stop)
        top = logits[row, chosen]
        for choice in range(chosen, stop):
            if not masked or mask[row, choice]:
                top = wp.max(top, logits[row, choice])

        total, moment = sum_weights(logits, mask, row, masked, start, stop, top)
        words = part_words(words, key, offset, row, part)
        target = uniform(words, part) * total
        chosen = invert(logits, mask, row, masked, start, stop, top, 0.0, target, chosen)
        store_choice(action, world_action, row, part, chosen - start)
        log_total = wp.log(total)
        sum_log_prob += logits[row, chosen] - top - log_total
        sum_entropy += log_total - moment / total
    return sum_log_prob, sum_entropy


@wp.kernel(enable_backward=False)
def draw_choices(
    logits: Floats2D, mask: Bools2D, starts: Ints, key: Longs, offset: wp.int64,
    action: Ints2D, world_action: Ints2D, log_prob: Floats, entropy: Floats,
):  # fmt: skip
    row = wp.tid()
    row_log_prob, row_entropy = sample_choices(row, logits, mask, starts, key, offset, action, world_action)
    log_prob[row] = row_log_prob
    entropy[row] = row_entropy


@wp.kernel(enable_backward=False, module="unique")
def draw_choices_together(
    logits: Floats2D, mask: Bools2D, starts: Ints, key: Longs, offset: wp.int64,
    action: Ints2D, world_action: Ints2D, log_prob: Floats, entropy: Floats,
):  # fmt: skip
    """As :func:`draw_choices`; each lane of a row's block handles a range of adjacent choices."""
    row, lane = wp.tid()
    lanes = wp.block_dim()
    words = wp.vec4ui()
    sum_log_prob, sum_entropy = wp.float32(0.0), wp.float32(0.0)
    for part in range(action.shape[1]):
        start, stop = starts[part], starts[part + 1]
        stretch = (stop - start + lanes - 1) / lanes
        first = wp.min(start + lane * stretch, stop)
        last = wp.min(first + stretch, stop)

        masked = wp.bool(False)
        if mask.shape[0] > 0:
            allowed = wp.where(any_allowed(mask, row, start + lane, stop, lanes), 1, 0)
            masked = wp.tile_max(wp.tile(allowed))[0] > 0

        top = wp.float32(LOWEST)
        for choice in range(start + lane, stop, lanes):
            if not masked or mask[row, choice]:
                top = wp.max(top, logits[row, choice])
        top = wp.tile_max(wp.tile(top))[0]

        chosen = first_allowed(mask, row, masked, first, last)
        weights, moments = sum_weights(logits, mask, row, masked, first, last, top)
        reached = wp.tile_scan_inclusive(wp.tile(weights))
        upto = reached[lane]
        total = reached[lanes - 1]
        moment = wp.tile_sum(wp.tile(moments))[0]

        # One lane draws: the first that passes the target; where rounding prevents that, the last with any weight; with
        # NaN, the first with an allowed choice.
        words = part_words(words, key, offset, row, part)
        target = uniform(words, part) * total
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
            chosen = invert(logits, mask, row, masked, first, last, top, upto - weights, target, chosen)
            store_choice(action, world_action, row, part, chosen - start)
            sum_log_prob += logits[row, chosen] - top - log_total
        sum_entropy += log_total - moment / total
    all_log_prob = wp.tile_sum(wp.tile(sum_log_prob))[0]
    if lane == 0:
        log_prob[row] = all_log_prob
        entropy[row] = sum_entropy


@wp.func
def to_world_number(number: wp.float32, scale: wp.vec4f, rules: GaussianRules):
    """A sampled number in the world's units. ``scale``: center, half range, and the bounds it is clipped to."""
    moved = number
    if rules.squashed:
        moved = wp.tanh(number)
    moved = scale[0] + scale[1] * moved
    if moved < scale[2]:
        moved = scale[2]
    if moved > scale[3]:
        moved = scale[3]
    return moved


@wp.func
def sample_numbers(
    row: wp.int32, means: Floats2D, log_std: Floats2D, scale: wp.array(dtype=wp.vec4f), rules: GaussianRules,
    key: Longs, offset: wp.int64, first_block: wp.int32, action: Floats2D, world_action: Floats2D,
):  # fmt: skip
    """Sample each number of a row by the Box-Muller transform; one block of random words yields four of them.

    Writes the numbers. Returns their log-probability and entropy, summed; for squashed numbers the estimate of
    :func:`worldloom.learn.actions.gaussian.gaussian_log_prob_entropy`. ``first_block`` is the first block of random
    words that is not used otherwise.
    """
    width = action.shape[1]
    sum_log_prob, sum_entropy = wp.float32(0.0), wp.float32(0.0)
    for block in range((width + 3) / 4):
        words = random_words(key, offset, row, first_block + block)
        for part in range(4 * block, wp.min(4 * block + 4, width)):
            radius, turned = box_muller(words, part)
            spread = clamp_log_std(log_std[row, part], rules)
            mean = means[row, part]
            value = mean + wp.exp(spread) * radius * turned
            action[row, part] = value
            if world_action.shape[0] > 0:
                world_action[row, part] = to_world_number(value, scale[part], rules)

            # From the rounded action, so that it can be recomputed from the stored action.
            distance = (value - mean) * wp.exp(-spread)
            sum_log_prob += -0.5 * distance * distance - spread - HALF_LOG_TWO_PI
            sum_entropy += spread + HALF_LOG_TWO_PI + 0.5
            if rules.squashed:
                correction = log_tanh_derivative(value)
                sum_log_prob -= correction
                sum_entropy += correction
    return sum_log_prob, sum_entropy


@wp.kernel(enable_backward=False)
def draw_numbers(
    means: Floats2D, log_std: Floats2D, scale: wp.array(dtype=wp.vec4f), squashed: wp.bool, min_log_std: wp.float32,
    max_log_std: wp.float32, key: Longs, offset: wp.int64, action: Floats2D, world_action: Floats2D, log_prob: Floats,
    entropy: Floats,
):  # fmt: skip
    row = wp.tid()
    rules = make_rules(squashed, min_log_std, max_log_std)
    row_log_prob, row_entropy = sample_numbers(
        row, means, log_std, scale, rules, key, offset, 0, action, world_action,
    )  # fmt: skip
    log_prob[row] = row_log_prob
    entropy[row] = row_entropy


@wp.kernel(enable_backward=False)
def draw_choices_and_numbers(
    logits: Floats2D, mask: Bools2D, starts: Ints, means: Floats2D, log_std: Floats2D, scale: wp.array(dtype=wp.vec4f),
    squashed: wp.bool, min_log_std: wp.float32, max_log_std: wp.float32, key: Longs, offset: wp.int64,
    choices: Floats2D, numbers: Floats2D, world_choices: Ints2D, world_numbers: Floats2D, log_prob: Floats,
    entropy: Floats,
):  # fmt: skip
    """Both in one launch: choices use the first blocks of random words, numbers those after them."""
    row = wp.tid()
    rules = make_rules(squashed, min_log_std, max_log_std)
    choices_log_prob, choices_entropy = sample_choices(row, logits, mask, starts, key, offset, choices, world_choices)
    first_block = (choices.shape[1] + 3) / 4
    numbers_log_prob, numbers_entropy = sample_numbers(
        row, means, log_std, scale, rules, key, offset, first_block, numbers, world_numbers,
    )  # fmt: skip
    log_prob[row] = choices_log_prob + numbers_log_prob
    entropy[row] = choices_entropy + numbers_entropy
