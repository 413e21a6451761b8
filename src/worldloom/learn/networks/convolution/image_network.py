"""The common part of convolutional networks."""

from __future__ import annotations

from torch import Tensor, nn

from worldloom.learn.networks.inputs import BYTE_SCALE, to_float32

ImageShape = tuple[int, int, int]
"""Channels, height and width."""


class ImageNetwork(nn.Module):
    """Layers over an image: [N, channels, height, width] of any type -> [N, features].

    Args:
        features: Size of the output.
        layers: The layers, which end with a vector.
        byte_scale: Factor of bytes.
    """

    def __init__(self, features: int, layers: nn.Sequential, byte_scale: float = BYTE_SCALE) -> None:
        super().__init__()
        self.features, self.layers, self.byte_scale = features, layers, byte_scale

    def forward(self, image: Tensor) -> Tensor:
        """[N, channels, height, width] -> [N, features]; bytes are scaled."""
        features: Tensor = self.layers(to_float32(image, self.byte_scale))
        return features
