"""Numbers that kernels take from the host, or from the device where they change between replays of a CUDA graph."""

from __future__ import annotations

import torch

Number = float | torch.Tensor
"""A number on the host, or a float32 tensor [] on the device."""


def kernel_numbers(device: torch.device, *numbers: Number) -> tuple[list[float], torch.Tensor]:
    """Two forms of ``numbers``, of which a kernel uses the second where it is not empty.

    Returns:
        The numbers on the host, and an empty tensor; or, where at least one is on the device, zeros and all of them in
        one float32 tensor on the device.
    """
    if not any(isinstance(number, torch.Tensor) for number in numbers):
        return [float(number) for number in numbers], torch.empty(0, device=device)
    tensors = [
        number if isinstance(number, torch.Tensor) else torch.full((), number, device=device) for number in numbers
    ]
    return [0.0] * len(numbers), torch.stack(tensors)
