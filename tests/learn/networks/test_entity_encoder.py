"""Attention over sets: order, masks, several sets, and what else is observed."""

import pytest
import torch

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks import EntityEncoder, build_encoder
from worldloom.learn.networks.entities import attention
from worldloom.learn.networks.entities.attention import SelfAttention

N, K = 5, 6
SPECS = {
    "boxes": ObservationSpec((K, 3), entities=True, mask="boxes_present"),
    "boxes_present": ObservationSpec((K,), torch.bool),
    "cards": ObservationSpec((4, 2), torch.int32, (3, 5) * 4, entities=True),
    "sight": ObservationSpec((7,)),
}


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


def encoder_of(specs: dict[str, ObservationSpec], **settings) -> EntityEncoder:
    encoder = build_encoder(specs, PolicyConfig(attention_size=16, **settings))
    assert isinstance(encoder, EntityEncoder)
    return encoder


def seen(rows: int = N) -> dict[str, torch.Tensor]:
    return {
        "boxes": torch.randn(rows, K, 3),
        "boxes_present": torch.rand(rows, K) < 0.5,
        "cards": torch.randint(0, 3, (rows, 4, 2), dtype=torch.int32),
        "sight": torch.randn(rows, 7),
    }


@pytest.mark.parametrize("layers", [1, 3])
def test_the_order_of_entities_has_no_influence(layers):
    encoder, observations = encoder_of(SPECS, attention_layers=layers, attention_heads=2 * layers + 2), seen()
    boxes, cards = torch.randperm(K), torch.randperm(4)
    shuffled = {
        **observations,
        "boxes": observations["boxes"][:, boxes],
        "boxes_present": observations["boxes_present"][:, boxes],
        "cards": observations["cards"][:, cards],
    }
    features = encoder(observations)
    assert features.shape == (N, encoder.features)
    assert [layer.attention.heads for layer in encoder.layers] == [2 * layers + 2] * layers
    torch.testing.assert_close(encoder(shuffled), features)
    exchanged = {**observations, "boxes_present": observations["boxes_present"][:, boxes]}
    assert not torch.allclose(encoder(exchanged), features)


@pytest.mark.parametrize("name", ["boxes", "cards", "sight"])
def test_everything_else_has_influence(name):
    encoder, observations = encoder_of(SPECS), seen()
    observations["boxes_present"][:] = True
    assert not torch.allclose(encoder({**observations, name: observations[name] + 1}), encoder(observations))


@pytest.mark.parametrize("value", [1e6, float("nan"), float("inf")])
def test_masked_entities_have_no_influence(value):
    encoder, observations = encoder_of(SPECS), seen()
    changed = torch.where(observations["boxes_present"][:, :, None], observations["boxes"], value)
    assert torch.equal(encoder({**observations, "boxes": changed}), encoder(observations))


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.uint8])
def test_without_any_entity_everything_is_finite(dtype):
    encoder = encoder_of({"boxes": SPECS["boxes"], "boxes_present": ObservationSpec((K,), dtype)})
    observations = {"boxes": torch.randn(N, K, 3), "boxes_present": torch.zeros(N, K, dtype=dtype)}
    features = encoder(observations)
    features.square().sum().backward()
    assert features.isfinite().all() and all(p.grad is None or p.grad.isfinite().all() for p in encoder.parameters())
    torch.testing.assert_close(features, encoder({**observations, "boxes": torch.randn(N, K, 3)}))


def test_images_are_part_of_the_agent():
    encoder = encoder_of({**SPECS, "map": ObservationSpec((5, 5, 2))})
    observations = {**seen(), "map": torch.randn(N, 5, 5, 2)}
    changed = {**observations, "map": torch.randn(N, 5, 5, 2)}
    assert not torch.allclose(encoder(changed), encoder(observations))


@pytest.mark.parametrize("heads", [1, 8])
def test_self_attention_is_that_of_the_paper(heads):
    layer, tokens = SelfAttention(16, heads), torch.randn(N, K, 16)
    present = torch.rand(N, K) < 0.7
    present[:, 0] = True
    queries, keys, values = layer.project(tokens).chunk(3, dim=2)
    outputs = []
    for head in range(heads):
        part = slice(head * (16 // heads), (head + 1) * (16 // heads))
        scores = queries[:, :, part] @ keys[:, :, part].transpose(1, 2) / (16 // heads) ** 0.5
        weights = scores.masked_fill(~present[:, None], -torch.inf).softmax(2)
        outputs.append(weights @ values[:, :, part])
    torch.testing.assert_close(layer(tokens, present), layer.output(torch.cat(outputs, dim=2)))


def test_many_rows_are_attended_to_in_parts(monkeypatch):
    layer, tokens, present = SelfAttention(16, 2), torch.randn(7, K, 16), torch.ones(7, K, dtype=torch.bool)
    whole = layer(tokens, present)
    monkeypatch.setattr(attention, "MAX_ROWS", 3)
    torch.testing.assert_close(layer(tokens, present), whole)


def test_bfloat16_stays_near_float32():
    encoder, observations = encoder_of(SPECS, attention_layers=2), seen(64)
    exact = encoder(observations)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = encoder(observations)
    assert rounded.dtype == torch.bfloat16
    assert (rounded.float() - exact).abs().mean() < 0.02 * exact.abs().mean()
