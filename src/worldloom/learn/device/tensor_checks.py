"""Checks of tensors that kernels read: shape, type and device."""

from __future__ import annotations

import torch

from worldloom.core.base.errors import InputError


def check_window(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor) -> None:
    """InputError unless rewards, values and dones describe one window. Kernels do not check types themselves."""
    if rewards.ndim != 2 or rewards.shape[0] == 0:
        raise InputError(f"rewards must have the shape [T, N] with at least one step, not {list(rewards.shape)}")
    steps, rows = rewards.shape
    check_tensor("rewards", rewards, (steps, rows), torch.float32, rewards.device)
    check_tensor("values", values, (steps + 1, rows), torch.float32, rewards.device)
    check_tensor("dones", dones, (steps, rows), torch.bool, rewards.device)


def check_tensor(
    name: str, tensor: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> None:
    """InputError unless a tensor has this shape, type and device."""
    if tuple(tensor.shape) != shape or tensor.dtype != dtype or tensor.device != device:
        actual = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}"
        raise InputError(
            f"{name} must be {dtype} {list(shape)} on {device}, not {actual}: convert or move the tensor first"
        )


def output_tensor(name: str, tensor: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """The tensor for a result: ``tensor``, checked, or a new one like ``like``."""
    if tensor is None:
        return torch.empty_like(like, requires_grad=False)
    check_tensor(name, tensor, tuple(like.shape), like.dtype, like.device)
    return tensor
