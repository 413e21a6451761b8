"""Independent work beside each other on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


class SideStreams:
    """Runs independent work on streams of a GPU, one for each; on the CPU one after the other.

    Both are the same in a graph that is captured meanwhile. Tensors that the work uses must be kept until :meth:`wait`.

    Args:
        device: The device.
        concurrent: Whether work may run beside other work.
    """

    def __init__(self, device: torch.device, concurrent: bool = True) -> None:
        self._device, self._concurrent = device, concurrent and device.type == "cuda"
        self._streams: list[torch.cuda.Stream] = []

    def start(self, work: Sequence[Callable[[], None]]) -> None:
        """Start all ``work``, beside what follows on the current stream until :meth:`wait`."""
        while self._concurrent and len(self._streams) < len(work):
            self._streams.append(torch.cuda.Stream(self._device))
        for number, call in enumerate(work):
            if not self._concurrent:
                call()
                continue
            self._streams[number].wait_stream(torch.cuda.current_stream(self._device))
            with torch.cuda.stream(self._streams[number]):
                call()

    def wait(self) -> None:
        """Let the current stream wait for all work."""
        for stream in self._streams:
            torch.cuda.current_stream(self._device).wait_stream(stream)
