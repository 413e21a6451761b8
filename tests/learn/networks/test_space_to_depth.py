"""Pictures of bytes as squares: every pixel is where it belongs, and the network over them is the one over pixels."""

import pytest
import torch
from torch.nn.functional import conv2d

from worldloom.learn.networks import NatureCNN
from worldloom.learn.networks.convolution.space_to_depth import (
    _space_to_depth_torch,
    fits,
    space_to_depth,
    space_to_depth_weight,
)


def pictures(*shape: int) -> torch.Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3, 4, 84, 84), (1, 1, 36, 40), (2, 3, 38, 36)])
def test_every_pixel_is_in_its_square(shape, dtype):
    picture = pictures(*shape)
    made = space_to_depth(picture, dtype)
    assert made.dtype == dtype and made.is_contiguous(memory_format=torch.channels_last)
    _, channels, height, width = shape
    for i in range(4):
        for j in range(4):
            wanted = picture[:, :, i : height // 4 * 4 : 4, j:width:4]
            assert torch.equal(made[:, 4 * i + j :: 16].float(), wanted.float()), (i, j)
    assert made.shape[1] == 16 * channels
    assert torch.equal(made, _space_to_depth_torch(picture[:, :, : height // 4 * 4], dtype))


def test_what_lies_otherwise_in_memory_does_not_fit():
    assert fits(pictures(2, 4, 84, 84))
    assert (
        not fits(pictures(2, 4, 84, 84).permute(0, 1, 3, 2))
        and not fits(pictures(2, 4, 84, 82))
        and not fits(pictures(2, 4, 84, 84).float())
    )


def test_the_convolution_over_squares_is_that_over_pixels():
    picture, weight = pictures(2, 3, 40, 36), torch.randn(5, 3, 8, 8)
    torch.testing.assert_close(
        conv2d(space_to_depth(picture, torch.float32), space_to_depth_weight(weight, 1.0 / 255.0)),
        conv2d(picture / 255.0, weight, stride=4),
    )


def test_outputs_and_slopes_are_those_of_the_network_over_real_numbers():
    torch.manual_seed(0)
    network, picture = NatureCNN((4, 84, 84)), pictures(3, 4, 84, 84)
    found, wanted = network(picture), network(picture / 255.0)
    torch.testing.assert_close(found, wanted)
    by_bytes, by_floats = (
        torch.autograd.grad(features.square().sum(), tuple(network.parameters())) for features in (found, wanted)
    )
    for one, other in zip(by_bytes, by_floats, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_half_precision_stays_near():
    torch.manual_seed(0)
    network, picture = NatureCNN((4, 84, 84)), pictures(3, 4, 84, 84)
    with torch.autocast("cpu", torch.bfloat16):
        found = network(picture)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), network(picture), atol=0.05, rtol=0.05)
