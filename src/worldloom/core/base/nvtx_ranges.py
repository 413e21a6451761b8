"""NVTX ranges: names in the timelines of NVIDIA's profilers. They cost nothing without a profiler."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NVTX_VARIABLE = "WORLDLOOM_NVTX"
"""Environment variable that switches ranges on (1) or off (0); unset, they are on under a profiler."""

_INJECTED = ("NVTX_INJECTION64_PATH", "NVTX_INJECTION32_PATH")
"""NVIDIA's profilers set one of these variables for the programs that they start."""


def profiler_attached() -> bool:
    """Whether ranges are switched on, and PyTorch can emit them."""
    enabled = (
        os.environ[NVTX_VARIABLE] == "1"
        if NVTX_VARIABLE in os.environ
        else any(name in os.environ for name in _INJECTED)
    )
    return enabled and _nvtx_available()


@functools.cache
def _nvtx_available() -> bool:
    try:
        from torch.cuda import nvtx

        nvtx.range_push("worldloom")
        nvtx.range_pop()
    except (ImportError, RuntimeError):  # a build of PyTorch without CUDA
        return False
    return True


@contextmanager
def nvtx_range(name: str) -> Iterator[None]:
    """A range around the block."""
    from torch.cuda import nvtx

    nvtx.range_push(name)
    try:
        yield
    finally:
        nvtx.range_pop()


def with_nvtx_range(name: str, run: Callable[[], None]) -> Callable[[], None]:
    """``run`` with a range around each call where ranges are on now, and ``run`` itself otherwise."""
    if not profiler_attached():
        return run

    def ranged() -> None:
        with nvtx_range(name):
            run()

    return ranged
