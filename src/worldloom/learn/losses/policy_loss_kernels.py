# mypy: ignore-errors
"""Kernels of the loss of PPO or A2C and its gradients; one thread per sample.

In PyTorch's operations (:func:`worldloom.learn.losses.ppo_loss.ppo_loss`) this is about sixty small kernels, which
cost more than the network.
"""

from __future__ import annotations

import math

import warp as wp

HALF_LOG_TWO_PI = wp.constant(0.5 * math.log(2.0 * math.pi))


@wp.struct
class Weights:
    """Coefficients of the loss."""

    clip: wp.float32  # 0 for the loss of A2C: log-probability times advantage, without a ratio
    value_clip: wp.float32
    value: wp.float32
    entropy: wp.float32


@wp.func
def _share(weights: wp.array(dtype=wp.float32), count: wp.array(dtype=wp.float32), place: wp.int64, samples: int):
    """The weight of one sample in a mean."""
    weight = float(1.0)
    if weights.shape[0] > 0:
        weight = weights[place]
    if count.shape[0] == 0:
        return weight / wp.float32(samples)
    return weight / count[0]


@wp.func
def _allowed(masks: wp.array2d(dtype=wp.bool), place: wp.int64, first: int, end: int):
    """How many choices from ``first`` to ``end`` a mask allows; 0 without masks, which also stands for all."""
    count = int(0)
    if masks.shape[0] > 0:
        for choice in range(first, end):
            count += wp.where(masks[place, choice], 1, 0)
    return count


@wp.func
def _finish(
    sample: int, share: wp.float32, advantage: wp.float32, log_prob: wp.float32, old_log_prob: wp.float32,
    entropy: wp.float32, value: wp.float32, old_value: wp.float32, target: wp.float32, settings: Weights,
    value_gradients: wp.array(dtype=wp.float32), statistics: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """The terms common to all kinds of action.

    Returns the derivative of the loss with respect to the action's log-probability.
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
    if settings.value_clip > 0.0:
        near = old_value + wp.clamp(value - old_value, -settings.value_clip, settings.value_clip) - target
        if near * near > squared:
            squared = near * near
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
    logits: wp.array2d(dtype=wp.float32), values: wp.array(dtype=wp.float32), places: wp.array(dtype=wp.int64),
    starts: wp.array(dtype=wp.int32), actions: wp.array2d(dtype=wp.int32), masks: wp.array2d(dtype=wp.bool),
    log_probs: wp.array(dtype=wp.float32), old_values: wp.array(dtype=wp.float32),
    advantages: wp.array(dtype=wp.float32), returns: wp.array(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32), count: wp.array(dtype=wp.float32), settings: Weights,
    # outputs
    gradients: wp.array2d(dtype=wp.float32), value_gradients: wp.array(dtype=wp.float32),
    statistics: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    sample = wp.tid()
    place = places[sample]
    share = _share(weights, count, place, values.shape[0])
    log_prob, entropy = float(0.0), float(0.0)
    for part in range(starts.shape[0] - 1):
        first = starts[part]
        end = starts[part + 1]
        free = _allowed(masks, place, first, end)
        greatest = float(-wp.inf)
        for choice in range(first, end):
            if free == 0 or masks[place, choice]:
                greatest = wp.max(greatest, logits[sample, choice])
        total, tilted = float(0.0), float(0.0)
        for choice in range(first, end):
            if free == 0 or masks[place, choice]:
                apart = logits[sample, choice] - greatest
                likely = wp.exp(apart)
                total += likely
                tilted += likely * apart
        norm = wp.log(total)
        log_prob += logits[sample, first + actions[place, part]] - greatest - norm
        entropy += norm - tilted / total
        for choice in range(first, end):  # log-probabilities, from which the gradients below are computed
            gradients[sample, choice] = logits[sample, choice] - greatest - norm
    derivative = _finish(
        sample, share, advantages[sample], log_prob, log_probs[place], entropy, values[sample], old_values[place],
        returns[place], settings, value_gradients, statistics,
    )  # fmt: skip
    for part in range(starts.shape[0] - 1):
        first = starts[part]
        end = starts[part + 1]
        free = _allowed(masks, place, first, end)
        own = float(0.0)  # the entropy of this part
        for choice in range(first, end):
            if free == 0 or masks[place, choice]:
                own -= wp.exp(gradients[sample, choice]) * gradients[sample, choice]
        for choice in range(first, end):
            allowed = free == 0 or masks[place, choice]
            score = gradients[sample, choice]
            likely = wp.where(allowed, wp.exp(score), 0.0)
            taken = wp.where(choice - first == actions[place, part], 1.0, 0.0)
            by_entropy = wp.where(allowed, likely * (score + own), 0.0)
            gradients[sample, choice] = derivative * (taken - likely) + settings.entropy * share * by_entropy


@wp.kernel(enable_backward=False)
def gaussian_loss(
    means: wp.array2d(dtype=wp.float32), values: wp.array(dtype=wp.float32), places: wp.array(dtype=wp.int64),
    log_std: wp.array(dtype=wp.float32), actions: wp.array2d(dtype=wp.float32),
    log_probs: wp.array(dtype=wp.float32), old_values: wp.array(dtype=wp.float32),
    advantages: wp.array(dtype=wp.float32), returns: wp.array(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32), count: wp.array(dtype=wp.float32), settings: Weights,
    # outputs
    gradients: wp.array2d(dtype=wp.float32), value_gradients: wp.array(dtype=wp.float32),
    log_std_gradients: wp.array2d(dtype=wp.float32), statistics: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    sample = wp.tid()
    place = places[sample]
    share = _share(weights, count, place, values.shape[0])
    log_prob, entropy = float(0.0), float(0.0)
    for k in range(means.shape[1]):
        distance = (actions[place, k] - means[sample, k]) * wp.exp(-log_std[k])
        log_prob += -0.5 * distance * distance - log_std[k] - HALF_LOG_TWO_PI
        entropy += log_std[k] + HALF_LOG_TWO_PI + 0.5
    derivative = _finish(
        sample, share, advantages[sample], log_prob, log_probs[place], entropy, values[sample], old_values[place],
        returns[place], settings, value_gradients, statistics,
    )  # fmt: skip
    for k in range(means.shape[1]):
        narrow = wp.exp(-log_std[k])
        distance = (actions[place, k] - means[sample, k]) * narrow
        gradients[sample, k] = derivative * distance * narrow
        log_std_gradients[sample, k] = derivative * (distance * distance - 1.0) - settings.entropy * share
