"""Launches Warp kernels on PyTorch tensors and PyTorch's current stream, so that PyTorch's CUDA graphs capture them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import warp as wp

from worldloom.core.base.capture import capture
from worldloom.core.base.shards import WARP_LOCK

MAX_REPEATED = 2048
"""Maximum number of launches on the CPU that are remembered."""

_STREAMS: dict[tuple[int | None, int], wp.Stream] = {}
_repeated: dict[Hashable, wp.Graph | None] = {}
"""Launches on the CPU by kernel and arguments: None after the first, the recorded launch after the second."""
_recorded: list[list[Any]] = []
"""While launches are recorded, the list that receives their arrays."""


def warp_device(device: torch.device) -> wp.Device:
    """The Warp device of a PyTorch device."""
    return wp.device_from_torch(device)


def launch(kernel: wp.Kernel, rows: int | tuple[int, ...], arguments: Sequence[Any], device: torch.device) -> None:
    """Launch ``kernel`` over ``rows``, or over several axes. Tensors in ``arguments`` must be contiguous.

    On the CPU a launch that is repeated with the same memory is recorded and replayed, which takes a tenth of the time.
    """
    if device.type == "cpu" and not _recorded and _replay(kernel, rows, arguments):
        return
    raw = not _recorded  # faster, but cannot be recorded
    inputs = [
        wp.from_torch(a, requires_grad=False, return_ctype=raw) if isinstance(a, torch.Tensor) else a for a in arguments
    ]
    if _recorded:
        _recorded[-1].append(inputs)
    with WARP_LOCK:  # another thread may be recording
        wp.launch(
            kernel,
            dim=rows,
            inputs=inputs,
            device=warp_device(device),
            stream=current_stream(device),
            record_tape=False,
        )


@contextmanager
def record_launches(keep: list[Any]) -> Iterator[wp.ScopedCapture]:
    """Record the launches of the block on the CPU instead of running them; see :func:`~worldloom.core.base.capture`.

    Args:
        keep: Receives the arrays of the launches, which must live as long as the graph.
    """
    with WARP_LOCK, capture(wp.get_device("cpu")) as recording:
        _recorded.append(keep)
        try:
            yield recording
        finally:
            _recorded.pop()


def _replay(kernel: wp.Kernel, rows: int | tuple[int, ...], arguments: Sequence[Any]) -> bool:
    """Replay a launch; False where it is the first of its kind, or cannot be recorded."""
    key = _launch_key(kernel, rows, arguments)
    if key is None:
        return False
    graph = _repeated.get(key)
    if graph is None:
        if key not in _repeated:
            while len(_repeated) >= MAX_REPEATED:
                del _repeated[next(iter(_repeated))]
            _repeated[key] = None
            return False
        # Arrays without an owner: they must not keep tensors alive, whose memory is used again for the same launch.
        inputs = [_unowned(a) if isinstance(a, torch.Tensor) else a for a in arguments]
        with record_launches([]) as recording:
            wp.launch(kernel, dim=rows, inputs=inputs, device="cpu", record_tape=False)
        graph = _repeated[key] = recording.graph
    wp.capture_launch(graph)
    return True


def _launch_key(kernel: wp.Kernel, rows: int | tuple[int, ...], arguments: Sequence[Any]) -> Hashable:
    """What identifies a launch; None where an argument has no fixed value."""
    key: list[Any] = [kernel, rows]
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            key += (argument.data_ptr(), argument.shape, argument.stride())
        elif argument is None or isinstance(argument, (bool, int, float)):
            key.append(argument)
        elif isinstance(argument, wp.array):
            key.append(argument.ptr)
        else:
            return None
    return tuple(key)


def _unowned(tensor: torch.Tensor) -> wp.array:
    """An array of a tensor's memory that does not keep it alive."""
    size = tensor.element_size()
    return wp.array(
        ptr=tensor.data_ptr(),
        dtype=wp.dtype_from_torch(tensor.dtype),
        shape=tuple(tensor.shape),
        strides=tuple(stride * size for stride in tensor.stride()),
        device="cpu",
    )


def current_stream(device: torch.device) -> wp.Stream | None:
    """PyTorch's current stream as Warp's; None on the CPU."""
    if device.type != "cuda":
        return None
    stream = torch.cuda.current_stream(device)
    key = stream.device_index, stream.cuda_stream  # the default streams of all GPUs have the same handle
    if key not in _STREAMS:
        _STREAMS[key] = wp.stream_from_torch(stream)
    return _STREAMS[key]
