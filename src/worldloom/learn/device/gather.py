"""Rows of a roll-out's tensors, picked or put away by one kernel."""

from __future__ import annotations

import math

import torch
import warp as wp

from worldloom.learn.device.warp_launch import launch

MAX_ROW_ELEMENTS = 32
"""Wider rows are left to PyTorch, which copies them with many threads each."""
WORD_BYTES = 8
"""Bytes in the largest numbers that PyTorch copies."""


@wp.kernel(enable_backward=False)
def _take(source: wp.array2d(dtype=wp.int32), places: wp.array(dtype=wp.int64), target: wp.array2d(dtype=wp.int32)):
    row = wp.tid()
    place = places[row]
    for k in range(source.shape[1]):
        target[row, k] = source[place, k]


@wp.kernel(enable_backward=False)
def _put(source: wp.array2d(dtype=wp.int32), slots: wp.array(dtype=wp.int32), target: wp.array3d(dtype=wp.int32)):
    row = wp.tid() // source.shape[1]
    slot = slots[row]
    if slot >= 0:
        k = wp.tid() % source.shape[1]
        target[slot, row, k] = source[row, k]


def gather(tensor: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The entries at ``places`` [B] of a tensor [T, N, ...] whose first two axes count as one, [B, ...]."""
    flat = tensor.flatten(0, 1)
    numbers = flat[0].numel()
    if tensor.device.type != "cuda" or tensor.element_size() != 4 or numbers > MAX_ROW_ELEMENTS:
        return index_select(flat, 0, places)
    target = tensor.new_empty((len(places), *tensor.shape[2:]))
    launch(
        _take,
        len(places),
        (flat.view(-1, numbers).view(torch.int32), places, target.view(-1, numbers).view(torch.int32)),
        tensor.device,
    )
    return target


def index_select(tensor: torch.Tensor, axis: int, places: torch.Tensor) -> torch.Tensor:
    """``tensor.index_select(axis, places)``, in words where it can be."""
    found = as_words(tensor, axis + 1).index_select(axis, places)
    return (
        found
        if found.dtype == tensor.dtype
        else found.view(tensor.dtype).view(*tensor.shape[:axis], len(places), *tensor.shape[axis + 1 :])
    )


def as_words(tensor: torch.Tensor, axes: int) -> torch.Tensor:
    """Bytes [..., *picture] as words of 8 bytes [..., words], in the same memory: they are copied faster. What lies otherwise stays as it is.

    Args:
        tensor: Anything.
        axes: How many of its axes come before the picture.
    """
    size = math.prod(tensor.shape[axes:])
    if (
        tensor.dtype != torch.uint8
        or tensor.ndim == axes
        or size == 0
        or size % WORD_BYTES
        or not tensor.is_contiguous()
        or tensor.data_ptr() % WORD_BYTES
    ):
        return tensor
    return tensor.view(*tensor.shape[:axes], size).view(torch.int64)


def scatter_rows(values: torch.Tensor, slots: torch.Tensor, target: torch.Tensor) -> None:
    """Copy row n of ``values`` [N, ...] to ``target[slots[n], n]`` [S, N, ...] wherever ``slots`` [N] is not -1."""
    rows, size = len(values), values[0].numel() * values.element_size()
    if size % 4:
        for slot in range(len(target)):
            chosen = (slots == slot).view(-1, *[1] * (values.ndim - 1))
            torch.where(chosen, values, target[slot], out=target[slot])
        return
    flat = values.contiguous().view(rows, -1).view(torch.int32)
    launch(_put, flat.numel(), (flat, slots, target.view(len(target), rows, -1).view(torch.int32)), values.device)
