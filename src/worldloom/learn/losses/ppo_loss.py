"""The clipped surrogate objective of PPO, with PyTorch's operations and with one fused kernel."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch

from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.device.device_numbers import Number
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.policy_loss import LossGradients, loss_gradients, loss_weights
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import RolloutBatch, Storage


class LossSettings(Protocol):
    """The settings of the loss; :class:`~worldloom.learn.algorithms.ppo.PPOConfig` has them."""

    @property
    def clip(self) -> Number: ...
    @property
    def value_clip(self) -> Number: ...
    @property
    def value_weight(self) -> Number: ...
    @property
    def entropy_weight(self) -> Number: ...


class LossCoefficients(NamedTuple):
    """The current settings of the loss: tensors [] on the device where they change during training."""

    clip: Number
    value_clip: Number
    value_weight: Number
    entropy_weight: Number


class Losses(NamedTuple):
    """The terms of the loss, each a scalar. ``divergence`` and ``clipped`` are only reported."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor
    divergence: torch.Tensor
    clipped: torch.Tensor


def ppo_loss(policy: Policy, batch: RolloutBatch, config: LossSettings, mean: WeightedMean) -> Losses:
    """The loss of a minibatch. Advantages are used as given."""
    parameters, values = batch.evaluate(policy)
    log_probs, entropies = log_prob_entropy(policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()
    clipped_ratio = _clamp(ratio, 1.0 - config.clip, 1.0 + config.clip)
    policy_loss = -mean(torch.min(ratio * batch.advantages, clipped_ratio * batch.advantages))
    errors = (values - batch.returns).square()
    if isinstance(config.value_clip, torch.Tensor) or config.value_clip > 0.0:
        clipped_values = batch.values + _clamp(values - batch.values, -config.value_clip, config.value_clip)
        errors = torch.max(errors, (clipped_values - batch.returns).square())
    value_loss = 0.5 * mean(errors)
    entropy = mean(entropies)
    total = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
    with torch.no_grad():
        divergence = mean(ratio - 1.0 - log_ratio)
        clipped = mean((ratio != clipped_ratio).float())
    return Losses(total, policy_loss, value_loss, entropy, divergence, clipped)


def _clamp(values: torch.Tensor, low: Number, high: Number) -> torch.Tensor:
    """``values.clamp(low, high)``, with bounds on the host or on the device."""
    if isinstance(low, torch.Tensor) and isinstance(high, torch.Tensor):
        return values.clamp(low, high)
    return values.clamp(float(low), float(high))


def ppo_gradients(
    policy: Policy,
    config: LossSettings,
    storage: Storage,
    indices: torch.Tensor,
    advantages: torch.Tensor,
    returns: torch.Tensor,
    parameters: torch.Tensor,
    values: torch.Tensor,
    count: torch.Tensor | None,
) -> LossGradients:
    """Gradients of :func:`ppo_loss` with respect to the network's outputs.

    Args:
        policy: The policy.
        config: The settings of the loss.
        storage: The rollout.
        indices: The steps of the minibatch, as indices of the flat (steps, rows) tensors, [B].
        advantages: Their advantages, [B].
        returns: The returns of all steps of the rollout.
        parameters, values: The network's outputs for the minibatch, [B, P] and [B].
        count: Sum of all weights, []; None where all steps count equally.
    """
    settings = loss_weights(
        config.clip, config.value_clip, config.value_weight, config.entropy_weight, parameters.device
    )
    steps = storage.all_steps(returns, returns)
    return loss_gradients(
        policy.spec.action,
        settings,
        steps,
        indices,
        advantages,
        parameters,
        values,
        policy.log_std,
        storage.starts,
        count,
    )
