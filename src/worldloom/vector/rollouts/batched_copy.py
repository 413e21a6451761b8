"""Copies of several tensors at once: one kernel on a GPU, where a small copy takes no longer than its launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import torch
import warp as wp
from torch import Tensor

from worldloom.core.base.shards import WARP_LOCK
from worldloom.vector.rollouts.copy_kernels import COPIES, copy_words

MAX_BYTES = 1 << 22
"""Tensors above this size are copied one by one: their copy takes longer than its launch."""
WORD = 4
"""Bytes that a thread copies."""

CurrentStream = Callable[[], Any]
"""Returns PyTorch's current stream as Warp's; None on the CPU."""
Pair = tuple[Tensor, Tensor]
"""A source and its target, of the same shape. Types may differ; integers are clamped to those of a narrower target."""


def prepare_copies(pairs: Sequence[Pair], device: wp.Device, current_stream: CurrentStream) -> Callable[[], None]:
    """A function that copies ``pairs``, whose memory must not move.

    Args:
        pairs: Sources and targets.
        device: Their device.
        current_stream: On a GPU, returns the stream on which to copy.
    """
    if device.is_cuda:
        return prepare_launches(pairs, device, current_stream)
    if any(_clamps(source.dtype, target.dtype) for source, target in pairs):
        return lambda: copy_each(pairs)
    # NumPy's assignments take a third of the time of PyTorch's copies.
    arrays = [(source.detach().numpy(), target.detach().numpy()) for source, target in pairs]

    def copy() -> None:
        for source, target in arrays:
            target[...] = source

    return copy


def copy_each(pairs: Sequence[Pair]) -> None:
    """Copy every pair by PyTorch."""
    for source, target in pairs:
        if _clamps(source.dtype, target.dtype):
            info = torch.iinfo(target.dtype)
            source = source.clamp(info.min, info.max)  # it would wrap around
        target.copy_(source)


def prepare_launches(pairs: Sequence[Pair], device: wp.Device, current_stream: CurrentStream) -> Callable[[], None]:
    """As :func:`prepare_copies`: a kernel copies what it can, and PyTorch the rest."""
    words = [pair for pair in pairs if _are_words(*pair)]
    wide = [pair for pair in pairs if _is_clamped_by_kernel(*pair)]
    others = [pair for pair in pairs if not _are_words(*pair) and not _is_clamped_by_kernel(*pair)]
    batches = [words[k : k + COPIES] for k in range(0, len(words), COPIES)]
    launches = [_launch_arguments(batch or (), clamped) for batch, clamped in zip_longest(batches, wide)]

    def copy() -> None:
        stream = current_stream()
        with WARP_LOCK:  # another thread may be recording
            for threads, arguments in launches:
                wp.launch(copy_words, threads, arguments, device=device, stream=stream, record_tape=False)
        copy_each(others)

    return copy


def _are_words(source: Tensor, target: Tensor) -> bool:
    """Whether a copy is one of whole words of the same bits, small enough for a thread each."""
    return (
        source.dtype == target.dtype
        and source.is_contiguous()
        and target.is_contiguous()
        and 0 < source.nbytes <= MAX_BYTES
        and source.nbytes % WORD == source.data_ptr() % WORD == target.data_ptr() % WORD == 0
    )


def _is_clamped_by_kernel(source: Tensor, target: Tensor) -> bool:
    return (
        source.dtype == torch.int64
        and target.dtype == torch.int32
        and source.is_contiguous()
        and target.is_contiguous()
        and 0 < source.nbytes <= MAX_BYTES
    )


def _clamps(source: torch.dtype, target: torch.dtype) -> bool:
    """Whether ``target`` is an integer type that cannot hold every integer of type ``source``."""
    if source == target or torch.bool in (source, target) or target.is_floating_point or source.is_floating_point:
        return False
    info, own = torch.iinfo(target), torch.iinfo(source)
    return own.min < info.min or info.max < own.max


def _launch_arguments(words: Sequence[Pair], clamped: Pair | None) -> tuple[int, list[Any]]:
    """The number of threads and the arguments of one launch."""
    arguments: list[Any] = [_words(tensor) for pair in words for tensor in pair]
    arguments += [None] * (2 * (COPIES - len(words)))
    arguments += [None, None] if clamped is None else [wp.from_torch(tensor.view(-1)) for tensor in clamped]
    return max(array.shape[0] for array in arguments if array is not None), arguments


def _words(tensor: Tensor) -> wp.array:
    """The memory of a contiguous tensor as 32-bit words."""
    return wp.from_torch(tensor.detach().view(-1).view(torch.uint8).view(torch.int32))
