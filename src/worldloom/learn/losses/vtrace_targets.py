"""V-trace: off-policy value targets and advantages.

The definitions are those of IMPALA (Espeholt et al., 2018, section 4.1). With the importance ratio
w_t = pi(a_t | x_t) / mu(a_t | x_t) of target to behavior policy, rho_t = min(rho_clip, w_t) and
c_t = lam * min(c_clip, w_t)::

    delta_t     = rho_t * (r_t + gamma * V_{t+1} - V_t)
    v_t         = V_t + delta_t + gamma * c_t * (v_{t+1} - V_{t+1}),    v_T = V_T
    advantage_t = rho_t * (r_t + gamma * v_{t+1} - V_t)

where ``gamma`` is 0 at a step that ended its episode. ``rho_clip`` determines the policy whose value is learned,
``c_clip`` only the speed of convergence.
"""

from __future__ import annotations

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.device.device_numbers import Number, kernel_numbers
from worldloom.learn.device.tensor_checks import check_tensor, check_window
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.losses.vtrace_kernels import vtrace_backward


def vtrace(
    behaviour_log_probs: torch.Tensor,
    target_log_probs: torch.Tensor,
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    gamma: Number,
    *,
    rho_clip: Number = 1.0,
    c_clip: Number = 1.0,
    lam: Number = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Value targets and policy-gradient advantages of a window of a behavior policy.

    Args:
        behaviour_log_probs: Log-probability of each action under the behavior policy, float32 [T, N].
        target_log_probs: Log-probability of each action under the target policy, float32 [T, N].
        rewards: Reward of each step, float32 [T, N].
        values: V before each step and after the last, of the target network, float32 [T + 1, N].
        dones: Whether the episode ended with the step, bool [T, N].
        gamma: Discount factor; this and the next three are float32 tensors [] where they change during training.
        rho_clip: Clip of the importance weight rho.
        c_clip: Clip of the trace weight c; at most ``rho_clip``.
        lam: Decay of the traces: 0 for one-step targets.

    Returns:
        The targets v_t and the advantages, both [T, N]; no gradient flows through them.
    """
    check_window(rewards, values, dones)
    shape = tuple(rewards.shape)
    check_tensor("behaviour_log_probs", behaviour_log_probs, shape, torch.float32, rewards.device)
    check_tensor("target_log_probs", target_log_probs, shape, torch.float32, rewards.device)
    on_host = not isinstance(c_clip, torch.Tensor) and not isinstance(rho_clip, torch.Tensor)
    if on_host and c_clip > rho_clip:
        raise InputError(
            f"V-trace needs c_clip of at most rho_clip, but {c_clip} is above {rho_clip}: "
            "lower c_clip or raise rho_clip"
        )
    targets, advantages = torch.empty_like(rewards, requires_grad=False), torch.empty_like(rewards, requires_grad=False)
    inputs = [tensor.detach() for tensor in (behaviour_log_probs, target_log_probs, rewards, values, dones)]
    numbers, scheduled = kernel_numbers(rewards.device, gamma, rho_clip, c_clip, lam)
    launch(vtrace_backward, shape[1], (*inputs, *numbers, scheduled, targets, advantages), rewards.device)
    return targets, advantages
