# mypy: ignore-errors
"""Kernels of the loss of PPO or A2C and its gradients; one thread per sample.

In PyTorch's operations (:func:`worldloom.learn.losses.ppo_loss.ppo_loss`) this is about sixty small kernels, which
cost more than the network.
"""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Bools2D, Floats, Floats2D, Ints, Ints2D, Longs
from worldloom.learn.losses.action_gradient_kernels import (
    GaussianRules,
    categorical_gradients,
    categorical_log_prob,
    gaussian_gradients,
    gaussian_log_prob,
)


@wp.struct
class Weights:
    """Coefficients of the loss."""

    clip: wp.float32  # 0 for the loss of A2C: log-probability times advantage, without a ratio
    value_clip: wp.float32
    value: wp.float32
    entropy: wp.float32
    scheduled: Floats  # the same four, where they change during training; empty otherwise


@wp.func
def _current(settings: Weights):
    """The coefficients with their current values."""
    current = settings
    if settings.scheduled.shape[0] > 0:
        current.clip = settings.scheduled[0]
        current.value_clip = settings.scheduled[1]
        current.value = settings.scheduled[2]
        current.entropy = settings.scheduled[3]
    return current


@wp.func
def sample_share(weights: Floats, count: Floats, place: wp.int64, samples: int):
    """The weight of one sample in a mean."""
    weight = float(1.0)
    if weights.shape[0] > 0:
        weight = weights[place]
    if count.shape[0] == 0:
        return weight / wp.float32(samples)
    return weight / count[0]


@wp.func
def surrogate_and_value_loss(
    sample: int, share: wp.float32, advantage: wp.float32, log_prob: wp.float32, old_log_prob: wp.float32,
    entropy: wp.float32, value: wp.float32, old_value: wp.float32, target: wp.float32, settings: Weights,
    value_gradients: Floats, statistics: Floats2D,
):  # fmt: skip
    """The terms of the loss, which are common to all kinds of action, and the gradient with respect to the value.

    Returns the derivative of the loss with respect to the action's log-probability. The one with respect to the entropy
    is ``-settings.entropy * share``.
    """
    log_ratio = log_prob - old_log_prob
    ratio = wp.exp(log_ratio)
    bounded = wp.clamp(ratio, 1.0 - settings.clip, 1.0 + settings.clip)
    plain, limited = ratio * advantage, bounded * advantage
    derivative = float(0.0)
    if settings.clip == 0.0:
        derivative = -advantage * share
        limited = log_prob * advantage
        plain = limited
    elif plain <= limited:
        derivative = -plain * share
    error = value - target
    squared = error * error
    moved = value - old_value
    if settings.value_clip > 0.0 and wp.abs(moved) > settings.value_clip:
        clipped_error = old_value + wp.clamp(moved, -settings.value_clip, settings.value_clip) - target
        if clipped_error * clipped_error > squared:
            squared = clipped_error * clipped_error
            error = 0.0  # clipped: no gradient
    value_gradients[sample] = settings.value * error * share
    statistics[0, sample] = -wp.min(plain, limited) * share
    statistics[1, sample] = 0.5 * squared * share
    statistics[2, sample] = entropy * share
    statistics[3, sample] = (ratio - 1.0 - log_ratio) * share
    statistics[4, sample] = wp.where(ratio != bounded, share, 0.0)
    return derivative


@wp.kernel(enable_backward=False)
def categorical_loss(
    logits: Floats2D, values: Floats, places: Longs, starts: Ints, actions: Ints2D, masks: Bools2D, log_probs: Floats,
    old_values: Floats, advantages: Floats, returns: Floats, weights: Floats, count: Floats, coefficients: Weights,
    # outputs
    gradients: Floats2D, value_gradients: Floats, statistics: Floats2D,
):  # fmt: skip
    sample = wp.tid()
    settings = _current(coefficients)
    place = places[sample]
    share = sample_share(weights, count, place, values.shape[0])
    log_prob, entropy = categorical_log_prob(logits, sample, starts, actions, masks, place, gradients)
    by_log_prob = surrogate_and_value_loss(
        sample, share, advantages[sample], log_prob, log_probs[place], entropy, values[sample], old_values[place],
        returns[place], settings, value_gradients, statistics,
    )  # fmt: skip
    by_entropy = -settings.entropy * share
    categorical_gradients(sample, starts, actions, masks, place, by_log_prob, by_entropy, gradients)


@wp.kernel(enable_backward=False)
def mixed_loss(
    logits: Floats2D, means: Floats2D, log_std: Floats2D, values: Floats, places: Longs, starts: Ints,
    choices: Floats2D, masks: Bools2D, numbers: Floats2D, rules: GaussianRules, log_probs: Floats, old_values: Floats,
    advantages: Floats, returns: Floats, weights: Floats, count: Floats, coefficients: Weights,
    # outputs
    logit_gradients: Floats2D, mean_gradients: Floats2D, log_std_gradients: Floats2D, value_gradients: Floats,
    statistics: Floats2D,
):  # fmt: skip
    """Numbers, and choices where there are any."""
    sample = wp.tid()
    settings = _current(coefficients)
    place = places[sample]
    share = sample_share(weights, count, place, values.shape[0])
    choices_log_prob, choices_entropy = categorical_log_prob(
        logits, sample, starts, choices, masks, place, logit_gradients,
    )  # fmt: skip
    numbers_log_prob, numbers_entropy = gaussian_log_prob(means, log_std, sample, numbers, place, rules)
    by_log_prob = surrogate_and_value_loss(
        sample, share, advantages[sample], choices_log_prob + numbers_log_prob, log_probs[place],
        choices_entropy + numbers_entropy, values[sample], old_values[place], returns[place], settings,
        value_gradients, statistics,
    )  # fmt: skip
    by_entropy = -settings.entropy * share
    categorical_gradients(sample, starts, choices, masks, place, by_log_prob, by_entropy, logit_gradients)
    gaussian_gradients(
        means, log_std, sample, numbers, place, rules, by_log_prob, by_entropy, mean_gradients, log_std_gradients,
    )  # fmt: skip
