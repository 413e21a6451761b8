"""Differentiable action distributions: log-probability, entropy, mode, KL divergence, and scaling to the world's units.

``parameters`` are a network's outputs for an :class:`ActionSpec`: the logits of all choices, then a mean per number,
then with ``state_std`` a log standard deviation per number. Choices and numbers are independent: log-probabilities,
entropies and divergences are sums. All functions take any leading shape ``[...]``, compute in the precision of the
parameters (half precision in float32), and do not synchronize with the device.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.categorical import (
    MASKED_LOGIT,
    apply_mask,
    categorical_kl,
    categorical_log_prob_entropy,
    categorical_mode,
    to_full_precision,
)
from worldloom.learn.actions.gaussian import clamp_log_std, gaussian_kl, gaussian_log_prob_entropy
from worldloom.learn.agents.specs import ActionSpec

__all__ = [
    "MASKED_LOGIT",
    "action_scale",
    "apply_mask",
    "log_prob_entropy",
    "mode",
    "policy_kl",
    "split_action",
    "split_parameters",
    "to_env_action",
]


def split_parameters(
    spec: ActionSpec, parameters: Tensor, log_std: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits ``[..., L]``, means ``[..., K]`` and log standard deviations ``[..., K]`` or ``[K]``, not yet clamped.

    Args:
        spec: The action.
        parameters: The network's outputs, ``[..., spec.parameters]``.
        log_std: Log standard deviations, ``[K]`` or ``[..., K]``; required where there are numbers and the network does
            not output them.
    """
    none = parameters[..., :0]
    if spec.kind == "categorical":
        return parameters, none, none
    if spec.kind == "gaussian" and not spec.state_std:
        return none, parameters, _needed(log_std)
    sections = [spec.logits, spec.numbers, spec.numbers if spec.state_std else 0]
    logits, means, outputs = parameters.split(sections, -1)
    return logits, means, outputs if spec.state_std else _needed(log_std)


def split_action(spec: ActionSpec, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Choices ``[..., parts]`` and numbers ``[..., K]`` of actions ``[..., spec.width]``; both are views."""
    choices, numbers = actions.split([len(spec.sizes), spec.numbers], -1)
    return choices, numbers


def log_prob_entropy(
    spec: ActionSpec, parameters: Tensor, actions: Tensor, mask: Tensor | None = None, log_std: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Log-probability ``[...]`` and entropy ``[...]`` in nats, summed over the parts of an action.

    The entropy of squashed numbers is an estimate from the action, see
    :func:`~worldloom.learn.actions.gaussian.gaussian_log_prob_entropy`.

    Args:
        spec: The action.
        parameters: The network's outputs, ``[..., spec.parameters]``.
        actions: Sampled actions ``[..., spec.width]``: indices, and numbers before :func:`to_env_action`.
        mask: Allowed choices, bool ``[..., spec.logits]``; None where all are.
        log_std: Log standard deviation, ``[spec.numbers]`` or ``[..., spec.numbers]``; only where there are numbers and
            the network does not output it.
    """
    if spec.kind == "categorical":
        return categorical_log_prob_entropy(spec.sizes, parameters, actions, mask)
    logits, means, spread = _in_full_precision(spec, parameters, log_std)
    choices, numbers = split_action(spec, actions)
    log_prob, entropy = gaussian_log_prob_entropy(means, spread, numbers, spec.squashed)
    if spec.kind == "gaussian":
        return log_prob, entropy
    choices_log_prob, choices_entropy = categorical_log_prob_entropy(spec.sizes, logits, choices, mask)
    return choices_log_prob + log_prob, choices_entropy + entropy


def mode(spec: ActionSpec, parameters: Tensor, mask: Tensor | None = None) -> Tensor:
    """The most likely action ``[..., spec.width]`` of ``spec.dtype``: the first best choice per part, and the means.

    The mean of a squashed number is that before tanh, so that :func:`to_env_action` gives the median.
    """
    if spec.kind == "categorical":
        return categorical_mode(spec.sizes, parameters, mask).to(spec.dtype)
    means = parameters[..., spec.logits : spec.logits + spec.numbers].to(spec.dtype)
    if spec.kind == "gaussian":
        return means
    choices = categorical_mode(spec.sizes, parameters[..., : spec.logits], mask)
    return torch.cat([choices.to(spec.dtype), means], -1)


def to_env_action(spec: ActionSpec, actions: Tensor, scale: Tensor | None = None) -> Tensor:
    """``actions`` ``[..., spec.width]`` in the world's units; choices stay unchanged.

    For numbers with two finite bounds, -1 and 1 are the bounds; beyond these they are clipped, or with ``squashed``
    mapped to their range by tanh. Others are already in the world's units, and clipped at a single bound. ``scale`` is
    the table of :func:`action_scale`; None to make it.
    """
    if spec.kind == "categorical":
        return actions
    choices, numbers = split_action(spec, actions)
    table = action_scale(spec, actions.device, actions.dtype) if scale is None else scale
    center, half_range, low, high = table.unbind(-1)
    scaled = torch.clamp(center + half_range * (numbers.tanh() if spec.squashed else numbers), low, high)
    return scaled if spec.kind == "gaussian" else torch.cat([choices, scaled], -1)


def policy_kl(
    spec: ActionSpec,
    old_parameters: Tensor,
    new_parameters: Tensor,
    mask: Tensor | None = None,
    old_log_std: Tensor | None = None,
    log_std: Tensor | None = None,
) -> Tensor:
    """Exact Kullback-Leibler divergence ``[...]`` KL(old || new) in nats."""
    if spec.kind == "categorical":
        return categorical_kl(spec.sizes, old_parameters, new_parameters, mask)
    old_logits, old_means, old_spread = _in_full_precision(spec, old_parameters, old_log_std)
    logits, means, spread = _in_full_precision(spec, new_parameters, log_std)
    divergence = gaussian_kl(old_means, means, old_spread, spread)
    if spec.kind == "gaussian":
        return divergence
    return categorical_kl(spec.sizes, old_logits, logits, mask) + divergence


@functools.cache
def action_scale(spec: ActionSpec, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """For each number of an action ``[numbers, 4]``: center, half range, and the bounds it is clipped to.

    Cached, since a CUDA graph must not copy from the host.
    """
    rows = []
    for low, high in zip(spec.low, spec.high, strict=True):
        bounded = math.isfinite(low) and math.isfinite(high)
        rows.append(((low + high) / 2 if bounded else 0.0, (high - low) / 2 if bounded else 1.0, low, high))
    with torch.inference_mode(False):
        return torch.tensor(rows, dtype=dtype, device=device)


def _in_full_precision(spec: ActionSpec, parameters: Tensor, log_std: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, means and log standard deviations; the latter clamped where the network outputs them."""
    logits, means, spread = map(to_full_precision, split_parameters(spec, parameters, log_std))
    return logits, means, clamp_log_std(spread) if spec.state_std else spread


def _needed(log_std: Tensor | None) -> Tensor:
    if log_std is None:
        raise InputError(
            "a gaussian action needs log_std, the logarithm of its standard deviation: "
            "pass a tensor of one number per part"
        )
    return log_std
