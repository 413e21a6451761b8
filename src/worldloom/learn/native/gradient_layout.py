"""The gradients of all parameters in one flat tensor with padded rows, and their sums over the parts of a minibatch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.dense_kernels import reduce_parts
from worldloom.learn.native.dense_network import DenseNetwork, padded
from worldloom.learn.native.recording import CPU


class LayerGradient(NamedTuple):
    """Gradients of one layer: weights [units, padded inputs], bias [padded units]."""

    weight: Tensor
    bias: Tensor


class GradientLayout:
    """Offsets of the gradients in a flat tensor of ``size`` numbers.

    Args:
        network: The network.
        extra: Number of other parameters, at the end.
    """

    def __init__(self, network: DenseNetwork, extra: int = 0) -> None:
        self.network, self.extra_size = network, extra
        self._offsets, offset = [], 0
        for layer in network.layers:
            weight = offset
            offset += layer.linear.out_features * padded(layer.linear.in_features)
            self._offsets.append((weight, offset))
            offset += padded(layer.linear.out_features)
        self._extra_offset = offset
        self.size = offset + padded(extra)

    def layers(self, flat: Tensor) -> list[LayerGradient]:
        """The gradients of the layers in ``flat`` [size]."""
        views = []
        for layer, (weight, bias) in zip(self.network.layers, self._offsets, strict=True):
            units = layer.linear.out_features
            views.append(LayerGradient(flat[weight:bias].view(units, -1), flat[bias : bias + padded(units)]))
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
        for layer, (weight, bias) in zip(self.network.layers, self._offsets, strict=True):
            self._reduce(parts, weight, gradients[layer.linear.weight.data_ptr()])
            self._reduce(parts, bias, gradients[layer.linear.bias.data_ptr()].unsqueeze(0))
        if extra is not None:
            self._reduce(parts, self._extra_offset, extra.unsqueeze(0))

    @staticmethod
    def _reduce(parts: Tensor, offset: int, gradient: Tensor) -> None:
        rows, columns = gradient.shape
        arguments = (parts.view(-1)[offset:], len(parts), parts.stride(0), rows, padded(columns), columns)
        launch(reduce_parts, 1, (*arguments, gradient.view(-1)), CPU)
