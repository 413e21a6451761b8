"""The loss of PPO or A2C and its gradient in one kernel: a thread per sample, from logits and value to the slopes by both.

Written out in PyTorch (:func:`worldloom.learn.algorithms.ppo.ppo_loss`) this is some sixty small kernels, which cost more than the network.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import warp as wp

from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.rollout.storage import RolloutBatch

HALF_LOG_TWO_PI = wp.constant(0.5 * math.log(2.0 * math.pi))
STATISTICS = 5
"""Numbers per sample: policy loss, value loss, entropy, divergence, and whether the ratio was clipped."""


@wp.struct
class Weights:
    """The settings of the loss."""

    clip: wp.float32  # 0 for no ratio at all: the log-probability times the advantage, as in A2C
    value_clip: wp.float32
    value: wp.float32
    entropy: wp.float32


class LossGradients(NamedTuple):
    """What the optimiser goes down: the loss by the parameters [B, P], by the values [B] and by the spread of each sample [B, width] (or
    empty); and five numbers per sample to be told of, [5, B], each already divided by the count, so that they add up to means.
    """

    parameters: torch.Tensor
    values: torch.Tensor
    log_std: torch.Tensor
    statistics: torch.Tensor

    def with_outputs(
        self, parameters: torch.Tensor, values: torch.Tensor, log_std: torch.Tensor | None
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """What a policy gave, and the slope of the loss by each."""
        if log_std is None:
            return [parameters, values], [self.parameters, self.values]
        return [parameters, values, log_std.view_as(log_std)], [self.parameters, self.values, self.log_std.sum(0)]


@wp.func
def _share(weights: wp.array(dtype=wp.float32), count: wp.array(dtype=wp.float32), place: wp.int64, samples: int):
    """What one sample counts in a mean."""
    weight = float(1.0)
    if weights.shape[0] > 0:
        weight = weights[place]
    if count.shape[0] == 0:
        return weight / wp.float32(samples)
    return weight / count[0]


@wp.func
def _finish(
    sample: int,
    share: wp.float32,
    advantage: wp.float32,
    log_prob: wp.float32,
    old_log_prob: wp.float32,
    entropy: wp.float32,
    value: wp.float32,
    old_value: wp.float32,
    target: wp.float32,
    settings: Weights,
    value_slopes: wp.array(dtype=wp.float32),
    statistics: wp.array2d(dtype=wp.float32),
):
    """The part that does not depend on the kind of action. Returns the slope of the loss by the action's log-probability."""
    log_ratio = log_prob - old_log_prob
    ratio = wp.exp(log_ratio)
    bounded = wp.clamp(ratio, 1.0 - settings.clip, 1.0 + settings.clip)
    plain, limited = ratio * advantage, bounded * advantage
    slope = float(0.0)
    if settings.clip == 0.0:
        slope = -advantage * share
        limited = log_prob * advantage
        plain = limited
    elif plain <= limited:
        slope = -plain * share
    error = value - target
    squared = error * error
    if settings.value_clip > 0.0:
        near = old_value + wp.clamp(value - old_value, -settings.value_clip, settings.value_clip) - target
        if near * near > squared:
            squared = near * near
            error = 0.0  # the limit holds the value there
    value_slopes[sample] = settings.value * error * share
    statistics[0, sample] = -wp.min(plain, limited) * share
    statistics[1, sample] = 0.5 * squared * share
    statistics[2, sample] = entropy * share
    statistics[3, sample] = (ratio - 1.0 - log_ratio) * share
    statistics[4, sample] = wp.where(ratio != bounded, share, 0.0)
    return slope


@wp.kernel(enable_backward=False)
def _of_choices(
    logits: wp.array2d(dtype=wp.float32),
    values: wp.array(dtype=wp.float32),
    places: wp.array(dtype=wp.int64),
    starts: wp.array(dtype=wp.int32),
    actions: wp.array2d(dtype=wp.int32),
    masks: wp.array2d(dtype=wp.bool),
    log_probs: wp.array(dtype=wp.float32),
    old_values: wp.array(dtype=wp.float32),
    advantages: wp.array(dtype=wp.float32),
    returns: wp.array(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    count: wp.array(dtype=wp.float32),
    settings: Weights,
    # outputs
    slopes: wp.array2d(dtype=wp.float32),
    value_slopes: wp.array(dtype=wp.float32),
    statistics: wp.array2d(dtype=wp.float32),
):
    sample = wp.tid()
    place = places[sample]
    share = _share(weights, count, place, values.shape[0])
    log_prob, entropy = float(0.0), float(0.0)
    for part in range(starts.shape[0] - 1):
        first = starts[part]
        end = starts[part + 1]
        free = int(0)
        if masks.shape[0] > 0:
            for choice in range(first, end):
                free += wp.where(masks[place, choice], 1, 0)
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
        for choice in range(first, end):  # its log-probability, which the slopes below are made of
            slopes[sample, choice] = logits[sample, choice] - greatest - norm
    slope = _finish(
        sample, share, advantages[sample], log_prob, log_probs[place], entropy, values[sample], old_values[place], returns[place],
        settings, value_slopes, statistics,
    )  # fmt: skip
    for part in range(starts.shape[0] - 1):
        first = starts[part]
        end = starts[part + 1]
        free = int(0)
        if masks.shape[0] > 0:
            for choice in range(first, end):
                free += wp.where(masks[place, choice], 1, 0)
        own = float(0.0)  # the entropy of this part
        for choice in range(first, end):
            if free == 0 or masks[place, choice]:
                own -= wp.exp(slopes[sample, choice]) * slopes[sample, choice]
        for choice in range(first, end):
            allowed = free == 0 or masks[place, choice]
            score = slopes[sample, choice]
            likely = wp.where(allowed, wp.exp(score), 0.0)
            taken = wp.where(choice - first == actions[place, part], 1.0, 0.0)
            by_entropy = wp.where(allowed, likely * (score + own), 0.0)
            slopes[sample, choice] = slope * (taken - likely) + settings.entropy * share * by_entropy


@wp.kernel(enable_backward=False)
def _of_numbers(
    means: wp.array2d(dtype=wp.float32),
    values: wp.array(dtype=wp.float32),
    places: wp.array(dtype=wp.int64),
    log_std: wp.array(dtype=wp.float32),
    actions: wp.array2d(dtype=wp.float32),
    log_probs: wp.array(dtype=wp.float32),
    old_values: wp.array(dtype=wp.float32),
    advantages: wp.array(dtype=wp.float32),
    returns: wp.array(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    count: wp.array(dtype=wp.float32),
    settings: Weights,
    # outputs
    slopes: wp.array2d(dtype=wp.float32),
    value_slopes: wp.array(dtype=wp.float32),
    spread_slopes: wp.array2d(dtype=wp.float32),
    statistics: wp.array2d(dtype=wp.float32),
):
    sample = wp.tid()
    place = places[sample]
    share = _share(weights, count, place, values.shape[0])
    log_prob, entropy = float(0.0), float(0.0)
    for k in range(means.shape[1]):
        distance = (actions[place, k] - means[sample, k]) * wp.exp(-log_std[k])
        log_prob += -0.5 * distance * distance - log_std[k] - HALF_LOG_TWO_PI
        entropy += log_std[k] + HALF_LOG_TWO_PI + 0.5
    slope = _finish(
        sample, share, advantages[sample], log_prob, log_probs[place], entropy, values[sample], old_values[place], returns[place],
        settings, value_slopes, statistics,
    )  # fmt: skip
    for k in range(means.shape[1]):
        narrow = wp.exp(-log_std[k])
        distance = (actions[place, k] - means[sample, k]) * narrow
        slopes[sample, k] = slope * distance * narrow
        spread_slopes[sample, k] = slope * (distance * distance - 1.0) - settings.entropy * share


def loss_gradients(
    spec: ActionSpec,
    settings: Weights,
    kept: RolloutBatch,
    places: torch.Tensor,
    advantages: torch.Tensor,
    parameters: torch.Tensor,
    values: torch.Tensor,
    log_std: torch.Tensor | None,
    starts: torch.Tensor,
    count: torch.Tensor | None,
) -> LossGradients:
    """The slopes of the loss on some steps of a roll-out.

    Args:
        spec: The action.
        settings: What counts how much.
        kept: Steps of a roll-out, flat.
        places: Which of them, [B].
        advantages: Of those, as they count, [B].
        parameters, values: What the policy gives for them now, [B, P] and [B].
        log_std: Logarithm of the standard deviation, [width]; gaussian only.
        starts: Where the choices of each part of an action begin, and where the last ends.
        count: What all weights add up to, []; None where these steps are all that count, and all count the same.
    """
    samples = len(places)
    statistics = parameters.new_empty((STATISTICS, samples))
    slopes, value_slopes = torch.empty_like(parameters), torch.empty_like(values)
    nothing = parameters.new_empty(0)
    weights = nothing if kept.weights is None else kept.weights
    old = (kept.log_probs, kept.values, advantages, kept.returns, weights, nothing if count is None else count.view(1))
    given = (parameters.detach(), values.detach(), places)
    if spec.kind == "categorical":
        masks = parameters.new_empty((0, 0), dtype=torch.bool) if kept.masks is None else kept.masks
        launch(
            _of_choices,
            samples,
            (*given, starts, kept.actions, masks, *old, settings, slopes, value_slopes, statistics),
            parameters.device,
        )
        return LossGradients(slopes, value_slopes, nothing, statistics)
    assert log_std is not None
    spread = parameters.new_empty((samples, spec.width))
    launch(
        _of_numbers,
        samples,
        (*given, log_std.detach(), kept.actions, *old, settings, slopes, value_slopes, spread, statistics),
        parameters.device,
    )
    return LossGradients(slopes, value_slopes, spread, statistics)


def loss_weights(clip: float, value_clip: float, value: float, entropy: float) -> Weights:
    """The settings of the loss as the kernel takes them."""
    settings = Weights()
    settings.clip, settings.value_clip, settings.value, settings.entropy = clip, value_clip, value, entropy
    return settings
