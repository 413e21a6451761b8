"""From observations and settings to the network that encodes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.impala_cnn import ImpalaCNN
from worldloom.learn.networks.layers import ImageInput, VectorInput
from worldloom.learn.networks.mlp import MLP
from worldloom.learn.networks.nature_cnn import SMALLEST, NatureCNN
from worldloom.learn.networks.two_branch import TwoBranch

MAP_HIDDEN = (256, 128)
"""Units of the layers that a map of two dimensions goes through in a network of branches."""

ResolvedNetwork = Literal["mlp", "nature", "impala", "two_branch"]


class Encoder(nn.Module):  # type: ignore[misc]
    """Observations by name -> [N, features]: some of them made one tensor, and a network over it."""

    def __init__(self, inputs: nn.Module, network: Any) -> None:
        super().__init__()
        self.inputs, self.network = inputs, network
        self.features: int = network.features

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        return self.network(self.inputs(observations))


def build_encoder(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> nn.Module:
    """The network of ``config`` for ``observations``: takes them by name, [N, *shape], and gives [N, encoder.features]."""
    kind = resolve_network(observations, config)
    if kind == "mlp":
        return _dense(observations, config.hidden, config)
    if kind == "two_branch":
        return _branches(observations, config)
    ((name, spec),) = observations.items()
    return _convolutional(name, spec, kind)


def resolve_network(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> ResolvedNetwork:
    """The kind of network, with ``auto`` settled and what cannot be refused."""
    if not observations:
        raise InputError(
            "a policy needs an observation: give the world's agents at least one field that is an Observation"
        )
    if config.network == "auto":
        return _suited(observations)
    if config.network in ("nature", "impala") and len(observations) > 1:
        raise InputError(
            f"network '{config.network}' takes one image, and there are observations {', '.join(sorted(observations))}: use network 'two_branch'"
        )
    return config.network


def _suited(observations: Mapping[str, ObservationSpec]) -> ResolvedNetwork:
    images = [spec for spec in observations.values() if spec.is_image]
    if not images:
        return "mlp"
    if len(observations) > 1:
        return "two_branch"
    return _convolution_for(ImageInput("", images[0]))


def _convolution_for(image: ImageInput) -> Literal["nature", "impala"]:
    return "nature" if min(image.shape[1:]) >= SMALLEST else "impala"


def _dense(observations: Mapping[str, ObservationSpec], hidden: tuple[int, ...], config: PolicyConfig) -> Encoder:
    vectors = VectorInput(observations)
    return Encoder(vectors, MLP(vectors.features, hidden, config.activation))


def _convolutional(name: str, spec: ObservationSpec, kind: Literal["nature", "impala"] | None = None) -> Encoder:
    image = ImageInput(name, spec)
    return Encoder(image, (NatureCNN if (kind or _convolution_for(image)) == "nature" else ImpalaCNN)(image.shape))


def _branches(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> TwoBranch:
    """A branch for each image and each map of two dimensions, and one for all other observations together."""
    branches: list[nn.Module] = []
    state = {}
    for name, spec in sorted(observations.items()):
        if spec.is_image:
            branches.append(_convolutional(name, spec))
        elif len(spec.shape) == 2 and not spec.choices:
            branches.append(_dense({name: spec}, MAP_HIDDEN, config))
        else:
            state[name] = spec
    if not branches or len(branches) + bool(state) < 2:
        shapes = ", ".join(f"{name} {spec.shape}" for name, spec in sorted(observations.items()))
        raise InputError(
            f"network 'two_branch' needs an image or a map beside another observation, and there is only {shapes}: use network 'auto'"
        )
    if state:
        branches.append(_dense(state, config.hidden, config))
    return TwoBranch(branches, config.activation)
