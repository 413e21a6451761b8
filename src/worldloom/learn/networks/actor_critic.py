"""Actor-critic networks: with shared layers, with separate layers, or around a custom module."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.encoder import Encoder, build_encoder, build_mlp_encoder, resolve_network
from worldloom.learn.networks.fused_mlp import FusedActorCritic
from worldloom.learn.networks.layers import ACTOR_GAIN, CRITIC_GAIN, Head, head, linear
from worldloom.learn.networks.recurrent import RecurrentCell

Observations = Mapping[str, Tensor]


class ActorCritic(nn.Module):
    """Observations [N, *shape] by name and a state [N, S] -> action parameters [N, P], value [N], next state [N, S].

    Without a recurrent cell S is 0 and the state is passed through.
    """

    state_size = 0
    _fused: FusedActorCritic | None = None

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        raise NotImplementedError

    def _fused_forward(self, encoder: Encoder, observations: Observations) -> tuple[Tensor, Tensor] | None:
        """Parameters and value by one kernel; None where there is none for this network or device."""
        if self._fused is None:
            return None
        values = encoder.inputs(observations)
        if not self._fused.usable(values):
            return None
        parameters, value = self._fused(values)
        return parameters, value.view(-1)

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        """The value only, [N]."""
        value: Tensor = self(observations, state)[1]
        return value

    def sequence(self, observations: Observations, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        """Observations [T, B, *shape] -> parameters [T, B, P] and values [T, B]."""
        parameters, values, _ = self(flatten_time(observations), state)
        return parameters.unflatten(0, resets.shape), values.unflatten(0, resets.shape)


class SharedActorCritic(ActorCritic):
    """An encoder, an optional recurrent cell, and one output layer each for actor and critic."""

    def __init__(self, spec: PolicySpec, config: PolicyConfig) -> None:
        super().__init__()
        self.encoder = build_encoder(spec.observations, config)
        self.memory = (
            None if config.memory == "none" else RecurrentCell(config.memory, self.encoder.features, config.memory_size)
        )
        last = self.memory or self.encoder
        exact = resolve_network(spec.observations, config) != "mlp"
        self.actor = head(last.features, spec.action.parameters, ACTOR_GAIN, exact)
        self.critic = head(last.features, 1, CRITIC_GAIN, exact)
        if self.memory is not None:
            self.state_size = self.memory.state_size
        elif isinstance(self.encoder, Encoder) and FusedActorCritic.fits(self.encoder.network, self.actor):
            self._fused = FusedActorCritic(self.encoder.network, self.actor, self.encoder.network, self.critic)

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fused = self._fused_forward(self.encoder, observations) if isinstance(self.encoder, Encoder) else None
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
        encoded = self.encoder(flatten_time(observations)).unflatten(0, resets.shape)
        features, _ = self.memory.scan(encoded, state, resets)
        return self._heads(features)

    def _features(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        features = self.encoder(observations)
        return (features, state) if self.memory is None else self.memory(features, state)


class SeparateActorCritic(ActorCritic):
    """An actor and a critic with separate layers."""

    def __init__(self, spec: PolicySpec, config: PolicyConfig) -> None:
        super().__init__()
        self.actor_encoder = build_mlp_encoder(spec.observations, config)
        self.actor = linear(self.actor_encoder.features, spec.action.parameters, ACTOR_GAIN)
        self.critic_encoder = build_mlp_encoder(spec.observations, config)
        self.critic = linear(self.critic_encoder.features, 1, CRITIC_GAIN)
        actor, critic = self.actor_encoder.network, self.critic_encoder.network
        self._fused = (
            FusedActorCritic(actor, self.actor, critic, self.critic)
            if FusedActorCritic.fits(actor, self.actor)
            else None
        )

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fused = self._fused_forward(self.actor_encoder, observations)
        if fused is not None:
            return *fused, state
        return self.actor(self.actor_encoder(observations)), self.value(observations, state), state

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        value: Tensor = self.critic(self.critic_encoder(observations))
        return value.squeeze(-1)


class CustomActorCritic(ActorCritic):
    """A custom module: ``module(observation) -> (parameters [N, P], value [N] or [N, 1])``.

    It gets the observation itself where there is one component, else a dict of all components.
    """

    def __init__(self, module: nn.Module, spec: PolicySpec) -> None:
        super().__init__()
        self.module, self.width = module, spec.action.parameters

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = self.module(unwrap_single(observations))
        if not isinstance(outputs, tuple) or len(outputs) != 2:
            raise InputError(
                f"{type(self.module).__name__} must return a pair: {self.width} parameters of the action, and a value"
            )
        parameters, value = outputs
        rows = len(next(iter(observations.values())))
        if parameters.shape != (rows, self.width) or value.numel() != rows:
            raise InputError(
                f"{type(self.module).__name__} returned parameters of shape {tuple(parameters.shape)} "
                f"and a value of shape {tuple(value.shape)}: make them ({rows}, {self.width}) and ({rows},)"
            )
        return parameters, value.reshape(rows), state


def build_actor_critic(spec: PolicySpec, config: PolicyConfig, network: nn.Module | None = None) -> ActorCritic:
    """The actor-critic of ``config``, or one around ``network``."""
    if network is not None:
        if not isinstance(network, nn.Module):
            raise InputError(f"a network is an object of a class derived from torch.nn.Module, not {network!r}")
        if config.memory != "none":
            raise InputError(
                f"memory '{config.memory}' applies to worldloom's networks only: leave it 'none' with a custom network"
            )
        return CustomActorCritic(network, spec)
    shared = config.shared or config.memory != "none" or resolve_network(spec.observations, config) != "mlp"
    return SharedActorCritic(spec, config) if shared else SeparateActorCritic(spec, config)


def flatten_time(observations: Observations) -> dict[str, Tensor]:
    """Observations [T, B, *shape] as [T * B, *shape]."""
    return {name: values.flatten(0, 1) for name, values in observations.items()}


def unwrap_single(observations: Observations) -> Tensor | Observations:
    """The single observation, or all of them by name."""
    return next(iter(observations.values())) if len(observations) == 1 else observations
