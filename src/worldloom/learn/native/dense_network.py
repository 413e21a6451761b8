"""A fully connected network as a list of layers, read from its modules."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.networks.actor_critic import SeparateActorCritic, SharedActorCritic
from worldloom.learn.networks.encoder import Encoder
from worldloom.learn.networks.inputs import VectorInput
from worldloom.learn.networks.mlp import MLP
from worldloom.learn.networks.normalization import RunningMoments
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import Dueling, QNetwork

MAX_UNITS, MAX_INPUTS = 256, 1024
"""Wider layers are faster with PyTorch's matrix products."""
PADDING = 16
"""Rows of matrices are padded to a multiple of this: the most numbers of a vector."""
INPUTS = 0
"""Index of the inputs among the values of a network."""
_ACTIVATIONS: dict[type[nn.Module], str] = {nn.Tanh: "tanh", nn.ReLU: "relu", nn.ELU: "elu", nn.SELU: "selu"}


@dataclass(frozen=True)
class InputColumn:
    """One observation among the inputs.

    Attributes:
        name, spec: The observation.
        first: Index of its first input.
        moments: Its normalization; None where it has none.
    """

    name: str
    spec: ObservationSpec
    first: int
    moments: RunningMoments | None


@dataclass(frozen=True)
class DenseLayer:
    """A fully connected layer with its activation.

    Attributes:
        linear: Weights and bias.
        activation: Name of the activation, or ``none``.
        source, target: Indices of the values that it reads and writes.
    """

    linear: nn.Linear
    activation: str
    source: int
    target: int


@dataclass(frozen=True)
class DenseNetwork:
    """Layers in the order of the forward pass.

    Attributes:
        columns: The observations, in the order of the inputs.
        layers: The layers.
        sizes: Size of each value: of the inputs, then of the layers' outputs.
        outputs: Indices of the values that are outputs.
    """

    columns: tuple[InputColumn, ...]
    layers: tuple[DenseLayer, ...]
    sizes: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def products(self) -> int:
        """Multiplications of one sample's forward pass."""
        return sum(layer.linear.weight.numel() for layer in self.layers)

    def parameters(self) -> list[Tensor]:
        """Weights and biases of all layers."""
        return [tensor for layer in self.layers for tensor in (layer.linear.weight, layer.linear.bias)]


class UnsupportedNetworkError(Exception):
    """A network that has no native kernels; the message is the reason."""


class _Builder:
    """Collects the layers of a network."""

    def __init__(self, policy: Policy | QNetwork) -> None:
        self.policy = policy
        self.layers: list[DenseLayer] = []
        self.sizes: list[int] = []
        self.inputs: VectorInput | None = None

    def encoder(self, encoder: nn.Module) -> int:
        """Add the layers of an encoder, and return the index of its features."""
        if type(encoder) is not Encoder or type(encoder.inputs) is not VectorInput or type(encoder.network) is not MLP:
            kind = type(encoder.network if isinstance(encoder, Encoder) else encoder).__name__
            raise UnsupportedNetworkError(f"its encoder is a {kind}, not an MLP")
        if self.inputs is None:
            self.inputs, self.sizes = encoder.inputs, [encoder.inputs.features]
            if encoder.inputs.features > MAX_INPUTS:
                raise UnsupportedNetworkError(f"it has {encoder.inputs.features} inputs, more than {MAX_INPUTS}")
        elif encoder.inputs.observations != self.inputs.observations:
            raise UnsupportedNetworkError("actor and critic have different observations")
        return self.sequence(encoder.network.layers, INPUTS)

    def sequence(self, modules: nn.Module, source: int) -> int:
        """Add linear layers and the activations between them."""
        assert isinstance(modules, nn.Sequential)
        position, parts = 0, list(modules)
        while position < len(parts):
            linear, activation = parts[position], "none"
            if position + 1 < len(parts) and type(parts[position + 1]) in _ACTIVATIONS:
                activation = _ACTIVATIONS[type(parts[position + 1])]
            position += 1 if activation == "none" else 2
            source = self.layer(linear, activation, source)
        return source

    def layer(self, linear: nn.Module, activation: str, source: int) -> int:
        """Add one layer, and return the index of its output."""
        if not isinstance(linear, nn.Linear):
            raise UnsupportedNetworkError(f"it has a layer {type(linear).__name__}")
        if linear.out_features > MAX_UNITS:
            raise UnsupportedNetworkError(f"it has a layer of {linear.out_features} units, more than {MAX_UNITS}")
        self.sizes.append(linear.out_features)
        target = len(self.sizes) - 1
        self.layers.append(DenseLayer(linear, activation, source, target))
        return target

    def build(self, *outputs: int) -> DenseNetwork:
        assert self.inputs is not None
        normalizer = self.policy.normalizer
        moments = {} if normalizer is None else dict(normalizer._moments())
        columns, first = [], 0
        for name, spec in self.inputs.observations.items():
            if name in moments and not spec.dtype.is_floating_point:
                raise UnsupportedNetworkError(f"it normalizes the bytes of {name}")
            columns.append(InputColumn(name, spec, first, moments.get(name)))
            first += spec.features
        return DenseNetwork(tuple(columns), tuple(self.layers), tuple(self.sizes), outputs)


def describe_policy(policy: Policy) -> DenseNetwork:
    """The layers of an actor-critic; outputs are the action parameters and the value.

    Raises:
        UnsupportedNetworkError: Where there are no native kernels for it.
    """
    builder, network = _Builder(policy), policy.network
    if policy.recurrent:
        raise UnsupportedNetworkError("its network is recurrent")
    if type(network) is SharedActorCritic:
        features = builder.encoder(network.encoder)
        return builder.build(
            builder.layer(network.actor, "none", features), builder.layer(network.critic, "none", features)
        )
    if type(network) is SeparateActorCritic:
        parameters = builder.layer(network.actor, "none", builder.encoder(network.actor_encoder))
        return builder.build(parameters, builder.layer(network.critic, "none", builder.encoder(network.critic_encoder)))
    raise UnsupportedNetworkError(f"its network is a {type(network).__name__}")


def describe_q_network(policy: QNetwork) -> DenseNetwork:
    """The layers of a Q network; the output is one value per choice, or the state value and the advantages.

    Raises:
        UnsupportedNetworkError: Where there are no native kernels for it.
    """
    if policy.custom:
        raise UnsupportedNetworkError(f"its network is a {type(policy.network).__name__}")
    if policy.head.atoms:
        raise UnsupportedNetworkError("it has distributions of returns")
    assert isinstance(policy.network, nn.Sequential)
    encoder, head = policy.network
    builder = _Builder(policy)
    features = builder.encoder(encoder)
    if isinstance(head, Dueling):
        return builder.build(builder.sequence(head.value, features), builder.sequence(head.advantage, features))
    return builder.build(builder.layer(head, "none", features))


def padded(size: int) -> int:
    """``size``, rounded up to a multiple of PADDING."""
    return -(-size // PADDING) * PADDING
