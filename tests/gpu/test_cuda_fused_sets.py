"""Encoders of entities and rectified layers on a GPU compute by kernels what PyTorch's layers compute."""

import pytest
import torch

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.entities.entity_encoder import EntityEncoder
from worldloom.learn.networks.fused.linear_relu import linear_relu
from worldloom.learn.networks.fused.sets import kernels
from worldloom.learn.networks.fused.support import fused_parts
from worldloom.learn.networks.layers import linear

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(kernels() is None, reason="Triton is not installed")]


def assert_as_close(found, exact, rounded, factor=1.5):
    """At most ``factor`` times as far from the exact results as PyTorch's layers are."""
    for one, other, plain in zip(found, exact, rounded, strict=True):
        one, plain = one.detach().float(), plain.detach().float()
        assert (one - other).norm() <= factor * (plain - other).norm() + 1e-3 * other.norm()


@pytest.fixture
def tensor_cores():
    """Products of float32 in TF32, as in a training."""
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.mark.usefixtures("tensor_cores")
@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(("own", "layers", "rows"), [(True, 1, 3000), (False, 2, 1), (True, 2, 70_000)])
def test_an_encoder_by_kernels_is_as_precise_as_pytorchs(own, layers, rows, bf16, monkeypatch):
    torch.manual_seed(0)
    specs = {
        "boxes": ObservationSpec((14, 11), entities=True, mask="seen"),
        "ramps": ObservationSpec((2, 9), entities=True),
        "seen": ObservationSpec((14,), torch.uint8),
    }
    if own:
        specs["speed"] = ObservationSpec((30,))
    encoder = EntityEncoder(specs, PolicyConfig(attention_size=64, attention_layers=layers, hidden=(128,))).cuda()
    for parameter in encoder.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    values = {name: torch.randn(rows, *spec.shape, device="cuda") for name, spec in specs.items()}
    values["seen"] = (torch.rand(rows, 14, device="cuda") < 0.5).to(torch.uint8)
    values["seen"][0] = 0
    values["boxes"][0] = torch.nan
    slope = torch.randn(rows, encoder.features, device="cuda")
    parameters = list(encoder.parameters())

    def results():
        outputs = encoder(values)
        return [outputs, *torch.autograd.grad(outputs, parameters, slope.to(outputs.dtype))]

    with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
        found = results()
    assert fused_parts(encoder) == ("attention",)
    monkeypatch.setattr("worldloom.learn.networks.fused.sets.usable", lambda *_: False)
    with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
        rounded = results()
    torch.set_float32_matmul_precision("highest")
    exact = [result.detach() for result in results()]
    # PyTorch's attention has exact products of float32, that of the kernels has TF32.
    assert_as_close(found, exact, rounded, factor=1.5 if bf16 else 3.0)


def test_exact_products_are_left_to_pytorch():
    specs = {"boxes": ObservationSpec((3, 4), entities=True)}
    encoder = EntityEncoder(specs, PolicyConfig()).cuda()
    encoder({"boxes": torch.randn(5, 3, 4, device="cuda")})
    assert fused_parts(encoder) == ()


@pytest.mark.usefixtures("tensor_cores")
@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(("rows", "units"), [(1, 8), (5000, 256), (300, 1000)])
def test_rectified_layers_are_as_precise_as_pytorchs(rows, units, bf16):
    torch.manual_seed(0)
    layer = linear(20, units, 1.0).cuda()
    values, slope = torch.randn(rows, 20, device="cuda", requires_grad=True), torch.randn(rows, units, device="cuda")
    inputs = [values, *layer.parameters()]

    def results(compute):
        outputs = compute(values)
        return [outputs, *torch.autograd.grad(outputs, inputs, slope.to(outputs.dtype))]

    with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
        found = results(lambda v: linear_relu(layer, v))
        rounded = results(lambda v: torch.relu(layer(v)))
    torch.set_float32_matmul_precision("highest")
    exact = [result.detach() for result in results(lambda v: torch.relu(layer(v)))]
    assert_as_close(found, exact, rounded)
