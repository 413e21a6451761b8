"""An encoder of entities computes the same by kernels as by PyTorch. Without a GPU, by Triton's interpreter."""

import pytest
import torch
from interpreter import INTERPRETED, assert_passes

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.entities.entity_encoder import EntityEncoder

TRITON = pytest.importorskip("triton", reason="Triton is not installed")


def test_by_the_interpreter():
    assert_passes(__file__)


@pytest.mark.skipif(not INTERPRETED, reason="runs in a process with Triton's interpreter")
@pytest.mark.parametrize(("own", "layers"), [(True, 1), (False, 2)])
def test_the_encoder_agrees_with_the_plain_one(own, layers, monkeypatch):
    for module in ("norm", "sums"):  # so that a program takes several tiles
        monkeypatch.setattr(f"worldloom.learn.networks.fused.{module}.PROGRAMS", 2)
    torch.manual_seed(0)
    specs = {
        "boxes": ObservationSpec((5, 3), entities=True, mask="seen"),
        "ramps": ObservationSpec((2, 9), entities=True),
        "seen": ObservationSpec((5,), torch.uint8),
    }
    if own:
        specs["speed"] = ObservationSpec((4,))
    encoder = EntityEncoder(specs, PolicyConfig(attention_size=32, attention_heads=2, attention_layers=layers))
    for parameter in encoder.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    rows = 70
    values = {"boxes": torch.randn(rows, 5, 3), "ramps": torch.randn(rows, 2, 9), "speed": torch.randn(rows, 4)}
    values["seen"] = (torch.rand(rows, 5) < 0.5).to(torch.uint8)
    values["seen"][0] = 0
    values["boxes"][0] = torch.nan
    slope = torch.randn(rows, encoder.features)
    results = []
    for fused in (False, True):
        monkeypatch.setattr("worldloom.learn.networks.fused.sets.usable", lambda *_, fused=fused: fused)
        outputs = encoder({name: values[name] for name in specs})
        results.append([outputs, *torch.autograd.grad(outputs, list(encoder.parameters()), slope)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))
