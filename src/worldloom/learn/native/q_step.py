"""Inference and optimizer steps of a fully connected Q network with native kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.td_loss import MASK
from worldloom.learn.native.dense_network import DenseNetwork
from worldloom.learn.native.dense_pass import DensePass
from worldloom.learn.native.inference import Inference
from worldloom.learn.native.minibatch import BlockSpace, Minibatch
from worldloom.learn.native.optimizer_step import gradient_views
from worldloom.learn.native.recording import CPU
from worldloom.learn.native.step_kernels import add_statistics
from worldloom.learn.native.td_kernels import td_loss
from worldloom.learn.rollout.replay_buffer import TransitionBatch
from worldloom.learn.training.optimizer import FlatAdam

STATISTICS = 2
"""Reported sums: the loss, and the Q value of the action."""


class QInference:
    """A Q network's values by native kernels, with its current parameters."""

    def __init__(self, network: DenseNetwork, threads: int | None = None) -> None:
        self._inference = Inference(network, threads)

    def __call__(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> Q values [N, choices], a new tensor."""
        self._inference.refresh()
        outputs = self._inference(observations)
        if len(outputs) == 1:
            return outputs[0].clone(memory_format=torch.contiguous_format)
        value, advantage = outputs
        return value + advantage - advantage.mean(dim=1, keepdim=True)


class QStep(Minibatch):
    """Takes optimizer steps of a Q network on batches of transitions.

    Args:
        network: Its layers.
        optimizer: Its optimizer.
        samples: Transitions of a batch.
        choices: Number of choices.
        delta: Threshold of the Huber loss.
        threads: Number of threads; None to decide by the work.
    """

    def __init__(
        self,
        network: DenseNetwork,
        optimizer: FlatAdam,
        samples: int,
        choices: int,
        delta: float,
        threads: int | None = None,
    ) -> None:
        super().__init__(DensePass(network), optimizer, samples, torch.zeros(STATISTICS), threads=threads)
        self.choices, self.delta = choices, delta
        self.by_parameter = gradient_views(optimizer)
        self.observations = {c.name: torch.zeros((samples, *c.spec.shape), dtype=c.spec.dtype) for c in network.columns}
        self.actions = torch.zeros(samples, 1, dtype=torch.int32)
        self.targets, self.weights, self.errors = (torch.zeros(samples) for _ in range(3))
        self.count = torch.ones(1)
        self.indices.copy_(torch.arange(samples))

    def __call__(self, batch: TransitionBatch, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step towards TD targets [B].

        Returns:
            Loss and mean Q value, [2], and the TD errors, [B]; the next step overwrites them.
        """
        for name, values in batch.observations.items():
            if name != MASK:
                self.observations[name].copy_(values)
        self.actions.copy_(batch.actions)
        self.targets.copy_(targets)
        self.weights.copy_(batch.weights)
        count = WeightedMean((batch.weights > 0.0).float(), self.optimizer.ranks).count
        assert count is not None
        self.count.copy_(count)
        self.run()
        return self.statistics, self.errors

    def launch_prepare(self) -> None:
        pass

    def launch_loss(self, space: BlockSpace, count: int) -> Any:
        indices = space.indices[:count]
        self.passes.gather(space.values, self.observations, indices, count)
        self.passes.forward(space.values, count)
        outputs = [space.values.output(index, self.network.sizes[index], count) for index in self.network.outputs]
        gradients = [torch.zeros(output.shape) for output in outputs]
        statistics = torch.zeros(STATISTICS, count)
        empty = torch.zeros(0, self.choices)
        first, second = outputs if len(outputs) == 2 else (outputs[0], empty)
        first_gradient, second_gradient = gradients if len(outputs) == 2 else (gradients[0], empty)
        arguments = (first, second, indices, self.actions, self.targets, self.weights, self.count, self.delta)
        launch(td_loss, count, (*arguments, first_gradient, second_gradient, self.errors, statistics), CPU)
        launch(add_statistics, 1, (statistics.view(-1), count, space.statistics), CPU)
        by_output = dict(zip(self.network.outputs, gradients, strict=True))
        self.passes.backward(space.values, count, by_output, self.layout.layers(space.gradient))
        return gradients, statistics

    def launch_reduce(self) -> None:
        self.layout.launch_reduce(self._gradients, self.by_parameter)
