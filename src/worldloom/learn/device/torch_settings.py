"""PyTorch's global settings during training: threads, matmul precision, choice of convolution algorithms, autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

MIN_PARALLEL_ELEMENTS = 1 << 18
"""Elements of an operation from which several threads are faster. Below, they are much slower on a busy machine."""


@contextmanager
def use_torch_settings(device: torch.device, elements: int) -> Iterator[None]:
    """Settings that suit ``device``, restored on exit.

    On a GPU: TF32 products, and cuDNN's benchmark mode. On the CPU: one thread where the largest operation has few
    ``elements``, since threads would wait longer than they work.
    """
    threads, precision, benchmark = (
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.benchmark,
    )
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
    elif elements < MIN_PARALLEL_ELEMENTS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.benchmark = benchmark


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Autocast to bfloat16 for precision ``bf16``; no change for ``fp32``."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()
