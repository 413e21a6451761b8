# mypy: ignore-errors
"""The kernel of one Adam step with gradient clipping."""

from __future__ import annotations

import warp as wp

from worldloom.learn.device.device_number_kernels import current

BETAS = (0.9, 0.999)
"""Decay rates of the first and second moment."""
BETA1, BETA2, EPSILON = wp.constant(BETAS[0]), wp.constant(BETAS[1]), wp.constant(1e-5)


@wp.kernel(enable_backward=False)
def adam_step(
    gradient: wp.array(dtype=wp.float32), norm: wp.array(dtype=wp.float32), max_norm: wp.float32,
    scheduled: wp.array(dtype=wp.float32), enabled: wp.array(dtype=wp.bool), rate: wp.array(dtype=wp.float32),
    powers: wp.array(dtype=wp.float64),
    # outputs
    values: wp.array(dtype=wp.float32), first: wp.array(dtype=wp.float32), second: wp.array(dtype=wp.float32),
):  # fmt: skip
    """One step of one parameter. ``powers`` are the powers of the betas for the bias correction.

    ``scheduled`` holds the maximum norm where it changes during training. The step is skipped where ``enabled`` is not
    empty and False.
    """
    i = wp.tid()
    if enabled.shape[0] > 0:  # noqa: SIM102 (an empty array is not read)
        if not enabled[0]:
            return
    limit = current(max_norm, scheduled, 0)
    clipped = gradient[i]
    if limit > 0.0:
        clipped = clipped * wp.min(1.0, limit / (norm[0] + 1.0e-6))
    mean = BETA1 * first[i] + (1.0 - BETA1) * clipped
    square = BETA2 * second[i] + (1.0 - BETA2) * clipped * clipped
    first[i] = mean
    second[i] = square
    spread = wp.sqrt(square) / wp.sqrt(wp.float32(wp.float64(1.0) - powers[1])) + EPSILON
    values[i] = values[i] - rate[0] / wp.float32(wp.float64(1.0) - powers[0]) * mean / spread
