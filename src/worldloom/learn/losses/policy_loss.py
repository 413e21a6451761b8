"""Gradients of the policy and value loss of PPO or A2C with respect to the network's outputs, by one kernel."""

from __future__ import annotations

from typing import NamedTuple

import torch
import warp as wp

from worldloom.learn.actions.distributions import split_action, split_parameters
from worldloom.learn.actions.gaussian_kernels import gaussian_rules
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.device.device_numbers import Number, kernel_numbers
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.losses.policy_loss_kernels import Weights, categorical_loss, mixed_loss
from worldloom.learn.rollout.storage import RolloutBatch

STATISTICS = 5
"""Reported numbers per sample: policy loss, value loss, entropy, divergence, and whether the ratio was clipped."""


class LossGradients(NamedTuple):
    """Gradients of the loss with respect to the outputs of the network.

    Attributes:
        parameters: With respect to the action parameters, [B, P].
        values: With respect to the values, [B].
        log_std: With respect to the log standard deviation, for each sample, [B, numbers]; empty without numbers, and
            where the network outputs it.
        statistics: Policy loss, value loss, entropy, divergence and clipped fraction of each sample, [5, B]. Each is
            divided by the count, so that sums over the samples are means.
    """

    parameters: torch.Tensor
    values: torch.Tensor
    log_std: torch.Tensor
    statistics: torch.Tensor

    def with_outputs(
        self, parameters: torch.Tensor, values: torch.Tensor, log_std: torch.Tensor | None
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The outputs of a policy, and the gradient with respect to each."""
        if log_std is None:
            return [parameters, values], [self.parameters, self.values]
        return [parameters, values, log_std.view_as(log_std)], [self.parameters, self.values, self.log_std.sum(0)]


def loss_gradients(
    spec: ActionSpec,
    settings: Weights,
    batch: RolloutBatch,
    indices: torch.Tensor,
    advantages: torch.Tensor,
    parameters: torch.Tensor,
    values: torch.Tensor,
    log_std: torch.Tensor | None,
    starts: torch.Tensor,
    count: torch.Tensor | None,
) -> LossGradients:
    """Gradients of the loss on some steps of a rollout.

    Args:
        spec: The action.
        settings: Coefficients of the loss, see :func:`loss_weights`.
        batch: Steps of a rollout, flat.
        indices: Which of them, [B].
        advantages: Their advantages, [B].
        parameters, values: Outputs of the policy for them, [B, P] and [B].
        log_std: Log standard deviation, [numbers]; None without numbers, and where the network outputs it.
        starts: Index of the first choice of each part of an action, and the total number of choices.
        count: Sum of all weights, []; None where all samples count equally.
    """
    samples = len(indices)
    statistics = parameters.new_empty((STATISTICS, samples))
    gradients, value_gradients = torch.empty_like(parameters), torch.empty_like(values)
    empty = parameters.new_empty(0)
    weights = empty if batch.weights is None else batch.weights
    old = (batch.log_probs, batch.values, advantages, batch.returns, weights, empty if count is None else count.view(1))
    masks = parameters.new_empty((0, 0), dtype=torch.bool) if batch.masks is None else batch.masks
    if spec.kind == "categorical":
        outputs = (parameters.detach(), values.detach(), indices)
        launch(
            categorical_loss,
            samples,
            (*outputs, starts, batch.actions, masks, *old, settings, gradients, value_gradients, statistics),
            parameters.device,
        )
        return LossGradients(gradients, value_gradients, empty, statistics)
    logits, means, spread = split_parameters(spec, parameters.detach(), None if log_std is None else log_std.detach())
    choices, numbers = split_action(spec, batch.actions)
    shared_gradients = None if spec.state_std else parameters.new_empty((samples, spec.numbers))
    launch(
        mixed_loss,
        samples,
        (
            *(logits, means, spread.expand(samples, -1), values.detach(), indices),
            *(starts, choices, masks, numbers, gaussian_rules(spec)),
            *old,
            settings,
            *split_parameters(spec, gradients, shared_gradients),
            *(value_gradients, statistics),
        ),
        parameters.device,
    )
    return LossGradients(
        gradients, value_gradients, empty if shared_gradients is None else shared_gradients, statistics
    )


def loss_weights(
    clip: Number, value_clip: Number, value: Number, entropy: Number, device: torch.device | None = None
) -> Weights:
    """The coefficients of the loss as a kernel argument.

    ``device`` is needed where one of them is on the device, since it changes during training.
    """
    numbers, scheduled = kernel_numbers(device or torch.device("cpu"), clip, value_clip, value, entropy)
    if len(scheduled):
        return weights_in(scheduled)
    settings = Weights()
    settings.clip, settings.value_clip, settings.value, settings.entropy = numbers
    return settings


def weights_in(coefficients: torch.Tensor) -> Weights:
    """The same, which kernels read when they run: clip, value clip, value and entropy coefficient, [4]."""
    settings = Weights()
    settings.scheduled = wp.from_torch(coefficients, requires_grad=False)
    return settings
