"""Capture of CUDA graphs with the garbage collector disabled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable the garbage collector. If it frees a graph or an array on the GPU during a capture, it ends the capture
    or the process.

    It is not run beforehand: a full collection takes 0.2 s in a process with PyTorch and Warp.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def capture(device: wp.Device) -> Iterator[wp.ScopedCapture]:
    """Record the launches of the block. The graph is the attribute ``graph`` of the result. Kernels must be loaded."""
    with gc_disabled(), wp.ScopedCapture(device=device, force_module_load=False) as recording:
        yield recording
