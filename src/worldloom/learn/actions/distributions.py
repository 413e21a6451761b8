"""Differentiable action distributions: log-probability, entropy, mode, KL divergence, and scaling to the world's units.

``parameters`` are a network's outputs for an :class:`ActionSpec`: the concatenated logits of all parts, or a mean per
number. Logits are finite; forbidden choices are given by the mask. All functions take any leading shape ``[...]``,
compute in the precision of the parameters (half precision in float32), and do not synchronize with the device.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ActionSpec

MASKED_LOGIT = -1e30
"""The logit of a forbidden choice: probability 0 in any precision, but finite, so that 0 * log 0 has gradient 0."""

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def apply_mask(logits: Tensor, mask: Tensor | None) -> Tensor:
    """The logits ``[..., choices]`` of one part, with MASKED_LOGIT where ``mask`` is False.

    A mask that allows nothing allows everything: an agent that has left has such a mask, and its numbers must stay
    finite.
    """
    logits = _full(logits)
    if mask is None:
        return logits
    return torch.where(mask | ~mask.any(-1, keepdim=True), logits, MASKED_LOGIT)


def log_prob_entropy(
    spec: ActionSpec, parameters: Tensor, actions: Tensor, mask: Tensor | None = None, log_std: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Log-probability ``[...]`` and entropy ``[...]`` in nats, summed over the parts of an action.

    Args:
        spec: The action.
        parameters: Logits or means, ``[..., spec.parameters]``.
        actions: Sampled actions ``[..., spec.width]``: indices, or numbers before :func:`to_env_action`.
        mask: Allowed choices, bool ``[..., spec.parameters]``; categorical only.
        log_std: Log standard deviation, ``[width]`` or ``[..., width]``; gaussian only.
    """
    if spec.kind == "gaussian":
        mean, log_std = _full(parameters), _full(_needed(log_std))
        total_log_std = log_std.sum(-1)
        squared_distance = ((actions - mean) * torch.exp(-log_std)).square().sum(-1)
        log_prob = -0.5 * squared_distance - total_log_std - spec.width * HALF_LOG_TWO_PI
        return log_prob, (total_log_std + spec.width * (HALF_LOG_TWO_PI + 0.5)).expand_as(log_prob)
    indices = _split_blocks(spec, actions.long())
    log_probs, entropies = [], []
    for scores, index in zip(_log_softmax(spec, parameters, mask), indices, strict=True):
        log_probs.append(_over_parts(scores.gather(-1, index.unsqueeze(-1)).squeeze(-1)))
        entropies.append(-_over_parts((scores.exp() * scores).sum(-1)))
    return _total(log_probs), _total(entropies)


def mode(spec: ActionSpec, parameters: Tensor, mask: Tensor | None = None) -> Tensor:
    """The most likely action ``[..., spec.width]`` of ``spec.dtype``: the first best choice per part, or the mean."""
    if spec.kind == "gaussian":
        return parameters.to(spec.dtype)
    best = [apply_mask(logits, allowed).argmax(-1) for logits, allowed in _blocks(spec, parameters, mask)]
    return (best[0] if len(best) == 1 else torch.cat(best, -1)).to(spec.dtype)


def to_env_action(spec: ActionSpec, actions: Tensor) -> Tensor:
    """``actions`` ``[..., spec.width]`` in the world's units; choices stay unchanged.

    For numbers with two finite bounds, -1 and 1 are the bounds; beyond these they are clipped. Others are already in
    the world's units, and clipped at a single bound.
    """
    if spec.kind == "categorical":
        return actions
    center, half_range, low, high = action_scale(spec, actions.device, actions.dtype).unbind(-1)
    return torch.clamp(center + half_range * actions, low, high)


def policy_kl(
    spec: ActionSpec,
    old_parameters: Tensor,
    new_parameters: Tensor,
    mask: Tensor | None = None,
    old_log_std: Tensor | None = None,
    log_std: Tensor | None = None,
) -> Tensor:
    """Exact Kullback-Leibler divergence ``[...]`` KL(old || new) in nats."""
    if spec.kind == "gaussian":
        old_log, new_log = _full(_needed(old_log_std)), _full(_needed(log_std))
        moved = (_full(old_parameters) - _full(new_parameters)) * torch.exp(-new_log)
        log_ratio = old_log - new_log
        return (0.5 * (torch.exp(2.0 * log_ratio) + moved.square() - 1.0) - log_ratio).sum(-1)
    pairs = zip(_log_softmax(spec, old_parameters, mask), _log_softmax(spec, new_parameters, mask), strict=True)
    return _total([_over_parts((old.exp() * (old - new)).sum(-1)) for old, new in pairs])


@functools.cache
def action_scale(spec: ActionSpec, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """For each number of a gaussian action ``[width, 4]``: center, half range, and the bounds it is clipped to.

    Cached, since a CUDA graph must not copy from the host.
    """
    rows = []
    for low, high in zip(spec.low, spec.high, strict=True):
        bounded = math.isfinite(low) and math.isfinite(high)
        rows.append(((low + high) / 2 if bounded else 0.0, (high - low) / 2 if bounded else 1.0, low, high))
    with torch.inference_mode(False):
        return torch.tensor(rows, dtype=dtype, device=device)


def _blocks(spec: ActionSpec, parameters: Tensor, mask: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
    """Logits and mask as blocks ``[..., parts, choices]``. Parts of equal size form one block."""
    if mask is not None and mask.shape[-1] != spec.parameters:
        raise InputError(
            f"a mask of {mask.shape[-1]} choices does not fit an action with {spec.parameters}: "
            "give one flag for each choice of each part"
        )
    if len(set(spec.sizes)) == 1:
        shape = (spec.width, spec.sizes[0])
        return [(parameters.unflatten(-1, shape), None if mask is None else mask.unflatten(-1, shape))]
    parts = parameters.unsqueeze(-2).split(spec.sizes, -1)
    allowed = [None] * spec.width if mask is None else mask.unsqueeze(-2).split(spec.sizes, -1)
    return list(zip(parts, allowed, strict=True))


def _split_blocks(spec: ActionSpec, actions: Tensor) -> list[Tensor]:
    """Actions ``[..., parts]`` in the blocks of :func:`_blocks`."""
    return [actions] if len(set(spec.sizes)) == 1 else list(actions.split(1, -1))


def _log_softmax(spec: ActionSpec, parameters: Tensor, mask: Tensor | None) -> list[Tensor]:
    return [torch.log_softmax(apply_mask(logits, allowed), -1) for logits, allowed in _blocks(spec, parameters, mask)]


def _over_parts(values: Tensor) -> Tensor:
    """The sum over the parts of a block; a view where there is one part."""
    return values.squeeze(-1) if values.shape[-1] == 1 else values.sum(-1)


def _total(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else torch.stack(values).sum(0)


def _full(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _needed(log_std: Tensor | None) -> Tensor:
    if log_std is None:
        raise InputError(
            "a gaussian action needs log_std, the logarithm of its standard deviation: "
            "pass a tensor of one number per part"
        )
    return log_std
