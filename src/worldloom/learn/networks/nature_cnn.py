"""The convolutions of the first deep Q network, for images of 36 x 36 and more."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldloom.core.base.errors import InputError
from worldloom.learn.networks import space_to_depth
from worldloom.learn.networks.layers import RELU_GAIN, convolution, linear, to_float32

SMALLEST = 36
"""The least height and width, in pixels, that leaves something after three convolutions."""


class NatureCNN(nn.Module):  # type: ignore[misc]
    """Three convolutions and a layer of 512 units, relu after each: [N, channels, height, width] -> [N, 512]."""

    features = 512

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        channels, height, width = shape
        if min(height, width) < SMALLEST:
            raise InputError(
                f"an image of {height} x {width} is too small for network 'nature', which needs {SMALLEST} x {SMALLEST}: use network 'impala'"
            )
        left = _left(height) * _left(width)
        self.layers = nn.Sequential(
            convolution(channels, 32, size=8, stride=4),
            nn.ReLU(),
            convolution(32, 64, size=4, stride=2),
            nn.ReLU(),
            convolution(64, 64, size=3),
            nn.ReLU(),
            nn.Flatten(),
            linear(64 * left, self.features, RELU_GAIN),
            nn.ReLU(),
        )

    def forward(self, picture: Tensor) -> Tensor:
        """[N, channels, height, width] -> [N, 512]; bytes are scaled to 0 .. 1."""
        return self._of_bytes(picture) if space_to_depth.fits(picture) else self.layers(to_float32(picture))

    def _of_bytes(self, picture: Tensor) -> Tensor:
        """The same layers on squares of pixels, with the channels of a place side by side from the first to the last."""
        first, second, third, last = (layer for layer in self.layers if isinstance(layer, (nn.Conv2d, nn.Linear)))
        kind = picture.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
        values = functional.relu_(
            functional.conv2d(
                space_to_depth.squares(picture, dtype), space_to_depth.space_to_depth_weight(first.weight), first.bias
            )
        )
        values = functional.relu_(third(functional.relu_(second(values)))).permute(0, 2, 3, 1)
        # It is the weights that are brought into the order of the picture, which are fewer.
        weight = last.weight.unflatten(1, (values.shape[3], *values.shape[1:3])).permute(0, 2, 3, 1).flatten(1)
        return functional.relu_(functional.linear(values.flatten(1), weight, last.bias))


def _left(pixels: int) -> int:
    """How many of ``pixels`` in a row the convolutions leave."""
    return ((pixels - 8) // 4 + 1 - 4) // 2 + 1 - 2
