"""Normalized layers on a GPU have the values and gradients of PyTorch's, in float32 and under autocast."""

import copy

import pytest
import torch
from torch import nn

from worldloom.learn.networks.fused.norm import NormedLayers, kernels, usable
from worldloom.learn.networks.layers import LayerNorm
from worldloom.learn.networks.mlp import build_mlp_layers

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(kernels() is None, reason="Triton is not installed")]


def results(compute, parameters, values, slope):
    """Outputs and gradients, float32."""
    inputs = values.clone().requires_grad_()
    outputs = compute(inputs)
    gradients = torch.autograd.grad(outputs, [inputs, *parameters], slope.to(outputs.dtype))
    return [result.detach().float() for result in (outputs, *gradients)]


def assert_as_close(found, exact, rounded, slack):
    """At most half as much further from float64 than PyTorch's layers are."""
    for one, other, plain in zip(found, exact, rounded, strict=True):
        assert (one - other).norm() <= 1.5 * (plain - other).norm() + slack * other.norm()


@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize(("rows", "hidden"), [(1, (16,)), (5000, (256, 128)), (333, (100, 512))])
def test_layers_agree_with_pytorchs(rows, hidden, activation, bf16):
    torch.manual_seed(0)
    layers = build_mlp_layers(48, hidden, activation, layer_norm=True).cuda()
    assert isinstance(layers, NormedLayers)
    for parameter in layers.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    plain, exact = nn.Sequential(*layers), nn.Sequential(*copy.deepcopy(layers)).double()
    for number, layer in enumerate(exact):
        if isinstance(layer, LayerNorm):
            exact[number] = nn.LayerNorm(layer.normalized_shape, layer.eps, dtype=torch.float64, device="cuda")
            exact[number].load_state_dict(layer.state_dict())
    values, slope = torch.randn(rows, 48, device="cuda"), torch.randn(rows, hidden[-1], device="cuda")
    wanted = results(exact, list(exact.parameters()), values.double(), slope)
    with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
        found = results(layers, list(layers.parameters()), values, slope)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("worldloom.learn.networks.layers.usable", lambda *_: False)
            rounded = results(plain, list(plain.parameters()), values, slope)
    assert_as_close(found, wanted, rounded, slack=3e-3 if bf16 else 1e-6)


def test_normalization_of_tokens():
    torch.manual_seed(1)
    norm = LayerNorm(64).cuda()
    values, slope = torch.randn(100, 17, 64, device="cuda"), torch.randn(100, 17, 64, device="cuda")
    assert usable(norm, values)
    found = results(norm, list(norm.parameters()), values, slope)
    wanted = results(lambda v: nn.LayerNorm.forward(norm, v), list(norm.parameters()), values, slope)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-4)


def test_rows_without_numbers_and_networks_without_gradients():
    norm = LayerNorm(64).cuda().requires_grad_(False)
    assert norm(torch.zeros(0, 64, device="cuda")).shape == (0, 64)
    with torch.no_grad():
        assert torch.isfinite(norm(torch.zeros(4, 64, device="cuda"))).all()
