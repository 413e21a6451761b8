"""Optimizer steps of a fully connected policy: forward pass, loss, backward pass and Adam as recorded launches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.policy_loss import STATISTICS, LossGradients, loss_gradients, weights_in
from worldloom.learn.losses.policy_loss_kernels import Weights
from worldloom.learn.native.dense_kernels import column_sums
from worldloom.learn.native.dense_network import DenseNetwork
from worldloom.learn.native.dense_pass import DensePass
from worldloom.learn.native.inference import Inference
from worldloom.learn.native.minibatch import BlockSpace, Minibatch
from worldloom.learn.native.optimizer_step import gradient_views
from worldloom.learn.native.recording import CPU, Recordings, addresses
from worldloom.learn.native.step_kernels import add_statistics, gather_advantages
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import RolloutBatch
from worldloom.learn.training.optimizer import FlatAdam

ORDERED_FROM = 1 << 15
"""Samples of a rollout from which those of a minibatch are read in order: fewer stay in the second cache."""
CAPACITY = 4
"""Maximum number of recorded minibatches: they differ in their size or their storage."""


class PolicyStep:
    """Takes optimizer steps of a policy.

    Args:
        policy: The policy.
        network: Its layers.
        optimizer: Its optimizer.
        threads: Number of threads; None to decide by the work.
    """

    def __init__(self, policy: Policy, network: DenseNetwork, optimizer: FlatAdam, threads: int | None = None) -> None:
        self.policy, self.network, self.optimizer, self.threads = policy, network, optimizer, threads
        self.passes = DensePass(network)
        self.gradients = gradient_views(optimizer)
        self.statistics = torch.zeros(STATISTICS)
        """Policy loss, value loss, entropy, divergence and clipped fraction of the last minibatch."""
        self._inference: Inference | None = None
        self._all = torch.arange(0)
        self._staged: dict[str, Tensor] = {}
        self._targets: tuple[Tensor, Tensor] | None = None
        self._minibatches: Recordings[PolicyMinibatch] = Recordings(CAPACITY)

    def evaluate(self, observations: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Action parameters [N, P] and values [N] with the current parameters; the next call overwrites them."""
        if self._inference is None:
            self._inference = Inference(self.network, self.threads)
        self._inference.refresh()
        parameters, values = self._inference(observations)
        return parameters, values.squeeze(1)

    def all_indices(self, samples: int) -> Tensor:
        """The indices of all ``samples`` samples."""
        if len(self._all) != samples:
            self._all = torch.arange(samples)
        return self._all

    def staged(self, batch: RolloutBatch) -> RolloutBatch:
        """A flat copy of a batch (steps, rows) in tensors that are the same every time."""
        names = ("actions", "log_probs", "values", "advantages", "returns", "masks", "weights")
        given: list[tuple[str, Tensor | None]] = [(name, getattr(batch, name)) for name in names]
        tensors: list[Any] = [None if tensor is None else self._stage(name, tensor) for name, tensor in given]
        return RolloutBatch({k: self._stage(f"observations/{k}", v) for k, v in batch.observations.items()}, *tensors)

    def _stage(self, name: str, values: Tensor) -> Tensor:
        flat = values.detach().flatten(0, 1)
        kept = self._staged.get(name)
        if kept is None or kept.shape != flat.shape:
            kept = self._staged[name] = torch.empty_like(flat)
        return kept.copy_(flat)

    def targets(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Tensors for advantages and returns, of the shape of ``like``: a recording needs the same every time."""
        if self._targets is None or self._targets[0].shape != like.shape:
            self._targets = torch.zeros_like(like), torch.zeros_like(like)
        return self._targets

    def minibatch(
        self,
        batch: RolloutBatch,
        samples: int,
        settings: Weights,
        starts: Tensor,
        standardize: bool,
        separate_step: bool = False,
    ) -> PolicyMinibatch:
        """Minibatches of a rollout; recorded once for the same tensors.

        Args:
            batch: All steps of the rollout, flat.
            samples: Size of a minibatch, B.
            settings: Coefficients of the loss.
            starts: Index of the first choice of each part of an action, see :class:`Storage`.
            standardize: Whether to standardize the advantages of each minibatch.
            separate_step: Whether a step may be skipped after its gradient was computed.
        """
        tensors = [value for value in vars(batch).values() if isinstance(value, Tensor)]
        key = (addresses(*tensors, *batch.observations.values()), samples, standardize, separate_step)
        make = partial(PolicyMinibatch, self, batch, samples, starts, standardize, separate_step)
        minibatch = self._minibatches.get(key, make)
        minibatch.set_coefficients(settings)
        return minibatch


class PolicyMinibatch(Minibatch):
    """Minibatches of steps of a rollout.

    Args:
        step: The policy and its optimizer.
        batch: All steps of the rollout.
        samples: Size of a minibatch.
        starts, standardize, separate_step: As in :meth:`PolicyStep.minibatch`.
    """

    def __init__(
        self,
        step: PolicyStep,
        batch: RolloutBatch,
        samples: int,
        starts: Tensor,
        standardize: bool,
        separate_step: bool,
    ) -> None:
        self.policy, self.batch, self.starts = step.policy, batch, starts
        self._coefficients = torch.zeros(4)
        self._weights = weights_in(self._coefficients)
        self.standardize, self.ranks, self.by_parameter = standardize, step.optimizer.ranks, step.gradients
        extra = 0 if self.policy.log_std is None else self.policy.log_std.numel()
        super().__init__(step.passes, step.optimizer, samples, step.statistics, extra, separate_step, step.threads)
        self.count = torch.zeros(1)
        self._chosen = torch.zeros(len(batch.returns) if len(batch.returns) >= ORDERED_FROM else 0, dtype=torch.bool)

    def set_coefficients(self, settings: Weights) -> None:
        """Set the coefficients of the loss for the following steps."""
        numbers = (settings.clip, settings.value_clip, settings.value, settings.entropy)
        for index, number in enumerate(numbers):
            self._coefficients[index] = number

    def step(self, indices: Tensor) -> Tensor:
        """Take one optimizer step with the steps at ``indices`` [B], which are different.

        Returns:
            Policy loss, value loss, entropy, divergence and clipped fraction, [5]; the next step overwrites them.
        """
        statistics = self.gradient(indices)
        self.take_step()
        return statistics

    def gradient(self, indices: Tensor) -> Tensor:
        """Compute the gradient for :meth:`take_step`, with arguments and result as in :meth:`step`."""
        self.indices.copy_(self._in_order(indices))
        if not self.ranks.is_single:
            self._exchange_advantages()
        self.compute_gradient()
        return self.statistics

    def _in_order(self, indices: Tensor) -> Tensor:
        """Different ``indices`` in ascending order, in which the processor fetches samples ahead; few as they are."""
        if len(self.batch.returns) < ORDERED_FROM:
            return indices
        if len(indices) == len(self._chosen):
            return torch.arange(len(indices))
        self._chosen.zero_()
        self._chosen[indices] = True
        return self._chosen.nonzero().view(-1)

    def _exchange_advantages(self) -> None:
        """Standardize the advantages over all processes."""
        batch = self.batch
        mean = WeightedMean(None if batch.weights is None else batch.weights[self.indices], self.ranks)
        selected = batch.advantages[self.indices]
        self.advantages.copy_(mean.standardize(selected) if self.standardize else selected)
        self.count.fill_(float(len(selected))) if mean.count is None else self.count.copy_(mean.count)

    def launch_prepare(self) -> None:
        if self.ranks.is_single:
            weights = torch.empty(0) if self.batch.weights is None else self.batch.weights
            arguments = (self.batch.advantages, weights, self.indices, self.standardize, self.advantages, self.count)
            launch(gather_advantages, 1, arguments, CPU)

    def launch_loss(self, space: BlockSpace, count: int) -> LossGradients:
        parameters, value = self.network.outputs
        indices = space.indices[:count]
        self.passes.gather(space.values, self.batch.observations, indices, count)
        self.passes.forward(space.values, count)
        gradients = loss_gradients(
            self.policy.spec.action,
            self._weights,
            self.batch,
            indices,
            space.advantages[:count],
            space.values.output(parameters, self.network.sizes[parameters], count),
            space.values.output(value, 1, count).squeeze(1),
            self.policy.log_std,
            self.starts,
            self.count,
        )
        launch(add_statistics, 1, (gradients.statistics.view(-1), count, space.statistics), CPU)
        if self.policy.log_std is not None:
            width = self.policy.log_std.numel()
            total = self.layout.extra_part(space.gradient)
            launch(column_sums, 1, (gradients.log_std.view(-1), width, count, width, total), CPU)
        by_output = {parameters: gradients.parameters, value: gradients.values}
        self.passes.backward(space.values, count, by_output, self.layout.layers(space.gradient))
        return gradients

    def launch_reduce(self) -> None:
        log_std = self.policy.log_std
        extra = None if log_std is None else self.by_parameter[log_std.data_ptr()]
        self.layout.launch_reduce(self._gradients, self.by_parameter, extra)
