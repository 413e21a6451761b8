"""Independent work beside each other on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

MAX_STREAMS = 4
"""Streams at most: each keeps the memory that its work has freed."""


class SideStreams:
    """Runs independent work on streams of a GPU beside each other; on the CPU one after the other.

    The calls may be captured in a graph. Tensors that the work uses must be kept until :meth:`wait`.

    Args:
        device: The device.
        concurrent: Whether work may run beside other work.
    """

    def __init__(self, device: torch.device, concurrent: bool = True) -> None:
        self._device, self._concurrent = device, concurrent and device.type == "cuda"
        self._streams: list[torch.cuda.Stream] = []
        self._started = 0

    def start(self, work: Sequence[Callable[[], None]]) -> None:
        """Start all ``work``, beside what follows on the current stream until :meth:`wait`."""
        if not self._concurrent:
            for call in work:
                call()
            return
        self._started = min(len(work), MAX_STREAMS)
        while len(self._streams) < self._started:
            self._streams.append(torch.cuda.Stream(self._device))
        for stream in self._streams[: self._started]:
            stream.wait_stream(torch.cuda.current_stream(self._device))
        for number, call in enumerate(work):
            with torch.cuda.stream(self._streams[number % MAX_STREAMS]):
                call()

    def wait(self) -> None:
        """Let the current stream wait for the work that was started."""
        for stream in self._streams[: self._started]:
            torch.cuda.current_stream(self._device).wait_stream(stream)
        self._started = 0
