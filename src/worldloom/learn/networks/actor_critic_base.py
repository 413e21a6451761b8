"""The interface of actor-critic networks."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

Observations = Mapping[str, Tensor]


class ActorCritic(nn.Module):
    """Observations [N, *shape] by name and a state [N, S] -> action parameters [N, P], value [N], next state [N, S].

    Without a recurrent cell S is 0 and the state is passed through.
    """

    state_size = 0

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        raise NotImplementedError

    def act(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        """The actor only: parameters [N, P] and the next state [N, S]. Needs no observations of the critic."""
        parameters, _, state = self(observations, state)
        return parameters, state

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        """The value only, [N]."""
        value: Tensor = self(observations, state)[1]
        return value

    def sequence(self, observations: Observations, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        """Observations [T, B, *shape] -> parameters [T, B, P] and values [T, B]."""
        parameters, values, _ = self(flatten_time(observations), state)
        return parameters.unflatten(0, resets.shape), values.unflatten(0, resets.shape)


def flatten_time(observations: Observations) -> dict[str, Tensor]:
    """Observations [T, B, *shape] as [T * B, *shape]."""
    return {name: values.flatten(0, 1) for name, values in observations.items()}


def unwrap_single(observations: Observations) -> Tensor | Observations:
    """The single observation, or all of them by name."""
    return next(iter(observations.values())) if len(observations) == 1 else observations
