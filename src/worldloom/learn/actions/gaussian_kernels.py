# mypy: ignore-errors
"""What the kernels of the sampler and of the losses know about Gaussian numbers."""

from __future__ import annotations

import math

import warp as wp

from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.config.policy_config import MAX_LOG_STD, MIN_LOG_STD

LOG_TWO = wp.constant(math.log(2.0))


@wp.struct
class GaussianRules:
    """How the network's outputs describe numbers."""

    squashed: wp.bool  # whether tanh is applied to the sampled numbers
    min_log_std: wp.float32  # bounds that log_std is clamped to; infinite for none
    max_log_std: wp.float32


def rule_values(spec: ActionSpec) -> tuple[bool, float, float]:
    """The fields of the rules of an action, as kernel arguments that are converted faster than a struct."""
    if spec.state_std:
        return spec.squashed, MIN_LOG_STD, MAX_LOG_STD
    return spec.squashed, -math.inf, math.inf


def gaussian_rules(spec: ActionSpec) -> GaussianRules:
    """The rules of an action as a kernel argument."""
    rules = GaussianRules()
    rules.squashed, rules.min_log_std, rules.max_log_std = rule_values(spec)
    return rules


@wp.func
def make_rules(squashed: wp.bool, min_log_std: wp.float32, max_log_std: wp.float32):
    rules = GaussianRules()
    rules.squashed = squashed
    rules.min_log_std = min_log_std
    rules.max_log_std = max_log_std
    return rules


@wp.func
def clamp_log_std(log_std: wp.float32, rules: GaussianRules):
    """``log_std`` inside its bounds; NaN stays NaN."""
    clamped = log_std
    if log_std < rules.min_log_std:
        clamped = rules.min_log_std
    if log_std > rules.max_log_std:
        clamped = rules.max_log_std
    return clamped


@wp.func
def log_tanh_derivative(number: wp.float32):
    """log(1 - tanh(number) ** 2), without cancellation for large numbers."""
    size = wp.abs(number)
    return 2.0 * (LOG_TWO - size - wp.log(1.0 + wp.exp(-2.0 * size)))
