"""The gradient of a minibatch: parts on several threads, each a sequence of blocks, and their sum in a fixed order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.dense_network import DenseNetwork
from worldloom.learn.native.dense_pass import DensePass, Workspace
from worldloom.learn.native.gradient_layout import GradientLayout
from worldloom.learn.native.optimizer_step import launch_step
from worldloom.learn.native.partition import BLOCK, blocks_of_parts, share, useful_threads
from worldloom.learn.native.recording import CPU, Recording, run_parallel
from worldloom.learn.native.step_kernels import begin_parts, end_part, load_block, reduce_statistics
from worldloom.learn.training.optimizer import FlatAdam

FORWARD_AND_BACKWARD = 3
"""Multiplications of both passes, in forward passes."""
MAX_UNROLLED = 8
"""Blocks of a thread up to which they are recorded as one sequence. Above, each is a call of its own."""
Stage = list[Callable[[], None]]
"""What runs in parallel."""


class BlockSpace:
    """The memory of one thread: a block of samples, its values, and sums of gradients and statistics.

    Attributes:
        indices, advantages: The samples of the block, and their advantages.
        gradient: Sum of gradients, see :class:`GradientLayout`.
        statistics: Sums of statistics.
        cursor: The next sample, and the current part.
    """

    def __init__(self, network: DenseNetwork, layout: GradientLayout, statistics: int) -> None:
        self.values = Workspace(network, BLOCK)
        self.indices, self.advantages = torch.zeros(BLOCK, dtype=torch.int64), torch.zeros(BLOCK)
        self.gradient = torch.zeros(layout.size)
        self.statistics = torch.zeros(statistics, dtype=torch.float64)
        self.cursor = torch.zeros(2, dtype=torch.int32)


class Minibatch(ABC):
    """Recorded launches for minibatches of a fixed size from fixed tensors.

    Args:
        passes: The network.
        optimizer: Its optimizer.
        samples: Size of the minibatch.
        statistics: Written by every step: sums over the samples, float32.
        extra: Number of parameters that belong to no layer.
        separate_step: Whether :meth:`compute_gradient` is called alone, so that a step may be skipped.
        threads: Number of threads; None to decide by the work.
    """

    def __init__(
        self,
        passes: DensePass,
        optimizer: FlatAdam,
        samples: int,
        statistics: Tensor,
        extra: int = 0,
        separate_step: bool = False,
        threads: int | None = None,
    ) -> None:
        self.passes, self.network, self.optimizer, self.statistics = passes, passes.network, optimizer, statistics
        self.indices, self.advantages = torch.zeros(samples, dtype=torch.int64), torch.zeros(samples)
        self.layout = GradientLayout(self.network, extra)
        self.parts = blocks_of_parts(samples)
        self._gradients = torch.zeros(len(self.parts), self.layout.size)
        self._statistics = torch.zeros(len(self.parts), len(statistics), dtype=torch.float64)
        products = samples * self.network.products * FORWARD_AND_BACKWARD
        self._shares = share(len(self.parts), threads or useful_threads(products))
        self._max_norm = torch.zeros(1)
        self._step_is_joined = optimizer.ranks.is_single and not separate_step
        self._gradient_stages: list[Stage] = []
        self._step_stages: list[Stage] = []

    # -- what a loss defines -----------------------------------------------------------------------------------------

    @abstractmethod
    def launch_prepare(self) -> None:
        """Launch what precedes the blocks, such as the standardization of advantages."""

    @abstractmethod
    def launch_loss(self, space: BlockSpace, count: int) -> Any:
        """Launch forward pass, loss and backward pass of a block. The result is kept alive."""

    @abstractmethod
    def launch_reduce(self) -> None:
        """Launch the sum of the gradients of all parts."""

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Take one optimizer step with the samples at ``indices``."""
        self.compute_gradient()
        self.take_step()

    def compute_gradient(self) -> None:
        """Compute statistics and gradient of the samples at ``indices``.

        Without ``separate_step``, a single process takes the optimizer step as well: one recording is faster.
        """
        if not self._gradient_stages:
            self._record()
        self._max_norm.fill_(self.optimizer.max_gradient_norm)
        for stage in self._gradient_stages:
            run_parallel(stage)

    def take_step(self) -> None:
        """Take the optimizer step, unless :meth:`compute_gradient` did."""
        for stage in self._step_stages:
            run_parallel(stage)

    def _record(self) -> None:
        workers = [self._bodies(parts) for parts in self._shares]
        step = partial(launch_step, self.optimizer, self._max_norm)
        after: list[Callable[[], None]] = [self._reduce, step] if self._step_is_joined else [self._reduce]
        if len(workers) == 1 and len(workers[0]) <= MAX_UNROLLED:
            self._gradient_stages = [[_record_all([self._prepare, *workers[0], *after])]]
        else:
            sequences: Stage = [_Sequence(bodies) for bodies in workers]
            self._gradient_stages = [[_record_all([self._prepare])], sequences, [_record_all(after)]]
        if not self._step_is_joined:
            exchange: list[Stage] = [] if self.optimizer.ranks.is_single else [[self._exchange]]
            self._step_stages = [*exchange, [_record_all([step])]]

    def _exchange(self) -> None:
        self.optimizer.ranks.mean_(self.optimizer.gradient)

    def _prepare(self) -> None:
        self.passes.pack()
        self.launch_prepare()

    def _bodies(self, parts: range) -> list[Callable[[], Any]]:
        """The launches of a thread. Equal ones are the same object."""
        space = BlockSpace(self.network, self.layout, len(self.statistics))
        sizes = {end - first for part in parts for first, end in self.parts[part]}
        blocks = {size: partial(self._launch_block, space, size) for size in sizes}
        ending = partial(self._launch_end, space)
        first_sample = self.parts[parts[0]][0][0]
        cleared = (space.cursor, space.gradient, space.statistics)
        bodies: list[Callable[[], Any]] = [
            partial(launch, begin_parts, 1, (first_sample, parts[0], *cleared), CPU),
        ]
        for part in parts:
            bodies += [blocks[end - first] for first, end in self.parts[part]]
            bodies.append(ending)
        return bodies

    def _launch_block(self, space: BlockSpace, count: int) -> Any:
        outputs = (space.cursor, space.indices, space.advantages)
        launch(load_block, 1, (self.indices, self.advantages, count, *outputs), CPU)
        return self.launch_loss(space, count)

    def _launch_end(self, space: BlockSpace) -> None:
        sums = (space.cursor, space.gradient, space.statistics)
        launch(end_part, 1, (*sums, self._gradients.view(-1), self._statistics), CPU)

    def _reduce(self) -> None:
        self.launch_reduce()
        launch(reduce_statistics, len(self.statistics), (self._statistics, self.statistics), CPU)


class _Sequence:
    """Recordings in order, one for each distinct body."""

    def __init__(self, bodies: list[Callable[[], Any]]) -> None:
        recordings = {id(body): Recording(body) for body in {id(body): body for body in bodies}.values()}
        self._calls = [recordings[id(body)] for body in bodies]

    def __call__(self) -> None:
        for call in self._calls:
            call()


def _record_all(bodies: list[Callable[[], Any]]) -> Recording:
    """One recording of several bodies."""
    return Recording(lambda: [body() for body in bodies])
