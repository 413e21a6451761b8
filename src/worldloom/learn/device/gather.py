"""Gather and scatter rows of rollout tensors with one kernel."""

from __future__ import annotations

import math

import torch

from worldloom.learn.device.gather_kernels import gather_words, scatter_words
from worldloom.learn.device.warp_launch import launch

MAX_ROW_ELEMENTS = 32
"""Wider rows are copied by PyTorch, with many threads each."""
WORD_BYTES = 8
"""Size of the largest elements that PyTorch copies."""


def gather(tensor: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """The rows at ``indices`` [B] of a tensor [T, N, ...] whose first two axes are flattened, [B, ...]."""
    flat = tensor.flatten(0, 1)
    elements = flat[0].numel()
    if tensor.device.type != "cuda" or tensor.element_size() != 4 or elements > MAX_ROW_ELEMENTS:
        return index_select(flat, 0, indices)
    target = tensor.new_empty((len(indices), *tensor.shape[2:]))
    launch(
        gather_words,
        len(indices),
        (flat.view(-1, elements).view(torch.int32), indices, target.view(-1, elements).view(torch.int32)),
        tensor.device,
    )
    return target


def index_select(tensor: torch.Tensor, axis: int, indices: torch.Tensor) -> torch.Tensor:
    """``tensor.index_select(axis, indices)``, copied in 8-byte words where possible."""
    selected = as_words(tensor, axis + 1).index_select(axis, indices)
    return (
        selected
        if selected.dtype == tensor.dtype
        else selected.view(tensor.dtype).view(*tensor.shape[:axis], len(indices), *tensor.shape[axis + 1 :])
    )


def as_words(tensor: torch.Tensor, axes: int) -> torch.Tensor:
    """A uint8 tensor [..., *image] as 8-byte words [..., words] in the same memory, which copy faster.

    Other types, sizes and layouts are returned unchanged.

    Args:
        tensor: Any tensor.
        axes: Number of axes before those of the image.
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
    launch(
        scatter_words, flat.numel(), (flat, slots, target.view(len(target), rows, -1).view(torch.int32)), values.device
    )
