"""PyTorch's own settings while a training runs, put back afterwards: how many threads, how exact products are, and how convolutions are chosen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

MIN_PARALLEL_ELEMENTS = 1 << 18
"""Numbers in an operation from which on several threads are faster. Below, they are slower by far wherever another program runs too."""


@contextmanager
def use_torch_settings(device: torch.device, numbers: int) -> Iterator[None]:
    """On a GPU: products in TF32, and of all ways to convolve the one that is fastest when they are tried.

    On the CPU: all cores for operations on many ``numbers``, one for few, where threads wait longer than they work.
    """
    threads, precision, tried = (
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.benchmark,
    )
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
    elif numbers < MIN_PARALLEL_ELEMENTS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.benchmark = tried
