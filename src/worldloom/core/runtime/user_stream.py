"""The stream of a GPU on which steps run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import warp as wp


class UserStream:
    """Returns the user's stream at every call: PyTorch's current one where PyTorch is in use, Warp's otherwise.

    Args:
        device: A GPU.
    """

    def __init__(self, device: wp.Device) -> None:
        self.device = device
        self._streams: dict[int, wp.Stream] = {}
        self._current_handle: Callable[[], int] | None = None
        """Returns the handle of PyTorch's current stream; None until PyTorch uses CUDA."""

    def __call__(self) -> wp.Stream:
        if self._current_handle is None:
            torch = sys.modules.get("torch")
            if torch is None or not torch.cuda.is_initialized():
                return self.device.stream
            # Takes a tenth of the time of torch.cuda.current_stream.
            self._current_handle = functools.partial(torch._C._cuda_getCurrentRawStream, self.device.ordinal)
        handle = self._current_handle()
        stream = self._streams.get(handle)
        if stream is None:
            stream = wp.Stream(self.device, cuda_stream=handle) if handle else self.device.null_stream
            self._streams[handle] = stream
        return stream
