# mypy: ignore-errors
"""The kernel of V-trace targets and advantages; one thread scans one row backwards."""

from __future__ import annotations

import warp as wp

from worldloom.learn.device.device_number_kernels import current


@wp.kernel(enable_backward=False)
def vtrace_backward(
    behaviour_log_probs: wp.array2d(dtype=wp.float32), target_log_probs: wp.array2d(dtype=wp.float32),
    rewards: wp.array2d(dtype=wp.float32), values: wp.array2d(dtype=wp.float32), dones: wp.array2d(dtype=wp.bool),
    gamma_value: wp.float32, rho_value: wp.float32, c_value: wp.float32, lam_value: wp.float32,
    scheduled: wp.array(dtype=wp.float32),
    targets: wp.array2d(dtype=wp.float32), advantages: wp.array2d(dtype=wp.float32),
) -> None:  # fmt: skip
    row = wp.tid()
    gamma, rho_clip = current(gamma_value, scheduled, 0), current(rho_value, scheduled, 1)
    c_clip, lam = current(c_value, scheduled, 2), current(lam_value, scheduled, 3)
    steps = rewards.shape[0]
    value_ahead = values[steps, row]
    target_ahead = value_ahead
    for back in range(steps):
        t = steps - 1 - back
        value = values[t, row]
        ratio = wp.exp(target_log_probs[t, row] - behaviour_log_probs[t, row])
        rho = wp.min(rho_clip, ratio)
        discount = gamma
        if dones[t, row]:
            discount = wp.float32(0.0)
        surprise = rho * (rewards[t, row] + discount * value_ahead - value)
        target = value + surprise + discount * lam * wp.min(c_clip, ratio) * (target_ahead - value_ahead)
        advantages[t, row] = rho * (rewards[t, row] + discount * target_ahead - value)
        targets[t, row] = target
        value_ahead = value
        target_ahead = target
