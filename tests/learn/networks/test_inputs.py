"""Observations as a network's input: one-hot choices, bytes, order of names, places of channels."""

import pytest
import torch

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.encoder import build_encoder, resolve_network
from worldloom.learn.networks.inputs import ImageInput, OneHot, VectorInput
from worldloom.learn.networks.network_inputs import network_inputs


def test_one_hot_of_one_choice():
    taken = torch.tensor([[2], [0], [3]], dtype=torch.int32)
    assert torch.equal(OneHot((4,))(taken), torch.nn.functional.one_hot(taken[:, 0].long(), 4).float())


def test_one_hot_of_choices_of_different_sizes():
    taken = torch.tensor([[1, 0, 2], [0, 3, 0]])
    assert OneHot((2, 4, 3))(taken).tolist() == [[0, 1, 1, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1, 1, 0, 0]]


def test_vectors_are_joined_in_the_order_of_their_names():
    specs = {
        "b": ObservationSpec((2,)),
        "c": ObservationSpec((), torch.uint8),
        "a": ObservationSpec((), torch.int32, (3,)),
    }
    vectors = VectorInput(specs)
    joined = vectors(
        {
            "c": torch.tensor([255], dtype=torch.uint8),
            "a": torch.tensor([1], dtype=torch.int32),
            "b": torch.tensor([[5.0, 6.0]]),
        }
    )
    assert joined.tolist() == [[0, 1, 0, 5, 6, 1]]
    assert vectors.features == 6


def test_one_vector_of_real_numbers_is_not_copied():
    values = torch.randn(4, 3)
    assert VectorInput({"sight": ObservationSpec((3,))})({"sight": values}).data_ptr() == values.data_ptr()


def test_channels_are_where_they_are_declared():
    first = torch.randint(0, 256, (2, 5, 4, 26), dtype=torch.uint8)
    image = ImageInput("screen", ObservationSpec((5, 4, 26), torch.uint8, channels="first"))
    assert image.shape == (5, 4, 26) and torch.equal(image({"screen": first}), first)
    image = ImageInput("screen", ObservationSpec((5, 4, 26), torch.uint8))
    assert image.shape == (26, 5, 4) and torch.equal(image({"screen": first}), first.permute(0, 3, 1, 2))


@pytest.mark.parametrize(("high", "scaled"), [(255.0, 1 / 255), (1.0, 1.0), (4.0, 0.25)])
@pytest.mark.parametrize("network", ["mlp", "grid", "impala"])
def test_bytes_are_divided_by_the_bound_of_their_space(high, scaled, network):
    config = PolicyConfig(network=network)
    torch.manual_seed(0)
    of_bytes = build_encoder({"grid": ObservationSpec((6, 6, 2), torch.uint8, high=high)}, config)
    torch.manual_seed(0)
    of_floats = build_encoder({"grid": ObservationSpec((6, 6, 2))}, config)
    cells = torch.randint(0, 2, (3, 6, 6, 2), dtype=torch.uint8)
    torch.testing.assert_close(of_bytes({"grid": cells}), of_floats({"grid": cells * scaled}))


def test_the_fast_path_of_nature_divides_bytes_by_the_bound_of_their_space():
    torch.manual_seed(0)
    of_bytes = build_encoder({"screen": ObservationSpec((3, 40, 40), torch.uint8, (), 3.0, "first")}, PolicyConfig())
    torch.manual_seed(0)
    of_floats = build_encoder({"screen": ObservationSpec((3, 40, 40), channels="first")}, PolicyConfig())
    pixels = torch.randint(0, 4, (2, 3, 40, 40), dtype=torch.uint8)
    torch.testing.assert_close(of_bytes({"screen": pixels}), of_floats({"screen": pixels / 3.0}), rtol=1e-4, atol=1e-4)


def test_each_byte_of_a_vector_may_have_its_own_bound():
    vectors = VectorInput({"hand": ObservationSpec((3,), torch.uint8, high=(1.0, 10.0, 255.0))})
    assert vectors({"hand": torch.tensor([[1, 5, 255]], dtype=torch.uint8)}).tolist() == [[1.0, 0.5, 1.0]]


@pytest.mark.parametrize(
    ("network", "shape", "channels"),
    [("grid", (6, 6, 2), "last"), ("impala", (2, 16, 18), "first"), ("nature", (2, 40, 40), "first")],
)
def test_each_byte_of_an_image_may_have_its_own_bound(network, shape, channels):
    config = PolicyConfig(network=network)
    bounds = torch.randint(1, 256, shape, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    spec = ObservationSpec(shape, torch.uint8, (), tuple(bounds.flatten().float().tolist()), channels)
    of_bytes = build_encoder({"grid": spec}, config)
    torch.manual_seed(0)
    of_floats = build_encoder({"grid": ObservationSpec(shape, channels=channels)}, config)
    assert of_bytes.state_dict().keys() == of_floats.state_dict().keys()
    cells = (torch.rand(3, *shape) * (bounds + 1)).floor().to(torch.uint8)
    expected = of_floats({"grid": cells / bounds})
    torch.testing.assert_close(of_bytes({"grid": cells}), expected, rtol=1e-4, atol=1e-5)


def test_an_image_with_equal_bounds_keeps_its_bytes():
    image = ImageInput("screen", ObservationSpec((2, 3, 1), torch.uint8, high=(7.0,) * 6))
    assert image.byte_scale == 1.0 / 7.0
    assert image({"screen": torch.ones((4, 2, 3, 1), dtype=torch.uint8)}).dtype == torch.uint8


def test_each_byte_of_a_set_may_have_its_own_bound():
    bounds = (1.0, 2.0, 4.0, 8.0)
    config = PolicyConfig(network="attention")
    torch.manual_seed(0)
    of_bytes = build_encoder({"cards": ObservationSpec((2, 2), torch.uint8, high=bounds, entities=True)}, config)
    torch.manual_seed(0)
    of_floats = build_encoder({"cards": ObservationSpec((2, 2), entities=True)}, config)
    cards = torch.tensor([[[1, 2], [3, 8]], [[0, 1], [4, 4]]], dtype=torch.uint8)
    scaled = cards / torch.tensor(bounds).view(2, 2)
    torch.testing.assert_close(of_bytes({"cards": cards}), of_floats({"cards": scaled}))


def test_rules_of_version_0_1():
    spec = {"grid": ObservationSpec((5, 4, 26), torch.uint8, high=1.0)}
    (old,) = network_inputs(spec, PolicyConfig(input_rules="0.1")).actor.values()
    assert old.high == 255.0 and old.channels == "first"
    assert resolve_network({"grid": old}, PolicyConfig(input_rules="0.1")) == "impala"
    assert network_inputs(spec, PolicyConfig()).actor == spec
    (old,) = network_inputs({"screen": ObservationSpec((40, 40, 3))}, PolicyConfig(input_rules="0.1")).actor.values()
    assert old.channels == "last"


@pytest.mark.parametrize("network", ["mlp", "two_branch"])
def test_sets_are_plain_arrays_for_networks_without_attention(network):
    spec = {"others": ObservationSpec((6, 3), entities=True, mask="near"), "near": ObservationSpec((6,))}
    (others, near) = network_inputs(spec, PolicyConfig(network=network)).actor.values()
    assert others == ObservationSpec((6, 3)) and near == ObservationSpec((6,))
    assert network_inputs(spec, PolicyConfig()).actor == spec
