"""A CUDA graph of a function, and its repair of PyTorch's state where the capture fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    stream = torch.cuda.current_stream(device)
    graph = torch.cuda.CUDAGraph()
    try:
        _capture(graph, body, device, generators)
    except BaseException as problem:
        refused = capture_refusal(problem)
        if refused is None:
            raise
        torch.cuda.set_stream(stream)
        _failed.append(graph)
        # The end of a capture restores the generators; that of the failed one did not get so far.
        _capture(torch.cuda.CUDAGraph(), lambda: torch.zeros(1, device=device).zero_(), device, generators)
        raise refused from problem
    return graph


def _capture(
    graph: torch.cuda.CUDAGraph,
    body: Callable[[], object],
    device: torch.device,
    generators: Sequence[torch.Generator],
) -> None:
    for generator in generators:
        graph.register_generator_state(generator)
    with (
        torch.cuda.device(device),
        gc_disabled(),
        torch.cuda.graph(graph, stream=torch.cuda.Stream(device), capture_error_mode="thread_local"),
    ):
        body()
