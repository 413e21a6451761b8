"""Q networks: the expected return of each choice of an action, or the distribution of the return."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.q_head import QHead
from worldloom.learn.networks.actor_critic_base import Observations, unwrap_single
from worldloom.learn.networks.custom.module_call import call_module, describe, require_module
from worldloom.learn.networks.encoder import build_encoder, resolve_network
from worldloom.learn.networks.layers import RELU_GAIN, head, linear
from worldloom.learn.networks.network_inputs import network_inputs, widest_layer
from worldloom.learn.networks.normalization import ObservationNormalizer
from worldloom.learn.networks.values.noisy_linear import NoisyLinear

HEAD_GAIN = 1.0


class QNetwork(nn.Module):
    """Observations -> one value per choice of a categorical action with one part.

    Args:
        spec: Observations and action.
        config: Architecture; with ``dueling``, separate streams for the state value and the advantages.
        network: A custom module: ``network(observation) -> [N, choices]``. It gets the observation itself where there
            is one component, else all of them by name.
        head: The output layers; None for expected returns from linear layers.

    Attributes:
        support: Returns of the atoms of a distributional network, float32 [atoms]; empty for others.
        normalizer: As in :class:`~worldloom.learn.networks.policy.Policy`.
    """

    support: Tensor

    def __init__(
        self, spec: PolicySpec, config: PolicyConfig, network: nn.Module | None = None, head: QHead | None = None
    ) -> None:
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
        self.spec, self.config, self.head = spec, config, head or QHead()
        if network is not None and (self.head.atoms or self.head.noisy):
            raise InputError("atoms and noisy apply to worldloom's networks only: omit them with a custom network")
        support = torch.linspace(self.head.v_min, self.head.v_max, self.head.atoms)
        self.register_buffer("support", support, persistent=False)
        self.observations = network_inputs(spec.observations, config).actor
        """What the network takes: all observations except those of a critic."""
        self.normalizer = ObservationNormalizer.of(self.observations, config)
        self.custom = network is not None
        self.network = build_q_network(spec, config, self.head) if network is None else network

    @property
    def width(self) -> int:
        """Approximate width of the widest layer, including the observations."""
        return widest_layer(self.spec, self.config)

    def forward(self, observations: Observations) -> Tensor:
        """Observations [N, *shape] by name -> Q values [N, choices], float32."""
        outputs = self.outputs(observations)
        return outputs if self.head.atoms == 0 else (outputs.softmax(-1) * self.support).sum(-1)

    def outputs(self, observations: Observations) -> Tensor:
        """Outputs of the last layer, float32: Q values [N, choices], or logits of returns [N, choices, atoms]."""
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
    """Features [N, F] -> V + A - mean A [N, choices] (Wang et al., 2016); of each atom [N, choices, atoms]."""

    def __init__(self, features: int, choices: int, exact: bool = False, kind: QHead | None = None) -> None:
        super().__init__()
        kind = kind or QHead()
        self.atoms = kind.atoms
        self.value = _stream(features, max(1, kind.atoms), exact, kind.noisy)
        self.advantage = _stream(features, choices * max(1, kind.atoms), exact, kind.noisy)

    def forward(self, features: Tensor) -> Tensor:
        advantage: Tensor = self.advantage(features)
        value: Tensor = self.value(features)
        if self.atoms:
            advantage, value = advantage.unflatten(1, (-1, self.atoms)), value.unsqueeze(1)
        values: Tensor = value + advantage - advantage.mean(dim=1, keepdim=True)
        return values


class Distributional(nn.Module):
    """Features [N, F] -> logits of returns [N, choices, atoms]."""

    def __init__(self, layer: nn.Module, atoms: int) -> None:
        super().__init__()
        self.layer, self.atoms = layer, atoms

    def forward(self, features: Tensor) -> Tensor:
        outputs: Tensor = self.layer(features).unflatten(1, (-1, self.atoms))
        return outputs


def build_q_network(spec: PolicySpec, config: PolicyConfig, kind: QHead) -> nn.Sequential:
    """The encoder of ``config`` and output layers: observations [N, *shape] by name -> [N, choices], or with atoms
    [N, choices, atoms].
    """
    observations = network_inputs(spec.observations, config).actor
    encoder = build_encoder(observations, config)
    choices, exact = spec.action.parameters, resolve_network(observations, config) != "mlp"
    if config.dueling:
        return nn.Sequential(encoder, Dueling(encoder.features, choices, exact, kind))
    last = _output_layer(encoder.features, choices * max(1, kind.atoms), exact, kind.noisy)
    return nn.Sequential(encoder, Distributional(last, kind.atoms) if kind.atoms else last)


def _output_layer(features: int, outputs: int, exact: bool, noisy: bool) -> nn.Module:
    return NoisyLinear(features, outputs, HEAD_GAIN) if noisy else head(features, outputs, HEAD_GAIN, exact)


def _stream(features: int, outputs: int, exact: bool, noisy: bool) -> nn.Sequential:
    """A hidden layer as wide as the features, and an output layer: [N, features] -> [N, outputs]."""
    hidden = NoisyLinear(features, features, RELU_GAIN) if noisy else linear(features, features, RELU_GAIN)
    return nn.Sequential(hidden, nn.ReLU(), _output_layer(features, outputs, exact, noisy))
