"""PyTorch's global settings during training: threads, matmul precision, choice of convolution algorithms, autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch

from worldloom.core.kernels.random import fold_seed

MIN_PARALLEL_ELEMENTS = 1 << 18
"""Elements of an operation from which several threads are faster. Below, they are much slower on a busy machine."""
MAX_THREADS = 1024
"""Maximum of the threads that a checkpoint may name."""


def useful_threads(elements: int) -> int:
    """Threads for PyTorch's operations on the CPU, of which the largest has this many ``elements``.

    Sums are rounded in another order with another number of threads.
    """
    return 1 if elements < MIN_PARALLEL_ELEMENTS else torch.get_num_threads()


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for PyTorch's operations on the CPU, restored on exit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def seeded_torch(seed: int) -> Iterator[None]:
    """Random numbers of PyTorch on the CPU that follow from ``seed`` modulo 2**64; the state is restored on exit.

    PyTorch's generator uses the lower 32 bits of a seed only, into which the upper ones are hashed.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(fold_seed(np.asarray(seed % 2**64, np.uint64))))
        yield


@contextmanager
def use_torch_settings(device: torch.device, threads: int) -> Iterator[None]:
    """Settings that suit ``device``, restored on exit.

    On a GPU: TF32 products, and cuDNN's benchmark mode. On the CPU: so many ``threads``, see :func:`useful_threads`.
    """
    before, precision, benchmark = (
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.benchmark,
    )
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
    else:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.benchmark = benchmark


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Autocast to bfloat16 for precision ``bf16``; no change for ``fp32``."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()
