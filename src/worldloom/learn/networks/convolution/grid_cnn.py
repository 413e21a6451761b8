"""A convolutional network for small grids, whose cells must not be pooled away."""

from __future__ import annotations

from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.networks.convolution.image_network import ImageNetwork, ImageShape
from worldloom.learn.networks.inputs import BYTE_SCALE
from worldloom.learn.networks.layers import RELU_GAIN, convolution, linear

CHANNELS, FEATURES = (32, 64), 256
MAX_CELLS = 32 * 32
"""Cells above which the fully connected layer would have too many weights."""


class GridCNN(ImageNetwork):
    """Two 3 x 3 convolutions that keep the size of the grid, and a fully connected layer of 256 units, with relu."""

    def __init__(self, shape: ImageShape, byte_scale: float = BYTE_SCALE) -> None:
        before, height, width = shape
        if height * width > MAX_CELLS:
            raise InputError(
                f"an image of {height} x {width} is too large for network 'grid', which takes up to {MAX_CELLS} cells: "
                "use network 'impala' or 'nature'"
            )
        layers: list[nn.Module] = []
        for channels in CHANNELS:
            layers += [convolution(before, channels, size=3, padding=1), nn.ReLU()]
            before = channels
        last = linear(before * height * width, FEATURES, RELU_GAIN)
        super().__init__(FEATURES, nn.Sequential(*layers, nn.Flatten(), last, nn.ReLU()), byte_scale)
