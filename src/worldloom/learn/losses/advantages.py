"""Returns and advantages of a window of steps: GAE, n-step returns, and bootstrap values at truncation.

A window has T steps of N rows, time first. ``values[t]`` is V of the observation before step t, and ``values[T]`` that
after the last step. Nothing is carried over a step where ``dones`` is True. For truncated episodes,
:func:`add_bootstrap_values` first adds the discounted bootstrap value to the reward, so that the estimators need not
distinguish termination from truncation.
"""

from __future__ import annotations

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.device.device_numbers import Number, kernel_numbers
from worldloom.learn.device.tensor_checks import check_tensor, check_window, output_tensor
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.losses.advantage_kernels import add_final_values, gae_backward, n_step_returns_backward


def gae(
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    gamma: Number,
    lam: Number,
    *,
    advantages: torch.Tensor | None = None,
    returns: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Generalized advantage estimation (Schulman et al., 2016): ``sum over k of (gamma * lam)^k * delta_{t+k}``.

    Args:
        rewards: Reward of each step, float32 [T, N].
        values: V before each step and after the last, float32 [T + 1, N].
        dones: Whether the episode ended with the step, bool [T, N].
        gamma: Discount factor; a float32 tensor [] on the device where it changes during training.
        lam: GAE lambda: 0 for one-step advantages, 1 for Monte Carlo returns of the window.
        advantages: Output tensor, float32 [T, N]; None to allocate it.
        returns: Output tensor, float32 [T, N]; None to allocate it.

    Returns:
        The advantages, and the value targets: advantage + value. Both [T, N].
    """
    check_window(rewards, values, dones)
    advantages, returns = output_tensor("advantages", advantages, rewards), output_tensor("returns", returns, rewards)
    numbers, scheduled = kernel_numbers(rewards.device, gamma, lam)
    arguments = (rewards.detach(), values.detach(), dones, *numbers, scheduled, advantages, returns)
    launch(gae_backward, rewards.shape[1], arguments, rewards.device)
    return advantages, returns


def n_step_returns(
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    gamma: Number,
    n: int,
    *,
    returns: torch.Tensor | None = None,
) -> torch.Tensor:
    """n-step returns: at most ``n`` rewards, and the bootstrap value after them.

    A return stops early at the end of its episode, without bootstrap, and at the end of the window, with ``values[T]``.

    Args:
        rewards: Reward of each step, float32 [T, N].
        values: V before each step and after the last, float32 [T + 1, N].
        dones: Whether the episode ended with the step, bool [T, N].
        gamma: Discount factor.
        n: Maximum number of rewards.
        returns: Output tensor, float32 [T, N]; None to allocate it.

    Returns:
        The returns, [T, N].
    """
    check_window(rewards, values, dones)
    if n < 1:
        raise InputError(f"an n-step return needs n of 1 or more, not {n}")
    returns = output_tensor("returns", returns, rewards)
    numbers, scheduled = kernel_numbers(rewards.device, gamma)
    arguments = (rewards.detach(), values.detach(), dones, *numbers, scheduled, n, returns)
    launch(n_step_returns_backward, rewards.shape[1], arguments, rewards.device)
    return returns


def add_bootstrap_values(rewards: torch.Tensor, steps: torch.Tensor, final_values: torch.Tensor, gamma: Number) -> None:
    """Add ``gamma`` times the value of the final observation to the reward of each truncated step.

    Args:
        rewards: Reward of each step, float32 [T, N]; changed in place.
        steps: Steps at which each row was truncated, int32 [S, N]; -1 for an unused slot.
        final_values: V of the final observation of those steps, float32 [S, N].
        gamma: Discount factor.
    """
    if rewards.ndim != 2:
        raise InputError(f"rewards must have the shape [T, N], not {list(rewards.shape)}")
    shape = (steps.shape[0], rewards.shape[1])
    check_tensor("rewards", rewards, tuple(rewards.shape), torch.float32, rewards.device)
    check_tensor("steps", steps, shape, torch.int32, rewards.device)
    check_tensor("final_values", final_values, shape, torch.float32, rewards.device)
    numbers, scheduled = kernel_numbers(rewards.device, gamma)
    arguments = (rewards, steps, final_values.detach(), *numbers, scheduled)
    launch(add_final_values, rewards.shape[1], arguments, rewards.device)
