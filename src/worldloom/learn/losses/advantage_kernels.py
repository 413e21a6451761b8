# mypy: ignore-errors
"""Kernels of GAE, n-step returns and bootstrap values; one thread scans one row backwards.

``scheduled`` holds gamma, and for GAE lambda, where they change during training; it is empty otherwise.
"""

from __future__ import annotations

import warp as wp

from worldloom.learn.device.device_number_kernels import current


@wp.kernel(enable_backward=False)
def gae_backward(
    rewards: wp.array2d(dtype=wp.float32), values: wp.array2d(dtype=wp.float32), dones: wp.array2d(dtype=wp.bool),
    gamma_value: wp.float32, lam_value: wp.float32, scheduled: wp.array(dtype=wp.float32),
    advantages: wp.array2d(dtype=wp.float32), returns: wp.array2d(dtype=wp.float32),
) -> None:  # fmt: skip
    row = wp.tid()
    gamma, lam = current(gamma_value, scheduled, 0), current(lam_value, scheduled, 1)
    steps = rewards.shape[0]
    ahead = values[steps, row]
    advantage = wp.float32(0.0)
    for back in range(steps):
        t = steps - 1 - back
        value = values[t, row]
        if dones[t, row]:
            advantage = rewards[t, row] - value
        else:
            advantage = rewards[t, row] + gamma * ahead - value + gamma * lam * advantage
        advantages[t, row] = advantage
        returns[t, row] = advantage + value
        ahead = value


@wp.kernel(enable_backward=False)
def n_step_returns_backward(
    rewards: wp.array2d(dtype=wp.float32), values: wp.array2d(dtype=wp.float32), dones: wp.array2d(dtype=wp.bool),
    gamma_value: wp.float32, scheduled: wp.array(dtype=wp.float32), n: wp.int32,
    returns: wp.array2d(dtype=wp.float32),
) -> None:  # fmt: skip
    row = wp.tid()
    gamma = current(gamma_value, scheduled, 0)
    steps = rewards.shape[0]
    for t in range(steps):
        end = wp.min(t + n, steps)
        total = values[end, row]
        for back in range(end - t):
            k = end - 1 - back
            if dones[k, row]:
                total = rewards[k, row]
            else:
                total = rewards[k, row] + gamma * total
        returns[t, row] = total


@wp.kernel(enable_backward=False)
def add_final_values(
    rewards: wp.array2d(dtype=wp.float32),
    steps: wp.array2d(dtype=wp.int32),
    final_values: wp.array2d(dtype=wp.float32),
    gamma_value: wp.float32,
    scheduled: wp.array(dtype=wp.float32),
) -> None:
    row = wp.tid()
    gamma = current(gamma_value, scheduled, 0)
    for s in range(steps.shape[0]):
        t = steps[s, row]
        if t >= 0 and t < rewards.shape[0]:
            rewards[t, row] = rewards[t, row] + gamma * final_values[s, row]
