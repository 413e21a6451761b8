"""Returns and advantages from a window of steps: generalised advantages, n-step returns, and values at time limits.

A window has T steps of N rows, time first. ``values[t]`` is V of what a row saw before step t, and ``values[T]`` of what it
saw after the last one. ``dones`` tells where an episode ended; nothing is carried over such a step. Where a time limit
cut an episode off, :func:`add_bootstrap_values` first adds what was still to come to the reward, so that no estimator here needs
to know why an episode ended.

One thread walks one row from its last step to its first.
"""

from __future__ import annotations

import torch
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.learn.device.warp_launch import launch


@wp.kernel(enable_backward=False)
def _gae(
    rewards: wp.array2d(dtype=wp.float32),
    values: wp.array2d(dtype=wp.float32),
    dones: wp.array2d(dtype=wp.bool),
    gamma: wp.float32,
    lam: wp.float32,
    advantages: wp.array2d(dtype=wp.float32),
    returns: wp.array2d(dtype=wp.float32),
) -> None:
    row = wp.tid()
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
def _n_step_returns(
    rewards: wp.array2d(dtype=wp.float32),
    values: wp.array2d(dtype=wp.float32),
    dones: wp.array2d(dtype=wp.bool),
    gamma: wp.float32,
    n: wp.int32,
    returns: wp.array2d(dtype=wp.float32),
) -> None:
    row = wp.tid()
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
def _add_final_values(
    rewards: wp.array2d(dtype=wp.float32),
    steps: wp.array2d(dtype=wp.int32),
    final_values: wp.array2d(dtype=wp.float32),
    gamma: wp.float32,
) -> None:
    row = wp.tid()
    for s in range(steps.shape[0]):
        t = steps[s, row]
        if t >= 0 and t < rewards.shape[0]:
            rewards[t, row] = rewards[t, row] + gamma * final_values[s, row]


def gae(
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    gamma: float,
    lam: float,
    *,
    advantages: torch.Tensor | None = None,
    returns: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Generalised advantages: the exponential mean, by ``lam``, of the n-step advantages of every n.

    Args:
        rewards: What each step gave, float32 [T, N].
        values: V before each step and after the last, float32 [T + 1, N].
        dones: Whether the episode ended with the step, bool [T, N].
        gamma: The discount per step.
        lam: 0 trusts the values (one step), 1 trusts the rewards (the whole window).
        advantages: Where to write the advantages, float32 [T, N]; None makes room.
        returns: Where to write the returns, float32 [T, N]; None makes room.

    Returns:
        The advantages, and the returns that values should come to: advantage + value. Both [T, N].
    """
    check_window(rewards, values, dones)
    advantages, returns = output_tensor("advantages", advantages, rewards), output_tensor("returns", returns, rewards)
    arguments = (rewards.detach(), values.detach(), dones, gamma, lam, advantages, returns)
    launch(_gae, rewards.shape[1], arguments, rewards.device)
    return advantages, returns


def n_step_returns(
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    gamma: float,
    n: int,
    *,
    returns: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns of at most ``n`` rewards, and the value of what follows them.

    A return stops early at the end of its episode, with nothing after it, and at the end of the window, with ``values[T]`` after it.

    Args:
        rewards: What each step gave, float32 [T, N].
        values: V before each step and after the last, float32 [T + 1, N].
        dones: Whether the episode ended with the step, bool [T, N].
        gamma: The discount per step.
        n: The most rewards that a return counts.
        returns: Where to write the returns, float32 [T, N]; None makes room.

    Returns:
        The returns, [T, N].
    """
    check_window(rewards, values, dones)
    if n < 1:
        raise InputError(f"an n-step return needs n of 1 or more, not {n}")
    returns = output_tensor("returns", returns, rewards)
    launch(
        _n_step_returns, rewards.shape[1], (rewards.detach(), values.detach(), dones, gamma, n, returns), rewards.device
    )
    return returns


def add_bootstrap_values(rewards: torch.Tensor, steps: torch.Tensor, final_values: torch.Tensor, gamma: float) -> None:
    """Add ``gamma`` times the value of the final observation to the reward of each step that a time limit ended.

    Args:
        rewards: What each step gave, float32 [T, N]; changed in place.
        steps: At which steps each row was cut off, int32 [S, N]; -1 where a place is not used.
        final_values: V of the final observation of those steps, float32 [S, N].
        gamma: The discount per step.
    """
    if rewards.ndim != 2:
        raise InputError(f"rewards must have the shape [T, N], not {list(rewards.shape)}")
    shape = (steps.shape[0], rewards.shape[1])
    check_tensor("rewards", rewards, tuple(rewards.shape), torch.float32, rewards.device)
    check_tensor("steps", steps, shape, torch.int32, rewards.device)
    check_tensor("final_values", final_values, shape, torch.float32, rewards.device)
    launch(_add_final_values, rewards.shape[1], (rewards, steps, final_values.detach(), gamma), rewards.device)


def check_window(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor) -> None:
    """Make sure that rewards, values and dones describe one window: kernels read memory as it lies, whatever its type."""
    if rewards.ndim != 2 or rewards.shape[0] == 0:
        raise InputError(f"rewards must have the shape [T, N] with at least one step, not {list(rewards.shape)}")
    steps, rows = rewards.shape
    check_tensor("rewards", rewards, (steps, rows), torch.float32, rewards.device)
    check_tensor("values", values, (steps + 1, rows), torch.float32, rewards.device)
    check_tensor("dones", dones, (steps, rows), torch.bool, rewards.device)


def check_tensor(
    name: str, tensor: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> None:
    """Make sure that a tensor has this shape and type, and lies on this device."""
    if tuple(tensor.shape) != shape or tensor.dtype != dtype or tensor.device != device:
        found = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}"
        raise InputError(
            f"{name} must be {dtype} {list(shape)} on {device}, not {found}: convert or move the tensor first"
        )


def output_tensor(name: str, given: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """The tensor to write a result to: the one that was given, or a new one like ``like``."""
    if given is None:
        return torch.empty_like(like, requires_grad=False)
    check_tensor(name, given, tuple(like.shape), like.dtype, like.device)
    return given
