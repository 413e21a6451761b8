# mypy: ignore-errors
"""Warp functions for one sample: log-probability and entropy of an action, and the gradients of a loss in both.

For each kind of action there is a pair of functions. The first computes log-probability and entropy from the network's
outputs. The caller derives the loss from them, and passes its derivatives with respect to both to the second, which
writes the gradients with respect to the network's outputs.

``sample`` indexes outputs and gradients, which hold a minibatch; ``place`` indexes what a rollout stored.
"""

from __future__ import annotations

import math
from typing import Any

import warp as wp

from worldloom.learn.actions.gaussian_kernels import GaussianRules, clamp_log_std, log_tanh_derivative

HALF_LOG_TWO_PI = wp.constant(0.5 * math.log(2.0 * math.pi))


@wp.func
def count_allowed(masks: wp.array2d(dtype=wp.bool), place: wp.int64, first: int, end: int):
    """Allowed choices from ``first`` to ``end``; 0 without a mask, and where it allows nothing: all are allowed."""
    allowed = int(0)
    if masks.shape[0] > 0:
        for choice in range(first, end):
            allowed += wp.where(masks[place, choice], 1, 0)
    return allowed


@wp.func
def categorical_log_prob(
    logits: wp.array2d(dtype=wp.float32), sample: int, starts: wp.array(dtype=wp.int32),
    choices: wp.array2d(dtype=Any), masks: wp.array2d(dtype=wp.bool), place: wp.int64,
    log_probs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Log-probability and entropy of the choices of one sample, summed over its parts.

    Args:
        logits: Logits of all parts, [B, L].
        sample: Row of ``logits``.
        starts: Index of the first logit of each part, and L.
        choices: Chosen indices, [S, parts]; of any numeric type.
        masks: Allowed choices, [S, L]; empty without masks.
        place: Row of ``choices`` and ``masks``.
        log_probs: Written: the log-probability of each choice, [B, L], for :func:`categorical_gradients`.

    Returns:
        (log-probability, entropy) in nats.
    """
    log_prob, entropy = float(0.0), float(0.0)
    for part in range(starts.shape[0] - 1):
        first = starts[part]
        end = starts[part + 1]
        allowed = count_allowed(masks, place, first, end)
        greatest = float(-wp.inf)
        for choice in range(first, end):
            if allowed == 0 or masks[place, choice]:
                greatest = wp.max(greatest, logits[sample, choice])
        total, tilted = float(0.0), float(0.0)
        for choice in range(first, end):
            if allowed == 0 or masks[place, choice]:
                apart = logits[sample, choice] - greatest
                likely = wp.exp(apart)
                total += likely
                tilted += likely * apart
        norm = wp.log(total)
        log_prob += logits[sample, first + int(choices[place, part])] - greatest - norm
        entropy += norm - tilted / total
        for choice in range(first, end):
            log_probs[sample, choice] = logits[sample, choice] - greatest - norm
    return log_prob, entropy


@wp.func
def categorical_gradients(
    sample: int, starts: wp.array(dtype=wp.int32), choices: wp.array2d(dtype=Any), masks: wp.array2d(dtype=wp.bool),
    place: wp.int64, by_log_prob: wp.float32, by_entropy: wp.float32, gradients: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Gradients with respect to the logits of one sample.

    Args:
        sample, starts, choices, masks, place: As for :func:`categorical_log_prob`.
        by_log_prob: Derivative of the loss with respect to the log-probability.
        by_entropy: Derivative of the loss with respect to the entropy.
        gradients: The ``log_probs`` that :func:`categorical_log_prob` wrote; overwritten with the gradients, [B, L].
    """
    for part in range(starts.shape[0] - 1):
        first = starts[part]
        end = starts[part + 1]
        allowed = count_allowed(masks, place, first, end)
        entropy = float(0.0)  # of this part
        if by_entropy != 0.0:
            for choice in range(first, end):
                if allowed == 0 or masks[place, choice]:
                    entropy -= wp.exp(gradients[sample, choice]) * gradients[sample, choice]
        for choice in range(first, end):
            log_prob = gradients[sample, choice]
            likely = float(0.0)
            tilted = float(0.0)
            if allowed == 0 or masks[place, choice]:
                likely = wp.exp(log_prob)
                tilted = likely * (log_prob + entropy)
            taken = wp.where(choice - first == int(choices[place, part]), 1.0, 0.0)
            gradients[sample, choice] = by_log_prob * (taken - likely) - by_entropy * tilted


@wp.func
def gaussian_log_prob(
    means: wp.array2d(dtype=wp.float32), log_std: wp.array2d(dtype=wp.float32), sample: int,
    numbers: wp.array2d(dtype=wp.float32), place: wp.int64, rules: GaussianRules,
):  # fmt: skip
    """Log-probability and entropy of the numbers of one sample, summed over them.

    The entropy of squashed numbers has no closed form. It is estimated from the sample: that of the Gaussian, plus
    log(1 - tanh(number) ** 2).

    Args:
        means: Means, [B, K].
        log_std: Logarithms of the standard deviations, [B, K].
        sample: Row of ``means`` and ``log_std``.
        numbers: Sampled numbers, before tanh, [S, K].
        place: Row of ``numbers``.
        rules: Whether numbers are squashed, and the bounds of ``log_std``.

    Returns:
        (log-probability, entropy) in nats.
    """
    log_prob, entropy = float(0.0), float(0.0)
    for k in range(means.shape[1]):
        spread = clamp_log_std(log_std[sample, k], rules)
        distance = (numbers[place, k] - means[sample, k]) * wp.exp(-spread)
        log_prob += -0.5 * distance * distance - spread - HALF_LOG_TWO_PI
        entropy += spread + HALF_LOG_TWO_PI + 0.5
        if rules.squashed:
            correction = log_tanh_derivative(numbers[place, k])
            log_prob -= correction
            entropy += correction
    return log_prob, entropy


@wp.func
def gaussian_gradients(
    means: wp.array2d(dtype=wp.float32), log_std: wp.array2d(dtype=wp.float32), sample: int,
    numbers: wp.array2d(dtype=wp.float32), place: wp.int64, rules: GaussianRules, by_log_prob: wp.float32,
    by_entropy: wp.float32, mean_gradients: wp.array2d(dtype=wp.float32),
    log_std_gradients: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Gradients with respect to the means and the logarithms of the standard deviations of one sample.

    The entropy of squashed numbers is differentiated through the sample, mean + std * noise with constant noise.

    Args:
        means, log_std, sample, numbers, place, rules: As for :func:`gaussian_log_prob`.
        by_log_prob: Derivative of the loss with respect to the log-probability.
        by_entropy: Derivative of the loss with respect to the entropy.
        mean_gradients, log_std_gradients: Written, [B, K].
    """
    for k in range(means.shape[1]):
        spread = clamp_log_std(log_std[sample, k], rules)
        narrow = wp.exp(-spread)
        apart = numbers[place, k] - means[sample, k]
        distance = apart * narrow
        by_mean = by_log_prob * distance * narrow
        by_log_std = by_log_prob * (distance * distance - 1.0) + by_entropy
        if rules.squashed:
            by_sample = -2.0 * wp.tanh(numbers[place, k]) * by_entropy
            by_mean += by_sample
            by_log_std += by_sample * apart
        if log_std[sample, k] < rules.min_log_std or log_std[sample, k] > rules.max_log_std:
            by_log_std = 0.0  # clamped
        mean_gradients[sample, k] = by_mean
        log_std_gradients[sample, k] = by_log_std
