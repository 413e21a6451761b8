"""The encoder of observations that a config describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.convolution.grid_cnn import GridCNN
from worldloom.learn.networks.convolution.impala_cnn import ImpalaCNN
from worldloom.learn.networks.convolution.nature_cnn import MIN_SIDE, NatureCNN
from worldloom.learn.networks.entities.entity_encoder import EntityEncoder
from worldloom.learn.networks.inputs import ImageInput, VectorInput
from worldloom.learn.networks.layers import FeatureModule, LayerNorm
from worldloom.learn.networks.mlp import build_mlp
from worldloom.learn.networks.two_branch import TwoBranch

MAP_HIDDEN = (256, 128)
"""Hidden units of the branch of a two-dimensional map."""

IMPALA_MIN_SIDE = 16
"""Height and width below which auto takes a network without pooling."""

Convolution = Literal["nature", "impala", "grid"]
ResolvedNetwork = Literal["mlp", "nature", "impala", "grid", "two_branch", "attention"]

CONVOLUTIONS: dict[Convolution, type[NatureCNN] | type[ImpalaCNN] | type[GridCNN]] = {
    "nature": NatureCNN,
    "impala": ImpalaCNN,
    "grid": GridCNN,
}


class Encoder(FeatureModule):
    """Observations by name -> [N, features]: an input layer, and a network over its output.

    Args:
        inputs: The input layer.
        network: The network.
        layer_norm: Whether the output is normalized.
    """

    def __init__(self, inputs: VectorInput | ImageInput, network: Any, layer_norm: bool = False) -> None:
        super().__init__()
        self.inputs = inputs
        self.network: Any = network
        self.features = network.features
        self.norm = LayerNorm(self.features) if layer_norm else None

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        features: Tensor = self.network(self.inputs(observations))
        return features if self.norm is None else self.norm(features)


def build_encoder(
    observations: Mapping[str, ObservationSpec], config: PolicyConfig
) -> Encoder | TwoBranch | EntityEncoder:
    """The encoder of ``config``: observations by name, [N, *shape] -> [N, encoder.features]."""
    kind = resolve_network(observations, config)
    if kind == "mlp":
        return _dense(observations, config.hidden, config)
    if kind == "two_branch":
        return _branches(observations, config)
    if kind == "attention":
        images = [_convolutional(name, spec, config) for name, spec in sorted(observations.items()) if spec.is_image]
        return EntityEncoder(observations, config, images)
    ((name, spec),) = observations.items()
    return _convolutional(name, spec, config, kind)


def resolve_network(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> ResolvedNetwork:
    """The kind of network, with ``auto`` resolved; InputError for one that does not fit the observations."""
    if not observations:
        raise InputError(
            "a policy needs an observation: give the world's agents at least one component that is an Observation"
        )
    if config.network == "auto":
        return _auto_network(observations, config)
    if config.network in CONVOLUTIONS and len(observations) > 1:
        raise InputError(
            f"network '{config.network}' takes one image, and there are observations "
            f"{', '.join(sorted(observations))}: use network 'two_branch'"
        )
    return config.network


def _auto_network(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> ResolvedNetwork:
    if any(spec.entities for spec in observations.values()):
        return "attention"
    images = [spec for spec in observations.values() if spec.is_image]
    if not images:
        return "mlp"
    if len(observations) > 1:
        return "two_branch"
    return _convolution_for(ImageInput("", images[0]), config)


def _convolution_for(image: ImageInput, config: PolicyConfig) -> Convolution:
    side = min(image.shape[1:])
    if side >= MIN_SIDE:
        return "nature"
    return "impala" if side >= IMPALA_MIN_SIDE or config.input_rules == "0.1" else "grid"


def _dense(observations: Mapping[str, ObservationSpec], hidden: tuple[int, ...], config: PolicyConfig) -> Encoder:
    vectors = VectorInput(observations)
    return Encoder(vectors, build_mlp(vectors.features, hidden, config.activation, config.layer_norm))


def _convolutional(name: str, spec: ObservationSpec, config: PolicyConfig, kind: Convolution | None = None) -> Encoder:
    image = ImageInput(name, spec)
    network = CONVOLUTIONS[kind or _convolution_for(image, config)]
    return Encoder(image, network(image.shape, image.byte_scale), config.layer_norm)


def _branches(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> TwoBranch:
    """A branch for each image and each two-dimensional map, and one for all other observations together."""
    branches: list[Encoder] = []
    vectors = {}
    for name, spec in sorted(observations.items()):
        if spec.is_image:
            branches.append(_convolutional(name, spec, config))
        elif len(spec.shape) == 2 and not spec.choices:
            branches.append(_dense({name: spec}, MAP_HIDDEN, config))
        else:
            vectors[name] = spec
    if not branches or len(branches) + bool(vectors) < 2:
        shapes = ", ".join(f"{name} {spec.shape}" for name, spec in sorted(observations.items()))
        raise InputError(
            f"network 'two_branch' needs an image or a map and another observation, and there is only {shapes}: "
            "use network 'auto'"
        )
    if vectors:
        branches.append(_dense(vectors, config.hidden, config))
    return TwoBranch(branches, config.activation, config.layer_norm)
