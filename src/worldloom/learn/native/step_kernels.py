# mypy: ignore-errors
"""Kernels around a minibatch: standardized advantages, sums of statistics, gradient norm and Adam."""

from __future__ import annotations

import warp as wp

from worldloom.learn.native.dense_source import ADAM, MOVE, SQUARED_NORM, SUM
from worldloom.learn.training.optimizer_kernels import BETAS

BETA1, BETA2, EPSILON = wp.constant(BETAS[0]), wp.constant(BETAS[1]), wp.constant(1e-5)
EXACT_BETA1, EXACT_BETA2 = wp.constant(wp.float64(BETAS[0])), wp.constant(wp.float64(BETAS[1]))
SPREAD_EPSILON = wp.constant(1e-8)


@wp.kernel(enable_backward=False)
def gather_advantages(
    advantages: wp.array(dtype=wp.float32), weights: wp.array(dtype=wp.float32), indices: wp.array(dtype=wp.int64),
    standardize: bool,
    # outputs
    gathered: wp.array(dtype=wp.float32), count: wp.array(dtype=wp.float32),
):  # fmt: skip
    """The advantages of a minibatch, and the sum of its weights, at least 1. One thread for the whole minibatch.

    With ``standardize`` they have weighted mean 0 and standard deviation 1.
    """
    samples = indices.shape[0]
    total, sum = wp.float64(0.0), wp.float64(0.0)
    for i in range(samples):
        place = indices[i]
        weight = wp.float64(1.0)
        if weights.shape[0] > 0:
            weight = wp.float64(weights[place])
        gathered[i] = advantages[place]
        total += weight
        sum += weight * wp.float64(advantages[place])
    total = wp.max(total, wp.float64(1.0))
    count[0] = wp.float32(total)
    if standardize:
        mean = sum / total
        square = wp.float64(0.0)
        for i in range(samples):
            weight = wp.float64(1.0)
            if weights.shape[0] > 0:
                weight = wp.float64(weights[indices[i]])
            distance = wp.float64(gathered[i]) - mean
            square += weight * distance * distance
        shift = wp.float32(mean)
        scale = 1.0 / (wp.float32(wp.sqrt(square / total)) + SPREAD_EPSILON)
        for i in range(samples):
            gathered[i] = (gathered[i] - shift) * scale


@wp.func_native(MOVE)
def _move(
    source: wp.array(dtype=wp.float32), target: wp.array(dtype=wp.float32), offset: int, count: int
): ...  # fmt: skip


@wp.kernel(enable_backward=False)
def begin_parts(
    first_sample: int, first_part: int,
    # outputs
    cursor: wp.array(dtype=wp.int32), gradient: wp.array(dtype=wp.float32), statistics: wp.array(dtype=wp.float64),
):  # fmt: skip
    """Set the cursor of a thread, (sample, part), and clear its sums."""
    cursor[0] = first_sample
    cursor[1] = first_part
    _move(gradient, gradient, 0, gradient.shape[0])
    for k in range(statistics.shape[0]):
        statistics[k] = wp.float64(0.0)


@wp.kernel(enable_backward=False)
def load_block(
    indices: wp.array(dtype=wp.int64), advantages: wp.array(dtype=wp.float32), count: int,
    # outputs
    cursor: wp.array(dtype=wp.int32), block_indices: wp.array(dtype=wp.int64),
    block_advantages: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Copy the next ``count`` samples of a minibatch, and move the cursor past them. One thread."""
    first = cursor[0]
    for i in range(count):
        block_indices[i] = indices[first + i]
    if advantages.shape[0] > 0:
        for i in range(count):
            block_advantages[i] = advantages[first + i]
    cursor[0] = first + count


@wp.kernel(enable_backward=False)
def end_part(
    cursor: wp.array(dtype=wp.int32), gradient: wp.array(dtype=wp.float32), statistics: wp.array(dtype=wp.float64),
    # outputs
    gradients: wp.array(dtype=wp.float32), all_statistics: wp.array2d(dtype=wp.float64),
):  # fmt: skip
    """Store the sums of a part and clear them. One thread."""
    part = cursor[1]
    _move(gradient, gradients, part * gradient.shape[0], gradient.shape[0])
    for k in range(statistics.shape[0]):
        all_statistics[part, k] = statistics[k]
        statistics[k] = wp.float64(0.0)
    cursor[1] = part + 1


@wp.func_native(SUM)
def _sum(values: wp.array(dtype=wp.float32), offset: int, count: int) -> wp.float64: ...


@wp.kernel(enable_backward=False)
def add_statistics(statistics: wp.array(dtype=wp.float32), samples: int, sums: wp.array(dtype=wp.float64)):
    """Add the statistics of some samples, [rows, samples], to ``sums`` [rows]. One thread."""
    for row in range(sums.shape[0]):
        sums[row] = sums[row] + _sum(statistics, row * samples, samples)


@wp.kernel(enable_backward=False)
def reduce_statistics(parts: wp.array2d(dtype=wp.float64), sums: wp.array(dtype=wp.float32)):
    """Sum column ``tid`` of the statistics of all parts, [parts, columns], in order."""
    column = wp.tid()
    total = wp.float64(0.0)
    for part in range(parts.shape[0]):
        total += parts[part, column]
    sums[column] = wp.float32(total)


@wp.func_native(SQUARED_NORM)
def _squared_norm(values: wp.array(dtype=wp.float32), count: int) -> wp.float64: ...


@wp.func_native(ADAM)
def _adam(
    values: wp.array(dtype=wp.float32), gradient: wp.array(dtype=wp.float32), first: wp.array(dtype=wp.float32),
    second: wp.array(dtype=wp.float32), count: int, scale: wp.float32, rate: wp.float32, correction: wp.float32,
    beta1: wp.float32, beta2: wp.float32, epsilon: wp.float32,
): ...  # fmt: skip


@wp.kernel(enable_backward=False)
def clip_and_step(
    gradient: wp.array(dtype=wp.float32), max_norm: wp.array(dtype=wp.float32), rate: wp.array(dtype=wp.float32),
    # outputs
    norm: wp.array(dtype=wp.float32), powers: wp.array(dtype=wp.float64), values: wp.array(dtype=wp.float32),
    first: wp.array(dtype=wp.float32), second: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Gradient norm, clipping to ``max_norm`` [1] and one step of Adam for all parameters, in one thread.

    ``powers`` are the powers of the betas for the bias correction. A ``max_norm`` of 0 clips nothing.
    """
    count = gradient.shape[0]
    length = wp.float32(wp.sqrt(_squared_norm(gradient, count)))
    norm[0] = length
    scale = float(1.0)
    if max_norm[0] > 0.0:
        scale = wp.min(1.0, max_norm[0] / (length + 1.0e-6))
    powers[0] = powers[0] * EXACT_BETA1
    powers[1] = powers[1] * EXACT_BETA2
    correction = 1.0 / wp.sqrt(wp.float32(wp.float64(1.0) - powers[1]))
    stride = rate[0] / wp.float32(wp.float64(1.0) - powers[0])
    _adam(values, gradient, first, second, count, scale, stride, correction, BETA1, BETA2, EPSILON)
