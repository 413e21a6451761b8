"""Q networks: the return to expect of each choice of an action."""

from __future__ import annotations

from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic import Observations, unwrap_single
from worldloom.learn.networks.encoder import build_encoder, resolve_network
from worldloom.learn.networks.layers import RELU_GAIN, head, linear
from worldloom.learn.networks.normalization import ObservationNormalizer

HEAD_GAIN = 1.0


class QNetwork(nn.Module):  # type: ignore[misc]
    """Observations -> one number per choice of a categorical action of one part.

    Args:
        spec: What it sees and does.
        config: What it is made of; with ``dueling``, the value of the state and the advantages of the choices have layers of their own.
        network: A module of one's own: ``network(observation) -> [N, choices]``, with the observation itself where there is one
            component, else all of them by name.

    Attributes:
        normalizer: As a policy's.
    """

    def __init__(self, spec: PolicySpec, config: PolicyConfig, network: nn.Module | None = None) -> None:
        super().__init__()
        if spec.action.kind != "categorical" or spec.action.width != 1:
            raise InputError(
                f"a Q network chooses among one set of choices, not {spec.action.width} {spec.action.kind} numbers: train with ppo or a2c"
            )
        if config.memory != "none":
            raise InputError(
                f"a Q network has no memory, and '{config.memory}' was asked for: leave it 'none', or train with ppo or a2c"
            )
        if network is not None and config.dueling:
            raise InputError("dueling belongs to worldloom's own networks: leave it off beside a network of your own")
        self.spec, self.config = spec, config
        self.normalizer = ObservationNormalizer.of(spec.observations) if config.normalize_observations else None
        self.custom = network is not None
        self.network = build_q_network(spec, config) if network is None else network

    @property
    def width(self) -> int:
        """Numbers of the widest layer, the observations among them, roughly."""
        return max(sum(part.features for part in self.spec.observations.values()), *self.config.hidden)

    def forward(self, observations: Observations) -> Tensor:
        """Observations [N, *shape] by name -> Q values [N, choices], float32."""
        if self.normalizer is not None:
            observations = self.normalizer(observations)
        values = self.network(unwrap_single(observations) if self.custom else observations)
        expected = (len(next(iter(observations.values()))), self.spec.action.parameters)
        if values.shape != expected:
            raise InputError(
                f"{type(self.network).__name__} gave Q values of shape {tuple(values.shape)}: make them {expected}"
            )
        return values.float()


class Dueling(nn.Module):  # type: ignore[misc]
    """Features [N, F] -> V + A - mean A [N, choices]: the value of the state, and how much better or worse each choice is than their mean."""

    def __init__(self, features: int, choices: int, exact: bool = False) -> None:
        super().__init__()
        self.value = _stream(features, 1, exact)
        self.advantage = _stream(features, choices, exact)

    def forward(self, features: Tensor) -> Tensor:
        advantage = self.advantage(features)
        return self.value(features) + advantage - advantage.mean(dim=1, keepdim=True)


def build_q_network(spec: PolicySpec, config: PolicyConfig) -> nn.Sequential:
    """The encoder of ``config`` and the layers on top of it: observations [N, *shape] by name -> [N, choices]."""
    encoder = build_encoder(spec.observations, config)
    choices, exact = spec.action.parameters, resolve_network(spec.observations, config) != "mlp"
    return nn.Sequential(
        encoder,
        Dueling(encoder.features, choices, exact)
        if config.dueling
        else head(encoder.features, choices, HEAD_GAIN, exact),
    )


def _stream(features: int, outputs: int, exact: bool) -> nn.Sequential:
    """A hidden layer as wide as the features, and the last layer: [N, features] -> [N, outputs]."""
    return nn.Sequential(linear(features, features, RELU_GAIN), nn.ReLU(), head(features, outputs, HEAD_GAIN, exact))
