"""The residual CNN of IMPALA (Espeholt et al., 2018), for images of any size."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu

from worldloom.learn.networks.convolution.image_network import ImageNetwork, ImageShape
from worldloom.learn.networks.inputs import BYTE_SCALE
from worldloom.learn.networks.layers import RELU_GAIN, convolution, linear

CHANNELS, FEATURES = (16, 32, 32), 256
_BLOCKS = 2 * len(CHANNELS)


class ImpalaCNN(ImageNetwork):
    """Three stages of 16, 32 and 32 channels, each halving the image, and a fully connected layer of 256 units."""

    def __init__(self, shape: ImageShape, byte_scale: float = BYTE_SCALE) -> None:
        before, height, width = shape
        stages = []
        for channels in CHANNELS:
            stages.append(Stage(before, channels))
            before, height, width = channels, (height + 1) // 2, (width + 1) // 2
        last = linear(before * height * width, FEATURES, RELU_GAIN)
        super().__init__(FEATURES, nn.Sequential(*stages, nn.ReLU(), nn.Flatten(), last, nn.ReLU()), byte_scale)


class Stage(nn.Module):
    """A convolution, a 3 x 3 max pooling that halves the image, and two residual blocks."""

    def __init__(self, inputs: int, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            convolution(inputs, channels, size=3, padding=1, gain=1.0),  # not after a relu: gain 1
            nn.MaxPool2d(3, stride=2, padding=1),
            Residual(channels),
            Residual(channels),
        )

    def forward(self, image: Tensor) -> Tensor:
        """[N, inputs, height, width] -> [N, channels, ceil(height / 2), ceil(width / 2)]."""
        features: Tensor = self.layers(image)
        return features


class Residual(nn.Module):
    """A residual block of two convolutions; the shape stays the same."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = convolution(channels, channels, size=3, padding=1)
        # Each block adds to its input: with full gain, six of them would increase it many times.
        self.second = convolution(channels, channels, size=3, padding=1, gain=RELU_GAIN / _BLOCKS)

    def forward(self, image: Tensor) -> Tensor:
        """[N, channels, height, width] -> the same."""
        residual: Tensor = self.second(relu(self.first(relu(image))))
        return image + residual
