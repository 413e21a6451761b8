"""Normalized layers have the values and gradients of PyTorch's. Without a GPU, by Triton's interpreter."""

import pytest
import torch
from interpreter import INTERPRETED, assert_passes
from torch import nn

from worldloom.learn.networks.fused.norm import fused_norm
from worldloom.learn.networks.layers import LayerNorm

TRITON = pytest.importorskip("triton", reason="Triton is not installed")


def test_by_the_interpreter():
    assert_passes(__file__)


@pytest.mark.skipif(not INTERPRETED, reason="runs in a process with Triton's interpreter")
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("activation", ["none", "tanh", "relu", "elu", "selu"])
@pytest.mark.parametrize(("rows", "units"), [(1, 1), (70, 64), (5, 100), (3, 512)])
def test_the_kernel_agrees_with_pytorchs_layers(rows, units, activation, biased, monkeypatch):
    from worldloom.learn.networks.fused import norm

    monkeypatch.setattr(norm, "PROGRAMS", 2)  # so that a program takes several tiles
    torch.manual_seed(0)
    layer, plain = LayerNorm(units), {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "selu": nn.SELU}
    nn.init.normal_(layer.weight)
    nn.init.normal_(layer.bias)
    added = torch.randn(units, requires_grad=True)
    values, slope = torch.randn(rows, units, requires_grad=True), torch.randn(rows, units)
    inputs = [values, layer.weight, layer.bias, *([added] if biased else [])]
    wanted = layer(values + added if biased else values)
    wanted = plain[activation]()(wanted) if activation != "none" else wanted
    found = fused_norm(layer, values, added if biased else None, activation)
    for one, other in zip(
        [found, *torch.autograd.grad(found, inputs, slope)],
        [wanted, *torch.autograd.grad(wanted, inputs, slope)],
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=2e-5)
