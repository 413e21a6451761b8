"""Forward and backward pass of a fully connected network over a block of samples, as kernel launches."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.dense_kernels import (
    activate,
    column_sums,
    derive,
    narrow_product,
    pack_layer,
    product,
)
from worldloom.learn.native.dense_network import INPUTS, DenseLayer, DenseNetwork, InputColumn, padded
from worldloom.learn.native.dense_source import ACTIVATIONS
from worldloom.learn.native.gradient_layout import LayerGradient
from worldloom.learn.native.input_kernels import (
    write_byte_choices,
    write_bytes,
    write_choices,
    write_floats,
    write_integers,
)
from worldloom.learn.native.recording import CPU
from worldloom.learn.networks.normalization import CLIP

NUMBERS = {torch.float32: write_floats, torch.int32: write_integers, torch.uint8: write_bytes}
"""Kernels for observations that are numbers, by type."""
CHOICES = {torch.int32: write_choices, torch.uint8: write_byte_choices}
"""Kernels for observations that are choices, by type."""
NARROW = 4
"""Units of a layer up to which a dot product per unit is faster than vectors over units."""
_EMPTY, _NO_INDICES = torch.empty(0), torch.empty(0, dtype=torch.int64)


class Workspace:
    """Values of a network and their gradients for up to ``samples`` samples, rows padded."""

    def __init__(self, network: DenseNetwork, samples: int, gradients: bool = True) -> None:
        self.samples = samples
        self.values = [torch.zeros(samples, padded(size)) for size in network.sizes]
        self.gradients = [torch.zeros_like(value) for value in self.values] if gradients else []

    def with_values(self, values: Mapping[int, Tensor]) -> Workspace:
        """The same memory, except for ``values``, by index."""
        other = copy.copy(self)
        other.values = [values.get(index, value) for index, value in enumerate(self.values)]
        return other

    def output(self, index: int, width: int, count: int) -> Tensor:
        """A value of the first ``count`` samples without its padding, [count, width]."""
        return self.values[index][:count, :width]


class PackedLayer(NamedTuple):
    """The parameters of a layer with padded rows: weights, their transpose, and bias."""

    rows: Tensor
    columns: Tensor
    bias: Tensor


class DensePass:
    """Launches the kernels of a network.

    Its weights are copies: call :meth:`pack` whenever the parameters have changed.
    """

    def __init__(self, network: DenseNetwork) -> None:
        self.network = network
        self.packed = [_packed(layer) for layer in network.layers]
        self._columns = [_Column(column) for column in network.columns]

    def pack(self) -> None:
        """Copy the parameters of the network."""
        for layer, packed in zip(self.network.layers, self.packed, strict=True):
            linear, (rows, columns, bias) = layer.linear, packed
            arguments = (linear.weight.detach().view(-1), linear.bias.detach(), *linear.weight.shape)
            outputs = (rows.view(-1), rows.stride(0), columns.view(-1), columns.stride(0), bias)
            launch(pack_layer, 1, (*arguments, *outputs), CPU)

    def gather(self, space: Workspace, observations: Mapping[str, Tensor], indices: Tensor | None, count: int) -> None:
        """Write the inputs of ``count`` samples from observations [S, *shape], at ``indices`` [count] or in order."""
        for column in self._columns:
            column.write(
                observations[column.name], _NO_INDICES if indices is None else indices, space.values[INPUTS], count
            )

    def forward(self, space: Workspace, count: int) -> None:
        """Compute all values of ``count`` samples from the inputs."""
        for layer, packed in zip(self.network.layers, self.packed, strict=True):
            source, target = space.values[layer.source], space.values[layer.target]
            _multiply(source, packed, target, count, layer.linear)
            if layer.activation != "none":
                numbers = count * target.stride(0)
                launch(activate, 1, (target.view(-1), numbers, ACTIVATIONS[layer.activation]), CPU)

    def backward(
        self,
        space: Workspace,
        count: int,
        output_gradients: Mapping[int, Tensor],
        sums: list[LayerGradient],
    ) -> None:
        """Add the gradients of all parameters over ``count`` samples to ``sums``.

        Args:
            space: The values of the forward pass.
            count: Number of samples.
            output_gradients: Gradients with respect to the outputs, by index: contiguous, [count, size] or [count].
            sums: Added to, one per layer.
        """
        written = set()
        for layer, packed, total in zip(
            reversed(self.network.layers), reversed(self.packed), reversed(sums), strict=True
        ):
            given = output_gradients.get(layer.target)
            gradient = space.gradients[layer.target] if given is None else given
            row = gradient.stride(0)
            units, source = layer.linear.out_features, space.values[layer.source]
            if layer.activation == "none":
                launch(column_sums, 1, (gradient.view(-1), row, count, units, total.bias), CPU)
            else:
                arguments = (gradient.view(-1), space.values[layer.target].view(-1), row, count)
                launch(derive, 1, (*arguments, ACTIVATIONS[layer.activation], total.bias), CPU)
            weight, stride = total.weight.view(-1), total.weight.stride(0)
            sizes = (weight, stride, weight, stride, len(total.weight), total.columns, count)
            by_unit = (gradient.view(-1), 1, row, source.view(-1), source.stride(0))
            by_input = (source.view(-1), 1, source.stride(0), gradient.view(-1), row)
            launch(product, 1, (*(by_input if total.transposed else by_unit), *sizes), CPU)
            if layer.source != INPUTS:
                target = space.gradients[layer.source]
                start = target.view(-1) if layer.source in written else _EMPTY
                written.add(layer.source)
                launch(
                    product,
                    1,
                    (gradient.view(-1), row, 1, packed.rows.view(-1), packed.rows.stride(0), start, target.stride(0),
                     target.view(-1), target.stride(0), count, layer.linear.in_features, units),
                    CPU,
                )  # fmt: skip


class _Column:
    """Writes one observation into the inputs."""

    def __init__(self, column: InputColumn) -> None:
        self.name, self.first, self.spec = column.name, column.first, column.spec
        spec = column.spec
        if spec.choices:
            self.starts = torch.tensor([0, *itertools.accumulate(spec.choices)], dtype=torch.int32)
            return
        self.mean, self.scale, self.limit = _EMPTY, _EMPTY, math.inf
        if column.moments is not None:
            self.mean, self.scale, self.limit = column.moments.mean.view(-1), column.moments.scale.view(-1), CLIP
        elif spec.dtype == torch.uint8:
            bounds = spec.high if isinstance(spec.high, tuple) else (spec.high,) * spec.features
            self.mean, self.scale = torch.zeros(spec.features), torch.tensor([1.0 / bound for bound in bounds])

    def write(self, values: Tensor, indices: Tensor, inputs: Tensor, count: int) -> None:
        column = values.reshape(len(values), -1)
        if column.dtype == torch.bool:
            column = column.view(torch.uint8)
        if self.spec.choices:
            launch(CHOICES[column.dtype], count, (column, indices, self.starts, self.first, inputs), CPU)
            return
        arguments = (column, indices, self.limit, self.mean, self.scale, self.first, inputs)
        launch(NUMBERS[column.dtype], count, arguments, CPU)


def _packed(layer: DenseLayer) -> PackedLayer:
    inputs, units = layer.linear.in_features, layer.linear.out_features
    return PackedLayer(
        torch.zeros(units, padded(inputs)), torch.zeros(inputs, padded(units)), torch.zeros(padded(units))
    )


def _multiply(source: Tensor, packed: PackedLayer, target: Tensor, count: int, linear: nn.Linear) -> None:
    """The product of the forward pass of a layer."""
    inputs, row, units = source.view(-1), source.stride(0), linear.out_features
    output = (target.view(-1), target.stride(0), count, units, linear.in_features)
    if units <= NARROW:
        rows = packed.rows
        launch(narrow_product, 1, (inputs, row, rows.view(-1), rows.stride(0), packed.bias, *output), CPU)
        return
    columns = packed.columns
    launch(product, 1, (inputs, row, 1, columns.view(-1), columns.stride(0), packed.bias, 0, *output), CPU)
