"""Actor-critic networks: with shared or separate layers, an actor alone, or around a custom module."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic_base import ActorCritic, Observations, flatten_time
from worldloom.learn.networks.custom.custom_actor_critic import CustomActorCritic
from worldloom.learn.networks.encoder import Encoder, build_encoder, resolve_network
from worldloom.learn.networks.fused.mlp import NAME, FusedActorCritic
from worldloom.learn.networks.fused.support import note
from worldloom.learn.networks.layers import ACTOR_GAIN, CRITIC_GAIN, FeatureModule, Head, head
from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.recurrent import RecurrentCell

Specs = Mapping[str, ObservationSpec]
"""Observations by name."""


class SharedActorCritic(ActorCritic):
    """An encoder, an optional recurrent cell, and one output layer each for actor and critic."""

    def __init__(self, observations: Mapping[str, ObservationSpec], spec: PolicySpec, config: PolicyConfig) -> None:
        super().__init__()
        self.encoder = build_encoder(observations, config)
        self.memory = None if config.memory == "none" else build_recurrent_cell(self.encoder.features, config)
        last = self.memory or self.encoder
        exact = resolve_network(observations, config) != "mlp"
        self.actor = head(last.features, spec.action.parameters, ACTOR_GAIN, exact)
        self.critic = head(last.features, 1, CRITIC_GAIN, exact)
        if self.memory is not None:
            self.state_size = self.memory.state_size
        self._fused: FusedActorCritic | None = None
        if (
            self.memory is None
            and isinstance(self.encoder, Encoder)
            and FusedActorCritic.fits(self.encoder.network, self.actor)
        ):
            self._fused = FusedActorCritic(self.encoder.network, self.actor, self.encoder.network, self.critic)

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fused = _fused_forward(self._fused, self.encoder, observations)
        if fused is not None:
            return *fused, state
        features, state = self._features(observations, state)
        parameters, value = self._heads(features)
        return parameters, value, state

    def _heads(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Parameters and value from [N, features]. On a GPU both heads are one product, to read the features once."""
        if not features.is_cuda:
            return self.actor(features), self.critic(features).squeeze(-1)
        weight, bias = (
            torch.cat([self.actor.weight, self.critic.weight]),
            torch.cat([self.actor.bias, self.critic.bias]),
        )
        exact = isinstance(self.actor, Head)
        with torch.autocast("cuda", enabled=torch.is_autocast_enabled("cuda") and not exact):
            both = nn.functional.linear(features.float() if exact else features, weight, bias)
        parameters, value = both.split([self.actor.out_features, 1], -1)
        return parameters, value.squeeze(-1)

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        value: Tensor = self.critic(self._features(observations, state)[0])
        return value.squeeze(-1)

    def sequence(self, observations: Observations, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        if self.memory is None:
            return super().sequence(observations, state, resets)
        return self._heads(_scan(self.encoder, self.memory, observations, state, resets))

    def _features(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        features = self.encoder(observations)
        return (features, state) if self.memory is None else self.memory(features, state)


class SeparateActorCritic(ActorCritic):
    """An actor and a critic with separate layers.

    Args:
        actor_observations, critic_observations: The observations of each.
        spec: The action.
        config: Architecture.
    """

    def __init__(
        self, actor_observations: Specs, critic_observations: Specs, spec: PolicySpec, config: PolicyConfig
    ) -> None:
        super().__init__()
        self.actor_encoder = build_encoder(actor_observations, config)
        exact = resolve_network(actor_observations, config) != "mlp"
        self.actor = head(self.actor_encoder.features, spec.action.parameters, ACTOR_GAIN, exact)
        self.critic_encoder = build_encoder(critic_observations, config)
        exact = resolve_network(critic_observations, config) != "mlp"
        self.critic = head(self.critic_encoder.features, 1, CRITIC_GAIN, exact)
        self._fused: FusedActorCritic | None = None
        if (
            actor_observations == critic_observations
            and isinstance(self.actor_encoder, Encoder)
            and isinstance(self.critic_encoder, Encoder)
            and FusedActorCritic.fits(self.actor_encoder.network, self.actor)
        ):
            self._fused = FusedActorCritic(
                self.actor_encoder.network, self.actor, self.critic_encoder.network, self.critic
            )

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fused = _fused_forward(self._fused, self.actor_encoder, observations)
        if fused is not None:
            return *fused, state
        return self.actor(self.actor_encoder(observations)), self.value(observations, state), state

    def act(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        fused = _fused_forward(self._fused, self.actor_encoder, observations)
        return self.actor(self.actor_encoder(observations)) if fused is None else fused[0], state

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        value: Tensor = self.critic(self.critic_encoder(observations))
        return value.squeeze(-1)


class Actor(ActorCritic):
    """An actor alone, of an algorithm with critics of its own; values are 0."""

    def __init__(self, spec: PolicySpec, config: PolicyConfig) -> None:
        super().__init__()
        if config.memory != "none":
            raise InputError(
                f"an actor without a critic is not recurrent, and memory is '{config.memory}': "
                "leave it 'none', or train with ppo or a2c"
            )
        observations = network_inputs(spec.observations, config).actor
        self.encoder = build_encoder(observations, config)
        exact = resolve_network(observations, config) != "mlp"
        self.actor = head(self.encoder.features, spec.action.parameters, ACTOR_GAIN, exact)

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        parameters, state = self.act(observations, state)
        return parameters, parameters.new_zeros(len(parameters)), state

    def act(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.actor(self.encoder(observations)), state


class SeparateRecurrentActorCritic(ActorCritic):
    """An actor and a critic with separate layers and recurrent cells. The state is the actor's, then the critic's.

    See :class:`SeparateActorCritic` for the arguments.
    """

    def __init__(
        self, actor_observations: Specs, critic_observations: Specs, spec: PolicySpec, config: PolicyConfig
    ) -> None:
        super().__init__()
        self.actor_encoder = build_encoder(actor_observations, config)
        self.actor_memory = build_recurrent_cell(self.actor_encoder.features, config)
        self.actor = head(config.memory_size, spec.action.parameters, ACTOR_GAIN, exact=True)
        self.critic_encoder = build_encoder(critic_observations, config)
        self.critic_memory = build_recurrent_cell(self.critic_encoder.features, config)
        self.critic = head(config.memory_size, 1, CRITIC_GAIN, exact=True)
        self.state_size = self.actor_memory.state_size + self.critic_memory.state_size

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        own, others = state.chunk(2, dim=1)
        features, own = self.actor_memory(self.actor_encoder(observations), own)
        valued, others = self.critic_memory(self.critic_encoder(observations), others)
        return self.actor(features), self.critic(valued).squeeze(-1), torch.cat((own, others), dim=1)

    def act(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        own, others = state.chunk(2, dim=1)
        features, own = self.actor_memory(self.actor_encoder(observations), own)
        return self.actor(features), torch.cat((own, others), dim=1)

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        features, _ = self.critic_memory(self.critic_encoder(observations), state.chunk(2, dim=1)[1])
        value: Tensor = self.critic(features)
        return value.squeeze(-1)

    def sequence(self, observations: Observations, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        own, others = state.chunk(2, dim=1)
        parameters: Tensor = self.actor(_scan(self.actor_encoder, self.actor_memory, observations, own, resets))
        values: Tensor = self.critic(_scan(self.critic_encoder, self.critic_memory, observations, others, resets))
        return parameters, values.squeeze(-1)


def build_actor_critic(spec: PolicySpec, config: PolicyConfig, network: nn.Module | None = None) -> ActorCritic:
    """The actor-critic of ``config``, or one around ``network``."""
    if network is not None:
        return CustomActorCritic(network, spec, config)
    inputs = network_inputs(spec.observations, config)
    if has_separate_trunks(spec, config):
        kind = SeparateActorCritic if config.memory == "none" else SeparateRecurrentActorCritic
        return kind(inputs.actor, inputs.critic, spec, config)
    return SharedActorCritic(inputs.actor, spec, config)


def has_separate_trunks(spec: PolicySpec, config: PolicyConfig) -> bool:
    """Whether actor and critic have separate layers; InputError where they cannot share them."""
    inputs = network_inputs(spec.observations, config)
    if inputs.asymmetric and (config.trunks == "shared" or config.shared):
        own = ", ".join(sorted(set(inputs.critic) - set(inputs.actor)))
        raise InputError(
            f"shared layers would give the actor the critic's observation {own}: "
            "use trunks 'separate', or no asymmetric critic"
        )
    if config.trunks != "auto":
        return config.trunks == "separate"
    is_plain_mlp = config.memory == "none" and resolve_network(inputs.actor, config) == "mlp"
    return inputs.asymmetric or (is_plain_mlp and not config.shared)


def _fused_forward(
    fused: FusedActorCritic | None, encoder: FeatureModule, observations: Observations
) -> tuple[Tensor, Tensor] | None:
    """Parameters and value by one kernel; None where there is none for this network or device."""
    if fused is None or not isinstance(encoder, Encoder):
        return None
    values = encoder.inputs(observations)
    if not fused.usable(values):
        return None
    note(encoder, NAME)
    parameters, value = fused(values)
    return parameters, value.view(-1)


def build_recurrent_cell(inputs: int, config: PolicyConfig) -> RecurrentCell:
    """The recurrent cell of ``config`` over ``inputs`` features."""
    assert config.memory != "none"
    return RecurrentCell(config.memory, inputs, config.memory_size)


def _scan(
    encoder: FeatureModule, memory: RecurrentCell, observations: Observations, state: Tensor, resets: Tensor
) -> Tensor:
    """Features [T, B, F] of a sequence of steps."""
    encoded = encoder(flatten_time(observations)).unflatten(0, resets.shape)
    return memory.scan(encoded, state, resets)[0]
