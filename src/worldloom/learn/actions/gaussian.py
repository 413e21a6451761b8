"""Gaussian distributions of independent numbers, optionally squashed by tanh.

A squashed number is tanh(u) of a Gaussian sample u. u is stored instead of tanh(u), since the inverse of tanh is
inaccurate near -1 and 1. The density of tanh(u) is that of u divided by the derivative 1 - tanh(u)**2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from worldloom.learn.config.policy_config import MAX_LOG_STD, MIN_LOG_STD

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
LOG_TWO = math.log(2.0)


def clamp_log_std(log_std: Tensor) -> Tensor:
    """The network's outputs for log standard deviations, clamped to MIN_LOG_STD .. MAX_LOG_STD."""
    return log_std.clamp(MIN_LOG_STD, MAX_LOG_STD)


def gaussian_log_prob_entropy(means: Tensor, log_std: Tensor, numbers: Tensor, squashed: bool) -> tuple[Tensor, Tensor]:
    """Log-probability ``[...]`` and entropy ``[...]`` in nats, summed over the numbers.

    The entropy of squashed numbers has no closed form. It is the entropy of the Gaussian plus the expectation of
    log(1 - tanh(u)**2), estimated by its value at the sample u. Its gradient passes through u = mean + std * noise with
    constant noise: that of log-probabilities of a fixed u would have the expectation 0.

    Args:
        means: ``[..., K]``.
        log_std: ``[K]`` or ``[..., K]``.
        numbers: Samples before tanh, ``[..., K]``.
        squashed: Whether tanh is applied to them.
    """
    total_log_std = log_std.sum(-1)
    count = means.shape[-1]
    squared_distance = ((numbers - means) * torch.exp(-log_std)).square().sum(-1)
    log_prob = -0.5 * squared_distance - total_log_std - count * HALF_LOG_TWO_PI
    entropy = (total_log_std + count * (HALF_LOG_TWO_PI + 0.5)).expand_as(log_prob)
    if not squashed:
        return log_prob, entropy
    noise = ((numbers - means) * torch.exp(-log_std)).detach()
    samples = means + torch.exp(log_std) * noise
    return log_prob - log_tanh_derivative(numbers).sum(-1), entropy + log_tanh_derivative(samples).sum(-1)


def squashed_sample(means: Tensor, log_std: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Reparameterized samples tanh(u), u = mean + std * noise, and their log-probability in nats.

    Args:
        means: ``[..., K]``.
        log_std: ``[K]`` or ``[..., K]``.
        noise: Standard normal numbers, ``[..., K]``.

    Returns:
        Samples between -1 and 1, ``[..., K]``, and log-probabilities ``[...]``, summed over the numbers.
    """
    numbers = means + torch.exp(log_std) * noise
    log_prob = -0.5 * noise.square() - log_std - HALF_LOG_TWO_PI - log_tanh_derivative(numbers)
    return numbers.tanh(), log_prob.sum(-1)


def gaussian_kl(old_means: Tensor, means: Tensor, old_log_std: Tensor, log_std: Tensor) -> Tensor:
    """KL(old || new) ``[...]``, summed over the numbers. Squashing does not change it."""
    moved = (old_means - means) * torch.exp(-log_std)
    log_ratio = old_log_std - log_std
    return (0.5 * (torch.exp(2.0 * log_ratio) + moved.square() - 1.0) - log_ratio).sum(-1)


def log_tanh_derivative(numbers: Tensor) -> Tensor:
    """log(1 - tanh(u)**2) of each number u, without cancellation for large ones."""
    return 2.0 * (LOG_TWO - numbers - torch.nn.functional.softplus(-2.0 * numbers))
