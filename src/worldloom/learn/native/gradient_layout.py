"""The gradients of all parameters in one flat tensor with padded rows, and their sums over the parts of a minibatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.dense_kernels import reduce_parts
from worldloom.learn.native.dense_network import DenseLayer, DenseNetwork, padded
from worldloom.learn.native.recording import CPU


class LayerGradient(NamedTuple):
    """Gradients of one layer.

    Attributes:
        weight: [units, padded inputs], or [inputs, padded units] where they are ``transposed``.
        bias: [padded units].
        columns: Columns of ``weight`` without padding.
        transposed: Whether a row belongs to an input.
    """

    weight: Tensor
    bias: Tensor
    columns: int
    transposed: bool


class GradientLayout:
    """Offsets of the gradients in a flat tensor of ``size`` numbers.

    Args:
        network: The network.
        extra: Number of other parameters, at the end.
    """

    def __init__(self, network: DenseNetwork, extra: int = 0) -> None:
        self.network, self.extra_size = network, extra
        self._transposed = [_is_transposed(layer, network) for layer in network.layers]
        self._offsets, offset = [], 0
        for layer, transposed in zip(network.layers, self._transposed, strict=True):
            weight = offset
            rows, columns = _shape(layer, transposed)
            offset += rows * padded(columns)
            self._offsets.append((weight, offset))
            offset += padded(layer.linear.out_features)
        self._extra_offset = offset
        self.size = offset + padded(extra)

    def layers(self, flat: Tensor) -> list[LayerGradient]:
        """The gradients of the layers in ``flat`` [size]."""
        views = []
        for layer, transposed, (weight, bias) in self._places():
            rows, columns = _shape(layer, transposed)
            end = bias + padded(layer.linear.out_features)
            views.append(LayerGradient(flat[weight:bias].view(rows, -1), flat[bias:end], columns, transposed))
        return views

    def extra_part(self, flat: Tensor) -> Tensor:
        """The gradients of the other parameters in ``flat`` [size]."""
        return flat[self._extra_offset : self._extra_offset + self.extra_size]

    def launch_reduce(self, parts: Tensor, gradients: Mapping[int, Tensor], extra: Tensor | None = None) -> None:
        """Sum ``parts`` [parts, size] in order.

        Args:
            parts: Gradients of the parts of a minibatch.
            gradients: Written: the gradient of each parameter, by the parameter's address.
            extra: Written: the gradient of the other parameters.
        """
        for layer, transposed, (weight, bias) in self._places():
            gradient = gradients[layer.linear.weight.data_ptr()]
            self._reduce(parts, weight, gradient.T if transposed else gradient)
            self._reduce(parts, bias, gradients[layer.linear.bias.data_ptr()].unsqueeze(0))
        if extra is not None:
            self._reduce(parts, self._extra_offset, extra.unsqueeze(0))

    def _places(self) -> Iterator[tuple[DenseLayer, bool, tuple[int, int]]]:
        """Each layer, whether it is transposed, and the offsets of weights and bias."""
        return zip(self.network.layers, self._transposed, self._offsets, strict=True)

    @staticmethod
    def _reduce(parts: Tensor, offset: int, gradient: Tensor) -> None:
        rows, columns = gradient.shape
        arguments = (parts.view(-1)[offset:], len(parts), parts.stride(0), rows, padded(columns), columns)
        flat = gradient.as_strided((gradient.numel(),), (1,))
        launch(reduce_parts, 1, (*arguments, flat, *gradient.stride()), CPU)


def _is_transposed(layer: DenseLayer, network: DenseNetwork) -> bool:
    """Whether a product with a row per input takes fewer operations. Gradients of outputs have no padded rows."""
    units, inputs = layer.linear.weight.shape
    return layer.target not in network.outputs and inputs * padded(units) < units * padded(inputs)


def _shape(layer: DenseLayer, transposed: bool) -> tuple[int, int]:
    """Rows and columns of the gradient of the weights."""
    units, inputs = layer.linear.weight.shape
    return (inputs, units) if transposed else (units, inputs)
