"""The encoder of observations that a config describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.impala_cnn import ImpalaCNN
from worldloom.learn.networks.layers import FeatureModule, ImageInput, VectorInput
from worldloom.learn.networks.mlp import MLP
from worldloom.learn.networks.nature_cnn import MIN_SIDE, NatureCNN
from worldloom.learn.networks.two_branch import TwoBranch

MAP_HIDDEN = (256, 128)
"""Hidden units of the branch of a two-dimensional map."""

ResolvedNetwork = Literal["mlp", "nature", "impala", "two_branch"]


class Encoder(FeatureModule):
    """Observations by name -> [N, features]: an input layer, and a network over its output."""

    def __init__(self, inputs: VectorInput | ImageInput, network: Any) -> None:
        super().__init__()
        self.inputs = inputs
        self.network: Any = network
        self.features = network.features

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        features: Tensor = self.network(self.inputs(observations))
        return features


def build_encoder(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> Encoder | TwoBranch:
    """The encoder of ``config``: observations by name, [N, *shape] -> [N, encoder.features]."""
    kind = resolve_network(observations, config)
    if kind == "mlp":
        return build_mlp_encoder(observations, config)
    if kind == "two_branch":
        return _branches(observations, config)
    ((name, spec),) = observations.items()
    return _convolutional(name, spec, kind)


def build_mlp_encoder(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> Encoder:
    """Fully connected layers over all observations."""
    return _dense(observations, config.hidden, config)


def resolve_network(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> ResolvedNetwork:
    """The kind of network, with ``auto`` resolved; InputError for one that does not fit the observations."""
    if not observations:
        raise InputError(
            "a policy needs an observation: give the world's agents at least one component that is an Observation"
        )
    if config.network == "auto":
        return _auto_network(observations)
    if config.network in ("nature", "impala") and len(observations) > 1:
        raise InputError(
            f"network '{config.network}' takes one image, and there are observations "
            f"{', '.join(sorted(observations))}: use network 'two_branch'"
        )
    return config.network


def _auto_network(observations: Mapping[str, ObservationSpec]) -> ResolvedNetwork:
    images = [spec for spec in observations.values() if spec.is_image]
    if not images:
        return "mlp"
    if len(observations) > 1:
        return "two_branch"
    return _convolution_for(ImageInput("", images[0]))


def _convolution_for(image: ImageInput) -> Literal["nature", "impala"]:
    return "nature" if min(image.shape[1:]) >= MIN_SIDE else "impala"


def _dense(observations: Mapping[str, ObservationSpec], hidden: tuple[int, ...], config: PolicyConfig) -> Encoder:
    vectors = VectorInput(observations)
    return Encoder(vectors, MLP(vectors.features, hidden, config.activation))


def _convolutional(name: str, spec: ObservationSpec, kind: Literal["nature", "impala"] | None = None) -> Encoder:
    image = ImageInput(name, spec)
    return Encoder(image, (NatureCNN if (kind or _convolution_for(image)) == "nature" else ImpalaCNN)(image.shape))


def _branches(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> TwoBranch:
    """A branch for each image and each two-dimensional map, and one for all other observations together."""
    branches: list[Encoder] = []
    vectors = {}
    for name, spec in sorted(observations.items()):
        if spec.is_image:
            branches.append(_convolutional(name, spec))
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
    return TwoBranch(branches, config.activation)
