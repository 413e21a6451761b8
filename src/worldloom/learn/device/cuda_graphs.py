"""Repeated work on fixed tensors: captured once as a CUDA graph and replayed on a GPU, run directly on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch

from worldloom.core.base.capture import gc_disabled


class CudaGraphed:
    """A function without arguments that works on fixed tensors.

    On a GPU the first call runs it directly, which initializes libraries; the second captures it; later calls replay.

    Args:
        body: The work. It must not synchronize with the GPU, nor depend on anything that changes on the host.
        device: The device.
        captured: Whether it may be captured.
        version: Returns a value that changes with anything else the work depends on; it is then captured again.
    """

    def __init__(
        self,
        body: Callable[[], None],
        device: torch.device,
        captured: bool = True,
        version: Callable[[], Hashable] = lambda: 0,
    ) -> None:
        self.body, self.version = body, version
        self.captured = captured and device.type == "cuda"
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._captured_version: Hashable = None

    def __call__(self) -> None:
        version = self.version() if self.captured else None
        if version != self._captured_version:
            self._calls, self._graph, self._captured_version = 0, None, version
        self._calls += 1
        if not self.captured:
            self.body()
        elif self._calls == 1:
            self._warm_up()
        else:
            if self._graph is None:
                self._graph = self._capture()
            self._graph.replay()

    def _capture(self) -> torch.cuda.CUDAGraph:
        """The graph of the body; where the body fails, its own error.

        The end of the capture would hide it: work of a second stream, which the body did not wait for, is an error too.
        """
        graph, failure = torch.cuda.CUDAGraph(), None
        try:
            with gc_disabled(), torch.cuda.graph(graph):
                try:
                    self.body()
                except Exception as error:
                    failure = error
                    raise
        except Exception:
            if failure is not None:
                raise failure from None
            raise
        return graph

    def _warm_up(self) -> None:
        """Run the body on a side stream, since cuBLAS and others must be initialized before a capture."""
        side_stream = torch.cuda.Stream()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            self.body()
        torch.cuda.current_stream().wait_stream(side_stream)
