"""The CNN of the Nature DQN paper (Mnih et al., 2015), for images of at least 36 x 36 pixels."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldloom.core.base.errors import InputError
from worldloom.learn.networks.convolution.image_network import ImageNetwork, ImageShape
from worldloom.learn.networks.convolution.space_to_depth import fits, space_to_depth, space_to_depth_weight
from worldloom.learn.networks.inputs import BYTE_SCALE
from worldloom.learn.networks.layers import RELU_GAIN, convolution, linear

FEATURES = 512
MIN_SIDE = 36
"""Minimum height and width in pixels: three convolutions must leave at least one."""


class NatureCNN(ImageNetwork):
    """Three convolutions and a layer of 512 units, with relu: [N, channels, height, width] -> [N, 512]."""

    def __init__(self, shape: ImageShape, byte_scale: float = BYTE_SCALE) -> None:
        channels, height, width = shape
        if min(height, width) < MIN_SIDE:
            raise InputError(
                f"an image of {height} x {width} is too small for network 'nature', "
                f"which needs {MIN_SIDE} x {MIN_SIDE}: use network 'impala'"
            )
        positions = _output_side(height) * _output_side(width)
        layers = nn.Sequential(
            convolution(channels, 32, size=8, stride=4),
            nn.ReLU(),
            convolution(32, 64, size=4, stride=2),
            nn.ReLU(),
            convolution(64, 64, size=3),
            nn.ReLU(),
            nn.Flatten(),
            linear(64 * positions, FEATURES, RELU_GAIN),
            nn.ReLU(),
        )
        super().__init__(FEATURES, layers, byte_scale)

    def forward(self, image: Tensor) -> Tensor:
        """[N, channels, height, width] -> [N, 512]; bytes are scaled."""
        return self._forward_bytes(image) if fits(image) else super().forward(image)

    def _forward_bytes(self, image: Tensor) -> Tensor:
        """The same layers on 4 x 4 blocks of pixels, in channels-last memory layout."""
        first, second, third, last = (layer for layer in self.layers if isinstance(layer, (nn.Conv2d, nn.Linear)))
        assert isinstance(first, nn.Conv2d) and isinstance(last, nn.Linear)
        kind = image.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
        blocks = space_to_depth(image, dtype)
        values = functional.relu_(
            functional.conv2d(blocks, space_to_depth_weight(first.weight, self.byte_scale), first.bias)
        )
        values = functional.relu_(third(functional.relu_(second(values)))).permute(0, 2, 3, 1)
        # The weights are permuted rather than the image: there are fewer of them.
        weight = last.weight.unflatten(1, (values.shape[3], *values.shape[1:3])).permute(0, 2, 3, 1).flatten(1)
        return functional.relu_(functional.linear(values.flatten(1), weight, last.bias))


def _output_side(pixels: int) -> int:
    """Output size of the convolutions for an input of ``pixels``."""
    return ((pixels - 8) // 4 + 1 - 4) // 2 + 1 - 2
