"""The fused attention layer on a GPU has the values and gradients of PyTorch's."""

import pytest
import torch

from worldloom.learn.networks.entities.attention import AttentionLayer
from worldloom.learn.networks.fused.attention import fused_layer, has_kernel, kernels

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(kernels() is None, reason="Triton is not installed")]
SIZES = [
    (1, 1, 32, 1),
    (1000, 17, 64, 4),
    (301, 33, 64, 4),
    (64, 64, 128, 4),
    (100, 60, 36, 3),
    (200, 17, 256, 4),
    (50, 64, 128, 2),
    (50, 30, 256, 2),
]


def by_token(layer, values, present, precision="tf32"):
    """The kernels take the first tokens of all sets, then the second ones."""
    return fused_layer(layer, values.transpose(0, 1), present.t(), precision).transpose(0, 1)


def results(compute, layer, values, present, slope):
    """Outputs and gradients, float32."""
    inputs = values.clone().requires_grad_()
    outputs = compute(inputs, present)
    gradients = torch.autograd.grad(outputs, [inputs, *layer.parameters()], slope.to(outputs.dtype))
    return [result.detach().float() for result in (outputs, *gradients)]


@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(("sets", "tokens", "units", "heads"), SIZES)
def test_the_layer_agrees_with_pytorchs(sets, tokens, units, heads, bf16):
    torch.manual_seed(0)
    layer = AttentionLayer(units, heads).cuda()
    assert has_kernel(layer, tokens)
    for parameter in layer.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    values, slope = (torch.randn(sets, tokens, units, device="cuda") for _ in range(2))
    present = torch.rand(sets, tokens, device="cuda") < 0.5
    present[:, 0] = True  # the agent itself
    present[0] = True
    present[-1, 1:] = False
    wanted = results(layer, layer, values, present, slope)
    with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
        precision = "tf32" if bf16 else "ieee"
        given = values.bfloat16() if bf16 else values
        fused = results(lambda *inputs: by_token(layer, *inputs, precision), layer, given, present, slope)
        rounded = results(layer, layer, given, present, slope) if bf16 else wanted
    for found, exact, plain in zip(fused, wanted, rounded, strict=True):
        if bf16:  # as far from float32 as PyTorch's layer in bfloat16
            assert (found - exact).norm() < 1.5 * (plain - exact).norm() + 1e-3 * exact.norm()
        else:
            torch.testing.assert_close(found, exact, rtol=1e-5, atol=1e-5 * float(exact.abs().max()))


def test_two_calls_give_the_same_bits():
    torch.manual_seed(1)
    layer = AttentionLayer(64, 4).cuda()
    values, slope = (torch.randn(5000, 17, 64, device="cuda") for _ in range(2))
    present = torch.ones(5000, 17, dtype=torch.bool, device="cuda")
    first, second = (results(lambda *inputs: by_token(layer, *inputs), layer, values, present, slope) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
