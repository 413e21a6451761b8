"""Capture of CUDA graphs with the garbage collector disabled, and the priorities of their kernels."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp

_FREE_MEMORY, _NODE_PRIORITIES = 1, 8
"""Flags of cuGraphInstantiateWithFlags: free what a launch left allocated, as Warp does, and use priorities."""


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


def use_stream_priorities(graph: wp.Graph) -> None:
    """Make the kernels of a CUDA graph run with the priorities of the streams on which they were recorded.

    Otherwise, as with a driver that is too old, all of them have the priority of the stream that launches the graph.
    """
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        instantiate = driver.cuGraphInstantiateWithFlags
    except (OSError, AttributeError):
        return
    instantiate.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_ulonglong]
    executable = ctypes.c_void_p()
    with wp.ScopedDevice(graph.device):
        failed = instantiate(ctypes.byref(executable), graph.graph, _FREE_MEMORY | _NODE_PRIORITIES)
    if not failed:
        graph.graph_exec = executable
