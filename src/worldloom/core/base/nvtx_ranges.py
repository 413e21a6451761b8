"""NVTX ranges: names for what runs, for NVIDIA's profilers. They cost nothing where no profiler listens."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NVTX_VARIABLE = "WORLDLOOM_NVTX"
"""This environment variable, set to 1 or 0, decides where it is set."""

_INJECTED = ("NVTX_INJECTION64_PATH", "NVTX_INJECTION32_PATH")
"""NVIDIA's profilers set one of these for the programs that they start."""


def profiler_attached() -> bool:
    """Whether a profiler wants ranges, and PyTorch can send them."""
    wanted = (
        os.environ[NVTX_VARIABLE] == "1"
        if NVTX_VARIABLE in os.environ
        else any(name in os.environ for name in _INJECTED)
    )
    return wanted and _nvtx_available()


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
    """A range around what is done inside."""
    from torch.cuda import nvtx

    nvtx.range_push(name)
    try:
        yield
    finally:
        nvtx.range_pop()


def with_nvtx_range(name: str, run: Callable[[], None]) -> Callable[[], None]:
    """``run`` with a range around each call where a profiler listens now, and ``run`` itself otherwise."""
    if not profiler_attached():
        return run

    def ranged() -> None:
        with nvtx_range(name):
            run()

    return ranged
