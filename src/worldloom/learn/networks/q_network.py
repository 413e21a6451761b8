"""Q networks: the expected return of each choice of an action."""

from __future__ import annotations

from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic_base import Observations, unwrap_single
from worldloom.learn.networks.custom.module_call import call_module, describe, require_module
from worldloom.learn.networks.encoder import build_encoder, resolve_network
from worldloom.learn.networks.layers import RELU_GAIN, head, linear
from worldloom.learn.networks.network_inputs import network_inputs, widest_layer
from worldloom.learn.networks.normalization import ObservationNormalizer

HEAD_GAIN = 1.0


class QNetwork(nn.Module):
    """Observations -> one value per choice of a categorical action with one part.

    Args:
        spec: Observations and action.
        config: Architecture; with ``dueling``, separate streams for the state value and the advantages.
        network: A custom module: ``network(observation) -> [N, choices]``. It gets the observation itself where there
            is one component, else all of them by name.

    Attributes:
        normalizer: As in :class:`~worldloom.learn.networks.policy.Policy`.
    """

    def __init__(self, spec: PolicySpec, config: PolicyConfig, network: nn.Module | None = None) -> None:
        super().__init__()
        if spec.action.kind != "categorical" or spec.action.width != 1:
            raise InputError(
                f"a Q network chooses among one set of choices, not a {spec.action.kind} action of {spec.action.width} "
                "elements: train with ppo or a2c"
            )
        if config.memory != "none":
            raise InputError(
                f"a Q network is not recurrent, and memory is '{config.memory}': "
                "leave it 'none', or train with ppo or a2c"
            )
        if network is not None:
            require_module(network)
        if network is not None and config.dueling:
            raise InputError("dueling applies to worldloom's networks only: leave it off with a custom network")
        if getattr(network, "state_size", 0):
            raise InputError(
                f"a Q network is not recurrent, and {type(network).__name__} has a state_size: train with ppo or a2c"
            )
        self.spec, self.config = spec, config
        self.observations = network_inputs(spec.observations, config).actor
        """What the network takes: all observations except those of a critic."""
        self.normalizer = ObservationNormalizer.of(self.observations) if config.normalize_observations else None
        self.custom = network is not None
        self.network = build_q_network(spec, config) if network is None else network

    @property
    def width(self) -> int:
        """Approximate width of the widest layer, including the observations."""
        return widest_layer(self.spec, self.config)

    def forward(self, observations: Observations) -> Tensor:
        """Observations [N, *shape] by name -> Q values [N, choices], float32."""
        observations = {name: observations[name] for name in self.observations}
        if self.normalizer is not None:
            observations = self.normalizer(observations)
        if not self.custom:
            values: Tensor = self.network(observations)
            return values.float()
        kind = type(self.network).__name__
        outputs = call_module(kind, "forward", self.network, unwrap_single(observations))
        expected = (len(next(iter(observations.values()))), self.spec.action.parameters)
        if not isinstance(outputs, Tensor) or tuple(outputs.shape) != expected:
            hint = "; a pair of parameters and values is for ppo, a2c and vtrace" if isinstance(outputs, tuple) else ""
            raise InputError(
                f"{kind}.forward returned as Q values {describe(outputs)}: make it one tensor {expected}, a value for "
                f"every choice{hint}"
            )
        return outputs.float()


class Dueling(nn.Module):
    """Features [N, F] -> V + A - mean A [N, choices] (Wang et al., 2016)."""

    def __init__(self, features: int, choices: int, exact: bool = False) -> None:
        super().__init__()
        self.value = _stream(features, 1, exact)
        self.advantage = _stream(features, choices, exact)

    def forward(self, features: Tensor) -> Tensor:
        advantage: Tensor = self.advantage(features)
        value: Tensor = self.value(features)
        return value + advantage - advantage.mean(dim=1, keepdim=True)


def build_q_network(spec: PolicySpec, config: PolicyConfig) -> nn.Sequential:
    """The encoder of ``config`` and its output layers: observations [N, *shape] by name -> [N, choices]."""
    observations = network_inputs(spec.observations, config).actor
    encoder = build_encoder(observations, config)
    choices, exact = spec.action.parameters, resolve_network(observations, config) != "mlp"
    return nn.Sequential(
        encoder,
        Dueling(encoder.features, choices, exact)
        if config.dueling
        else head(encoder.features, choices, HEAD_GAIN, exact),
    )


def _stream(features: int, outputs: int, exact: bool) -> nn.Sequential:
    """A hidden layer as wide as the features, and an output layer: [N, features] -> [N, outputs]."""
    return nn.Sequential(linear(features, features, RELU_GAIN), nn.ReLU(), head(features, outputs, HEAD_GAIN, exact))
