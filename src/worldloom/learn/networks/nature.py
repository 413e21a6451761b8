"""The convolutions of the first deep Q network, for images of 36 x 36 and more."""

from __future__ import annotations

from torch import Tensor, nn

from worldloom.core.errors import InputError
from worldloom.learn.networks.layers import RELU_GAIN, convolution, linear

SMALLEST = 36
"""The least height and width, in pixels, that leaves something after three convolutions."""


class NatureCNN(nn.Module):  # type: ignore[misc]
    """Three convolutions and a layer of 512 units, relu after each: [N, channels, height, width] -> [N, 512]."""

    features = 512

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        channels, height, width = shape
        if min(height, width) < SMALLEST:
            raise InputError(f"an image of {height} x {width} is too small for network 'nature', which needs {SMALLEST} x {SMALLEST}: use network 'impala'")
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
        """[N, channels, height, width] -> [N, 512]."""
        return self.layers(picture)


def _left(pixels: int) -> int:
    """How many of ``pixels`` in a row the convolutions leave."""
    return ((pixels - 8) // 4 + 1 - 4) // 2 + 1 - 2
