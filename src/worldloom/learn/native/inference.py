"""The forward pass of a fully connected network on all rows, recorded for each number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from worldloom.learn.native.dense_network import DenseNetwork, padded
from worldloom.learn.native.dense_pass import DensePass, Workspace
from worldloom.learn.native.partition import BLOCK, blocks_of_parts, share, useful_threads
from worldloom.learn.native.recording import Recording, run_parallel


class Inference:
    """Outputs of a network.

    Args:
        network: The network.
        threads: Number of threads; None to decide by the work.
    """

    def __init__(self, network: DenseNetwork, threads: int | None = None) -> None:
        self.network, self.threads = network, threads
        self.passes = DensePass(network)
        self._pack = Recording(self.passes.pack)
        self._batches: dict[int, _Batch] = {}

    def refresh(self) -> None:
        """Read the parameters of the network. Call it whenever they have changed."""
        self._pack()

    def __call__(self, observations: Mapping[str, Tensor]) -> list[Tensor]:
        """Observations [N, *shape] by name -> the outputs, each [N, size]. The next call overwrites them."""
        rows = len(observations[self.network.columns[0].name])
        batch = self._batches.get(rows)
        if batch is None:
            batch = self._batches[rows] = _Batch(self.passes, rows, self.threads)
        return batch.run(observations)


class _Batch:
    """The recorded forward pass of a fixed number of rows."""

    def __init__(self, passes: DensePass, rows: int, threads: int | None) -> None:
        self.passes, self.network, network = passes, passes.network, passes.network
        self.inputs = {c.name: torch.zeros((rows, *c.spec.shape), dtype=c.spec.dtype) for c in network.columns}
        self._padded = {index: torch.zeros(rows, padded(network.sizes[index])) for index in network.outputs}
        self.outputs = [self._padded[index][:, : network.sizes[index]] for index in network.outputs]
        self._parts = blocks_of_parts(rows)
        shares = share(len(self._parts), threads or useful_threads(rows * network.products))
        self._recordings = [Recording(partial(self._launch, parts)) for parts in shares]

    def run(self, observations: Mapping[str, Tensor]) -> list[Tensor]:
        for name, values in self.inputs.items():
            values.copy_(observations[name])
        run_parallel(self._recordings)
        return self.outputs

    def _launch(self, parts: range) -> None:
        space = Workspace(self.network, BLOCK, gradients=False)
        for first, end in (block for part in parts for block in self._parts[part]):
            block = space.with_values({index: values[first:end] for index, values in self._padded.items()})
            self.passes.gather(block, {name: v[first:end] for name, v in self.inputs.items()}, None, end - first)
            self.passes.forward(block, end - first)
