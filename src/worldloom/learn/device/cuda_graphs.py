"""Work that is the same at every call: run as it is on the CPU, captured once as a CUDA graph and replayed on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch

from worldloom.core.base.capture import gc_disabled


class CudaGraphed:
    """A function without arguments that works on fixed tensors.

    On a GPU the first call runs it as it is, which lets libraries set themselves up; the second captures it; from then on it is one launch.

    Args:
        body: The work. It must not wait for the GPU, nor depend on anything that changes on the host.
        device: Where it runs.
        captured: Whether a CUDA graph may be made of it.
        version: Changes with whatever the work depends on beside the tensors' contents; it is then captured anew.
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
                self._graph = torch.cuda.CUDAGraph()
                with gc_disabled(), torch.cuda.graph(self._graph):
                    self.body()
            self._graph.replay()

    def _warm_up(self) -> None:
        """Capturing must not be the first use of a stream by cuBLAS and others, so the first call has one of its own."""
        own = torch.cuda.Stream()
        own.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(own):
            self.body()
        torch.cuda.current_stream().wait_stream(own)
