"""Categorical distributions: one or several independent choices, with masks.

``logits`` ``[..., L]`` are those of all parts, part after part; ``sizes`` are the choices of each part, with the sum L.
Logits are finite; forbidden choices are given by the mask, bool ``[..., L]``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError

MASKED_LOGIT = -1e30
"""The logit of a forbidden choice: probability 0 in any precision, but finite, so that 0 * log 0 has gradient 0."""


def apply_mask(logits: Tensor, mask: Tensor | None) -> Tensor:
    """The logits ``[..., choices]`` of one part, with MASKED_LOGIT where ``mask`` is False.

    A mask that allows nothing allows everything: an agent that has left has such a mask, and its numbers must stay
    finite.
    """
    logits = to_full_precision(logits)
    if mask is None:
        return logits
    return torch.where(mask | ~mask.any(-1, keepdim=True), logits, MASKED_LOGIT)


def categorical_log_prob_entropy(
    sizes: tuple[int, ...], logits: Tensor, choices: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Log-probability ``[...]`` of ``choices`` ``[..., parts]``, and entropy ``[...]``, summed over the parts."""
    indices = _split_blocks(sizes, choices.long())
    log_probs, entropies = [], []
    for scores, index in zip(_log_softmax(sizes, logits, mask), indices, strict=True):
        log_probs.append(_over_parts(scores.gather(-1, index.unsqueeze(-1)).squeeze(-1)))
        entropies.append(-_over_parts((scores.exp() * scores).sum(-1)))
    return _total(log_probs), _total(entropies)


def categorical_mode(sizes: tuple[int, ...], logits: Tensor, mask: Tensor | None) -> Tensor:
    """The first most likely choice of each part, int64 ``[..., parts]``."""
    best = [apply_mask(block, allowed).argmax(-1) for block, allowed in _blocks(sizes, logits, mask)]
    return best[0] if len(best) == 1 else torch.cat(best, -1)


def masked_logits(sizes: tuple[int, ...], logits: Tensor, mask: Tensor | None) -> Tensor:
    """Logits ``[..., sum(sizes)]`` in which forbidden choices have MASKED_LOGIT; see :func:`apply_mask`."""
    return torch.cat([apply_mask(block, allowed).flatten(-2) for block, allowed in _blocks(sizes, logits, mask)], -1)


def categorical_kl(sizes: tuple[int, ...], old_logits: Tensor, logits: Tensor, mask: Tensor | None) -> Tensor:
    """KL(old || new) ``[...]``, summed over the parts."""
    pairs = zip(_log_softmax(sizes, old_logits, mask), _log_softmax(sizes, logits, mask), strict=True)
    return _total([_over_parts((old.exp() * (old - new)).sum(-1)) for old, new in pairs])


def to_full_precision(values: Tensor) -> Tensor:
    """``values``, in float32 where they are in half precision."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _blocks(sizes: tuple[int, ...], logits: Tensor, mask: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
    """Logits and mask as blocks ``[..., parts, choices]``. Parts of equal size form one block."""
    if mask is not None and mask.shape[-1] != sum(sizes):
        raise InputError(
            f"a mask of {mask.shape[-1]} choices does not fit an action with {sum(sizes)}: "
            "give one flag for each choice of each part"
        )
    if len(set(sizes)) == 1:
        shape = (len(sizes), sizes[0])
        return [(logits.unflatten(-1, shape), None if mask is None else mask.unflatten(-1, shape))]
    parts = logits.unsqueeze(-2).split(sizes, -1)
    allowed = [None] * len(sizes) if mask is None else mask.unsqueeze(-2).split(sizes, -1)
    return list(zip(parts, allowed, strict=True))


def _split_blocks(sizes: tuple[int, ...], choices: Tensor) -> list[Tensor]:
    """Choices ``[..., parts]`` in the blocks of :func:`_blocks`."""
    return [choices] if len(set(sizes)) == 1 else list(choices.split(1, -1))


def _log_softmax(sizes: tuple[int, ...], logits: Tensor, mask: Tensor | None) -> list[Tensor]:
    return [torch.log_softmax(apply_mask(block, allowed), -1) for block, allowed in _blocks(sizes, logits, mask)]


def _over_parts(values: Tensor) -> Tensor:
    """The sum over the parts of a block; a view where there is one part."""
    return values.squeeze(-1) if values.shape[-1] == 1 else values.sum(-1)


def _total(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else torch.stack(values).sum(0)
