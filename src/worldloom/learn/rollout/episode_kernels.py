# mypy: ignore-errors
"""The kernel that records one step of every row: reward, end of episode, and episode sums."""

from __future__ import annotations

import warp as wp


@wp.kernel(enable_backward=False)
def record_step(
    rewards: wp.array(dtype=wp.float32), terminated: wp.array(dtype=wp.bool), truncated: wp.array(dtype=wp.bool),
    ended: wp.array(dtype=wp.bool), weights: wp.array(dtype=wp.float32), lives: wp.array(dtype=wp.int32),
    agents: int, step: int, clip: bool, kept_reward: wp.array(dtype=wp.float32), kept_done: wp.array(dtype=wp.bool),
    kept_cut: wp.array(dtype=wp.bool), lives_before: wp.array(dtype=wp.int32),
    running: wp.array2d(dtype=wp.float32), parts: wp.array2d(dtype=wp.float64),
    final_steps: wp.array2d(dtype=wp.int32), final_count: wp.array(dtype=wp.int32), keep: wp.array(dtype=wp.int32),
):  # fmt: skip
    row = wp.tid()
    flag = row
    if terminated.shape[0] * agents == kept_done.shape[0]:
        flag = row // agents  # flags of the world apply to all its agents
    over = terminated[flag] or truncated[flag]
    if ended.shape[0] > 0:
        over = over or ended[row]  # agents that left earlier are not counted again: they are not present
    reward = rewards[row]
    if not wp.isfinite(reward):
        reward = 0.0  # a fault of its world, which is reset
    present = True
    if weights.shape[0] > 0:
        present = weights[row] > 0.0
    kept_reward[row] = wp.where(clip, wp.where(reward != 0.0, wp.sign(reward), 0.0), reward)
    kept_done[row] = over
    if lives.shape[0] > 0:
        kept_done[row] = over or lives[row] < lives_before[row]
        lives_before[row] = lives[row]
    cut = present and truncated[flag] and not terminated[flag]
    if kept_cut.shape[0] > 0:
        kept_cut[row] = cut
    if present:
        running[0, row] = running[0, row] + reward
        running[1, row] = running[1, row] + 1.0
        if over:
            part = row % parts.shape[0]
            wp.atomic_add(parts, part, 0, wp.float64(1.0))
            wp.atomic_add(parts, part, 1, wp.float64(running[0, row]))
            wp.atomic_add(parts, part, 2, wp.float64(running[1, row]))
            running[0, row] = 0.0
            running[1, row] = 0.0
    if final_count.shape[0] > 0:
        keep[row] = -1
        if cut:
            slot = wp.min(final_count[row], final_steps.shape[0] - 1)
            final_steps[slot, row] = step
            final_count[row] = slot + 1
            keep[row] = slot
