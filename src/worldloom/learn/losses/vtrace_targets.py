"""V-trace: value targets and advantages for a policy that differs a little from the one that acted.

The definitions are those of IMPALA (Espeholt et al., 2018, section 4.1). With the ratio w_t = pi(a_t | x_t) / mu(a_t | x_t)
of the policy that learns to the one that acted, rho_t = min(rho_clip, w_t) and c_t = lam * min(c_clip, w_t)::

    delta_t     = rho_t * (r_t + gamma * V_{t+1} - V_t)
    v_t         = V_t + delta_t + gamma * c_t * (v_{t+1} - V_{t+1}),    v_T = V_T
    advantage_t = rho_t * (r_t + gamma * v_{t+1} - V_t)

where ``gamma`` is 0 at a step that ended its episode. ``rho_clip`` says which policy's value is learned, ``c_clip`` only how
fast: how far back a surprise reaches.
"""

from __future__ import annotations

import torch
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.losses.advantages import check_tensor, check_window


@wp.kernel(enable_backward=False)
def _vtrace(
    behaviour_log_probs: wp.array2d(dtype=wp.float32),
    target_log_probs: wp.array2d(dtype=wp.float32),
    rewards: wp.array2d(dtype=wp.float32),
    values: wp.array2d(dtype=wp.float32),
    dones: wp.array2d(dtype=wp.bool),
    gamma: wp.float32,
    rho_clip: wp.float32,
    c_clip: wp.float32,
    lam: wp.float32,
    targets: wp.array2d(dtype=wp.float32),
    advantages: wp.array2d(dtype=wp.float32),
) -> None:
    row = wp.tid()
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


def vtrace(
    behaviour_log_probs: torch.Tensor,
    target_log_probs: torch.Tensor,
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    gamma: float,
    *,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
    lam: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Value targets and policy-gradient advantages of a window that another policy acted in.

    Args:
        behaviour_log_probs: Log-probability of each action under the policy that took it, float32 [T, N].
        target_log_probs: The same under the policy that learns, float32 [T, N].
        rewards: What each step gave, float32 [T, N].
        values: V before each step and after the last, by the network that learns, float32 [T + 1, N].
        dones: Whether the episode ended with the step, bool [T, N].
        gamma: The discount per step.
        rho_clip: The most that a step's own surprise counts.
        c_clip: The most that later surprises are passed on by each step; not above ``rho_clip``.
        lam: How much of later surprises is passed on at all: 0 gives one-step targets.

    Returns:
        The targets v_t and the advantages, both [T, N]; no gradient flows through them.
    """
    check_window(rewards, values, dones)
    shape = tuple(rewards.shape)
    check_tensor("behaviour_log_probs", behaviour_log_probs, shape, torch.float32, rewards.device)
    check_tensor("target_log_probs", target_log_probs, shape, torch.float32, rewards.device)
    if c_clip > rho_clip:
        raise InputError(
            f"V-trace needs c_clip of at most rho_clip, but {c_clip} is above {rho_clip}: lower c_clip or raise rho_clip"
        )
    targets, advantages = torch.empty_like(rewards, requires_grad=False), torch.empty_like(rewards, requires_grad=False)
    inputs = [tensor.detach() for tensor in (behaviour_log_probs, target_log_probs, rewards, values, dones)]
    launch(_vtrace, shape[1], (*inputs, gamma, rho_clip, c_clip, lam, targets, advantages), rewards.device)
    return targets, advantages
