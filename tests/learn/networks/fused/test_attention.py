"""The fused attention layer has the values and gradients of PyTorch's. Without a GPU, by Triton's interpreter."""

import pytest
import torch
from interpreter import INTERPRETED, assert_passes

TRITON = pytest.importorskip("triton", reason="Triton is not installed")


def test_by_the_interpreter():
    assert_passes(__file__)


def by_token(compute, layer, values, present):
    """The kernels take the first tokens of all sets, then the second ones."""
    return compute(layer, values.transpose(0, 1), present.t(), precision="ieee").transpose(0, 1)


@pytest.mark.skipif(not INTERPRETED, reason="runs in a process with Triton's interpreter")
@pytest.mark.parametrize(
    ("sets", "tokens", "units", "heads"), [(1, 1, 32, 1), (7, 17, 64, 4), (3, 5, 32, 2), (4, 33, 64, 4), (2, 60, 36, 3)]
)
def test_the_layer_agrees_with_pytorchs(sets, tokens, units, heads, monkeypatch):
    from worldloom.learn.networks.entities.attention import AttentionLayer
    from worldloom.learn.networks.fused import attention

    monkeypatch.setattr("worldloom.learn.networks.fused.norm.PROGRAMS", 2)  # so that a program takes several tiles
    monkeypatch.setattr("worldloom.learn.networks.fused.sums.PROGRAMS", 2)
    torch.manual_seed(0)
    layer = AttentionLayer(units, heads)
    assert attention.has_kernel(layer, tokens)
    for parameter in layer.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    values, slope = torch.randn(sets, tokens, units), torch.randn(sets, tokens, units)
    present = torch.rand(sets, tokens) < 0.5
    present[:, 0] = True  # the agent itself
    present[0] = True
    present[-1, 1:] = False
    found, wanted = [], []
    for results, compute in (
        (wanted, layer),
        (found, lambda *inputs: by_token(attention.fused_layer, layer, *inputs)),
    ):
        inputs = values.clone().requires_grad_()
        outputs = compute(inputs, present)
        results += [outputs.detach(), *torch.autograd.grad(outputs, [inputs, *layer.parameters()], slope)]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))
