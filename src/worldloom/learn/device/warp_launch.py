"""Launches Warp kernels on PyTorch tensors and PyTorch's current stream, so that PyTorch's CUDA graphs capture them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import warp as wp

_STREAMS: dict[tuple[int | None, int], wp.Stream] = {}


def warp_device(device: torch.device) -> wp.Device:
    """The Warp device of a PyTorch device."""
    return wp.device_from_torch(device)


def launch(kernel: wp.Kernel, rows: int | tuple[int, ...], arguments: Sequence[Any], device: torch.device) -> None:
    """Launch ``kernel`` over ``rows``, or over several axes. Tensors in ``arguments`` must be contiguous."""
    inputs = [
        wp.from_torch(a, requires_grad=False, return_ctype=True) if isinstance(a, torch.Tensor) else a
        for a in arguments
    ]
    wp.launch(
        kernel, dim=rows, inputs=inputs, device=warp_device(device), stream=current_stream(device), record_tape=False
    )


def current_stream(device: torch.device) -> wp.Stream | None:
    """PyTorch's current stream as Warp's; None on the CPU."""
    if device.type != "cuda":
        return None
    stream = torch.cuda.current_stream(device)
    key = stream.device_index, stream.cuda_stream  # the default streams of all GPUs have the same handle
    if key not in _STREAMS:
        _STREAMS[key] = wp.stream_from_torch(stream)
    return _STREAMS[key]
