"""The capture of a CUDA graph, and the repair of PyTorch's state where it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch

from worldloom.core.base.capture import gc_disabled
from worldloom.vector.rollouts.capture_check import capture_refusal

_failed: list[torch.cuda.CUDAGraph] = []
"""Graphs whose capture failed. PyTorch's allocator may still refer to them."""


def capture_graph(
    body: Callable[[], None], device: torch.device, generators: Sequence[torch.Generator]
) -> torch.cuda.CUDAGraph:
    """Capture ``body``, which has run before, without running it.

    Args:
        body: Work on fixed memory.
        device: The GPU.
        generators: Random generators that ``body`` uses besides PyTorch's default one. Every replay draws new numbers.

    Raises:
        InputError: If CUDA refuses an operation. PyTorch stays usable.
    """
    graph, pool, stream = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle(), torch.cuda.current_stream(device)
    try:
        _capture(graph, pool, body, device, generators)
    except BaseException as problem:
        refused = capture_refusal(problem)
        if refused is None:
            raise
        _failed.append(graph)
        _repair(pool, stream, device, generators)
        raise refused from problem
    return graph


def _capture(
    graph: torch.cuda.CUDAGraph,
    pool: Any,
    body: Callable[[], object],
    device: torch.device,
    generators: Sequence[torch.Generator],
) -> None:
    for generator in generators:
        graph.register_generator_state(generator)
    with (
        torch.cuda.device(device),
        gc_disabled(),
        torch.cuda.graph(graph, pool, torch.cuda.Stream(device), capture_error_mode="thread_local"),
    ):
        body()


def _repair(pool: Any, stream: torch.cuda.Stream, device: torch.device, generators: Sequence[torch.Generator]) -> None:
    """Do what PyTorch leaves undone at the end of a capture that CUDA has refused."""
    with torch.cuda.device(device):
        torch.cuda.set_stream(stream)
        with suppress(AttributeError, RuntimeError):  # the allocator may have left the pool
            torch._C._cuda_endAllocateToPool(device.index, pool)
    # The end of a capture resets its random generators, among them the default one.
    new_pool = torch.cuda.graph_pool_handle()
    with suppress(RuntimeError):  # the refusal is the error to report
        _capture(torch.cuda.CUDAGraph(), new_pool, lambda: torch.zeros(1, device=device), device, generators)
