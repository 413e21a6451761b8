"""Convolutions in residual blocks, for images of any size."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from worldloom.learn.networks.layers import RELU_GAIN, convolution, linear, to_float32

CHANNELS = (16, 32, 32)
_BLOCKS = 2 * len(CHANNELS)


class ImpalaCNN(nn.Module):  # type: ignore[misc]
    """Three stages of 16, 32 and 32 channels, each halving the picture, and a layer of 256 units: [N, channels, height, width] -> [N, 256]."""

    features = 256

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        before, height, width = shape
        stages = []
        for channels in CHANNELS:
            stages.append(Stage(before, channels))
            before, height, width = channels, (height + 1) // 2, (width + 1) // 2
        self.layers = nn.Sequential(
            *stages, nn.ReLU(), nn.Flatten(), linear(before * height * width, self.features, RELU_GAIN), nn.ReLU()
        )

    def forward(self, picture: Tensor) -> Tensor:
        """[N, channels, height, width] -> [N, 256]."""
        return self.layers(to_float32(picture))


class Stage(nn.Module):  # type: ignore[misc]
    """A convolution, a maximum over 3 x 3 that halves the picture, and two residual blocks."""

    def __init__(self, inputs: int, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            convolution(
                inputs, channels, size=3, padding=1, gain=1.0
            ),  # no relu stands before it, whose loss a gain would make up for
            nn.MaxPool2d(3, stride=2, padding=1),
            Residual(channels),
            Residual(channels),
        )

    def forward(self, picture: Tensor) -> Tensor:
        """[N, inputs, height, width] -> [N, channels, ceil(height / 2), ceil(width / 2)]."""
        return self.layers(picture)


class Residual(nn.Module):  # type: ignore[misc]
    """A picture plus what two convolutions make of it; the shape stays."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = convolution(channels, channels, size=3, padding=1)
        # Each block adds to the picture: with a full gain six of them would make it many times as large.
        self.second = convolution(channels, channels, size=3, padding=1, gain=RELU_GAIN / _BLOCKS)

    def forward(self, picture: Tensor) -> Tensor:
        """[N, channels, height, width] -> the same."""
        return picture + self.second(relu(self.first(relu(picture))))
