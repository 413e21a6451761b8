"""Capture of CUDA graphs while the garbage collector stands still."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Switch the garbage collector off: a graph or an array on the GPU that it frees ends a capture, or the process.

    It is not run beforehand: one full collection takes 0.2 s in a process with PyTorch and Warp, as long as CartPole takes to learn.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def capture(device: wp.Device) -> Iterator[wp.ScopedCapture]:
    """Record the launches of the block; the graph is ``.graph`` of what this yields. Kernels must be loaded already."""
    with gc_disabled(), wp.ScopedCapture(device=device, force_module_load=False) as recorded:
        yield recorded
