# mypy: ignore-errors
"""The kernel that accumulates discounted returns for reward scaling."""

from __future__ import annotations

import warp as wp

from worldloom.learn.device.device_number_kernels import current


@wp.kernel(enable_backward=False)
def discounted_returns(
    rewards: wp.array2d(dtype=wp.float32), dones: wp.array2d(dtype=wp.bool), gamma_value: wp.float32,
    scheduled: wp.array(dtype=wp.float32),
    # outputs
    running: wp.array(dtype=wp.float32), returns: wp.array2d(dtype=wp.float32),
) -> None:  # fmt: skip
    """Discounted return of each row's episode so far, at every step. ``running`` carries it between calls."""
    row = wp.tid()
    gamma = current(gamma_value, scheduled, 0)
    total = running[row]
    for step in range(rewards.shape[0]):
        total = gamma * total + rewards[step, row]
        returns[step, row] = total
        if dones[step, row]:
            total = 0.0
    running[row] = total
