"""Encoders: shapes for every kind of observation, what ``auto`` takes, and what is refused."""

import math

import pytest
import torch
from thorough import covering

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks import MLP, GridCNN, ImpalaCNN, NatureCNN, TwoBranch, build_encoder
from worldloom.learn.networks.encoder import resolve_network

BYTES = torch.uint8


def planes(*shape: int, dtype: torch.dtype = torch.float32) -> ObservationSpec:
    """An image whose channels come first."""
    return ObservationSpec(shape, dtype, channels="first")


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


def encoded(observations: dict[str, ObservationSpec], **settings) -> tuple[torch.nn.Module, torch.Tensor]:
    """An encoder, and what it makes of three rows of anything."""
    encoder = build_encoder(observations, PolicyConfig(**settings))
    rows = {
        name: torch.randint(0, min(spec.choices, default=200), (3, *spec.shape)).to(spec.dtype)
        if not spec.dtype.is_floating_point
        else torch.randn(3, *spec.shape)
        for name, spec in observations.items()
    }
    return encoder, encoder(rows)


@pytest.mark.parametrize("shape", [(3,), (1,), (), (5, 2), (3, 4, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, BYTES])
def test_mlp_takes_any_shape_and_type(shape, dtype):
    encoder, features = encoded({"sight": ObservationSpec(shape, dtype)}, network="mlp", hidden=(7, 5))
    assert features.shape == (3, encoder.features) == (3, 5)
    assert features.dtype == torch.float32


@pytest.mark.parametrize(
    ("shape", "channels"),
    [
        ((4, 84, 84), "first"),
        ((1, 36, 36), "first"),
        ((3, 37, 61), "first"),
        ((84, 84, 4), "last"),
        ((90, 60, 3), "last"),
        ((36, 36, 1), "last"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, BYTES])
def test_nature_takes_images_with_channels_first_or_last(shape, channels, dtype):
    encoder, features = encoded({"screen": ObservationSpec(shape, dtype, channels=channels)}, network="nature")
    assert isinstance(encoder.network, NatureCNN)
    assert encoder.network.layers[0].in_channels == (shape[0] if channels == "first" else shape[2])
    assert features.shape == (3, encoder.features) == (3, 512)


@pytest.mark.parametrize(
    ("shape", "channels"),
    covering([(1, 1, 1), (3, 7, 7), (5, 10, 9), (64, 64, 3), (2, 3, 17)], ["first", "last"]),
)
def test_impala_takes_images_of_any_size(shape, channels):
    encoder, features = encoded({"screen": ObservationSpec(shape, channels=channels)}, network="impala")
    assert features.shape == (3, encoder.features) == (3, 256)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 4, 26), (15, 15, 3)])
def test_grid_sees_every_cell(shape):
    encoder = build_encoder({"grid": ObservationSpec(shape)}, PolicyConfig(network="grid"))
    assert isinstance(encoder.network, GridCNN) and encoder.network.layers[0].in_channels == shape[2]
    cells = torch.randn(4, *shape, requires_grad=True)
    features = encoder({"grid": cells})
    assert features.shape == (4, 256)
    features.sum().backward()
    assert cells.grad.abs().sum((0, 3)).min() > 0.0


@pytest.mark.parametrize(
    ("observations", "branches"),
    [
        ({"screen": planes(3, 40, 40, dtype=BYTES), "speed": ObservationSpec((2,))}, [512, 9]),
        (
            {
                "map": planes(1, 15, 11),
                "speed": ObservationSpec(()),
                "gear": ObservationSpec((), torch.int32, (5,)),
            },
            [256, 9],
        ),
        ({"map": ObservationSpec((15, 11)), "speed": ObservationSpec((3,))}, [128, 9]),
        ({"left": planes(3, 8, 8), "right": ObservationSpec((36, 36, 3))}, [256, 512]),
        (
            {"left": planes(3, 8, 8), "right": ObservationSpec((9, 8, 3)), "speed": ObservationSpec((2,))},
            [256, 256, 9],
        ),
    ],
)
def test_two_branch_has_a_branch_for_each_image_and_one_for_the_rest(observations, branches):
    encoder, features = encoded(observations, network="two_branch", hidden=(9,))
    assert [branch.features for branch in encoder.branches] == branches
    assert features.shape == (3, encoder.features) == (3, 256)


@pytest.mark.parametrize(
    ("observations", "kind"),
    [
        ({"sight": ObservationSpec((4,))}, "mlp"),
        ({"sight": ObservationSpec((4,)), "place": ObservationSpec((), torch.int32, (16,))}, "mlp"),
        ({"board": ObservationSpec((10, 5))}, "mlp"),
        ({"screen": ObservationSpec((84, 84, 3), BYTES)}, "nature"),
        ({"screen": planes(3, 16, 35, dtype=BYTES)}, "impala"),
        ({"screen": planes(3, 15, 35, dtype=BYTES)}, "grid"),
        ({"screen": ObservationSpec((5, 4, 26))}, "grid"),
        ({"screen": planes(3, 84, 84, dtype=BYTES), "sight": ObservationSpec((4,))}, "two_branch"),
        ({"left": planes(3, 84, 84), "right": planes(3, 84, 84)}, "two_branch"),
        ({"others": ObservationSpec((6, 3), entities=True), "sight": ObservationSpec((4,))}, "attention"),
        ({"cards": ObservationSpec((2, 2, 2), torch.int32, (3,) * 8)}, "mlp"),
    ],
)
def test_auto(observations, kind):
    assert resolve_network(observations, PolicyConfig()) == kind
    assert encoded(observations)[1].shape[0] == 3


@pytest.mark.parametrize(
    ("observations", "network", "words"),
    [
        ({"screen": planes(3, 35, 84)}, "nature", "35 x 84 is too small.*'impala'"),
        ({"sight": ObservationSpec((4,))}, "nature", "'sight' of shape \\(4,\\) is not an image"),
        ({"sight": ObservationSpec((4,))}, "impala", "'sight' of shape \\(4,\\) is not an image"),
        (
            {"screen": planes(3, 84, 84), "sight": ObservationSpec((4,))},
            "nature",
            "takes one image.*screen, sight.*'two_branch'",
        ),
        ({"screen": planes(3, 33, 32)}, "grid", "33 x 32 is too large.*'impala'"),
        ({"sight": ObservationSpec((4,))}, "grid", "'sight' of shape \\(4,\\) is not an image"),
        ({"sight": ObservationSpec((4,))}, "attention", "needs a set of entities.*sight"),
        ({"screen": planes(3, 84, 84)}, "two_branch", "and another observation.*only screen"),
        (
            {"a": ObservationSpec((4,)), "b": ObservationSpec((4,))},
            "two_branch",
            "and another observation.*only a \\(4,\\), b",
        ),
        ({}, "auto", "needs an observation"),
    ],
)
def test_what_does_not_fit_is_refused(observations, network, words):
    with pytest.raises(InputError, match=words):
        build_encoder(observations, PolicyConfig(network=network))


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_numbers_of_parameters():
    assert count(MLP(4, (64, 32), "tanh")) == 4 * 64 + 64 + 64 * 32 + 32
    assert count(NatureCNN((4, 84, 84))) == (4 * 64 * 32 + 32) + (32 * 16 * 64 + 64) + (64 * 9 * 64 + 64) + (
        64 * 7 * 7 * 512 + 512
    )
    stages = [(3, 16), (16, 32), (32, 32)]
    convolutions = sum(9 * before * after + after + 4 * (9 * after * after + after) for before, after in stages)
    assert count(ImpalaCNN((3, 64, 64))) == convolutions + 32 * 8 * 8 * 256 + 256


@pytest.mark.parametrize(
    ("activation", "gain"), [("tanh", math.sqrt(2)), ("relu", math.sqrt(2)), ("elu", math.sqrt(2)), ("selu", 1.0)]
)
def test_mlp_starts_with_orthogonal_weights(activation, gain):
    for parameter in MLP(6, (16, 5), activation).parameters():
        if parameter.ndim == 1:
            assert not parameter.any()
        else:
            torch.testing.assert_close(torch.linalg.svdvals(parameter), torch.full((min(parameter.shape),), gain))


def test_activations_are_those_asked_for():
    values = torch.randn(5, 3)
    for activation in ("tanh", "relu", "elu", "selu"):
        network = MLP(3, (4,), activation)
        torch.testing.assert_close(
            network(values),
            getattr(torch, activation, getattr(torch.nn.functional, activation, None))(network.layers[0](values)),
        )


def test_impala_keeps_the_size_of_its_signal():
    spread = ImpalaCNN((3, 32, 32))(torch.randn(64, 3, 32, 32)).std()
    assert 0.5 < spread < 2.0


def test_two_branch_uses_all_it_sees():
    seen = {"map": torch.randn(2, 15, 11, requires_grad=True), "speed": torch.randn(2, 3, requires_grad=True)}
    encoder = build_encoder(
        {"map": ObservationSpec((15, 11)), "speed": ObservationSpec((3,))},
        PolicyConfig(network="two_branch", activation="selu"),
    )
    assert isinstance(encoder, TwoBranch)
    encoder(seen).sum().backward()
    assert all(values.grad.abs().min() > 0 for values in seen.values())


LAYER_NORM_CASES = {
    "mlp": ({"sight": ObservationSpec((4,))}, 2),
    "grid": ({"screen": planes(3, 8, 8)}, 1),
    "two_branch": ({"map": ObservationSpec((15, 11)), "speed": ObservationSpec((3,))}, 2 + 2 + 1),
    "attention": ({"others": ObservationSpec((6, 3), entities=True)}, 3 + 2),
}


@pytest.mark.parametrize("network", LAYER_NORM_CASES)
def test_layer_norm(network):
    observations, layers = LAYER_NORM_CASES[network]
    plain, _ = encoded(observations, network=network)
    normalized, features = encoded(observations, network=network, layer_norm=True)
    norms = [module for module in normalized.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == layers
    assert len(list(plain.modules())) < len(list(normalized.modules())) and features.isfinite().all()


def test_layer_norm_removes_the_scale_of_the_inputs():
    encoder = build_encoder({"sight": ObservationSpec((4,))}, PolicyConfig(layer_norm=True))
    values = torch.randn(6, 4)
    torch.testing.assert_close(encoder({"sight": values}), encoder({"sight": 1000.0 * values}), rtol=1e-3, atol=1e-3)
