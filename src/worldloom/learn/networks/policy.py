"""The policy: from observations to action parameters and a state value."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic import Actor, build_actor_critic
from worldloom.learn.networks.actor_critic_base import ActorCritic, Observations
from worldloom.learn.networks.network_inputs import network_inputs, widest_layer
from worldloom.learn.networks.normalization import ObservationNormalizer


class Policy(nn.Module):
    """An actor and a critic for one kind of agent.

    P is ``spec.action.parameters``: the logits of all choices, part after part, then a mean per number, then with
    ``state_std`` a log standard deviation per number. All outputs are contiguous float32, also under autocast.

    Args:
        spec: Observations and action.
        config: Architecture.
        network: A custom module in place of that of ``config``, which follows the protocol
            :class:`~worldloom.learn.PolicyModule` or :class:`~worldloom.learn.RecurrentPolicyModule`.
        critic: Whether there is a critic. Without one all values are 0, and numbers whose standard deviation the
            network does not output are deterministic.

    Attributes:
        custom: Whether the network is a custom module.
        log_std: Log standard deviation of each number of an action, [numbers]; None without numbers, where the network
            outputs it, and without a critic.
        normalizer: Running statistics of the observations that ``config`` normalizes; None where there are none. The
            trainer calls its ``update``.
        stochastic: Whether actions have a distribution to sample from.
        recurrent: Whether it has a recurrent cell.
        state_size: Size of the recurrent state, S; 0 where it is not recurrent.
    """

    def __init__(
        self, spec: PolicySpec, config: PolicyConfig, network: nn.Module | None = None, critic: bool = True
    ) -> None:
        super().__init__()
        if config.dueling:
            raise InputError("dueling is for Q networks, not for an actor-critic: leave it off, or train with dqn")
        self.spec, self.config, self.custom = spec, config, network is not None
        self.network: ActorCritic = build_actor_critic(spec, config, network) if critic else Actor(spec, config)
        self.stochastic = critic or spec.action.state_std or not spec.action.numbers
        self.log_std: nn.Parameter | None = None
        if spec.action.numbers and not spec.action.state_std and critic:
            self.log_std = nn.Parameter(torch.full((spec.action.numbers,), math.log(config.initial_std)))
        elif spec.action.state_std and network is None:
            head = self.network.get_submodule("actor")
            assert isinstance(head, nn.Linear)
            nn.init.constant_(head.bias[-spec.action.numbers :], math.log(config.initial_std))
        used = network_inputs(spec.observations, config).critic
        self.normalizer = ObservationNormalizer.of(used, config)
        self.state_size: int = self.network.state_size
        self.recurrent = self.state_size > 0

    def initial_state(self, rows: int, device: torch.device | str) -> Tensor:
        """The state at the start of episodes: zeros [rows, S]."""
        return torch.zeros(rows, self.state_size, device=device)

    @property
    def width(self) -> int:
        """Approximate width of the widest layer, including the observations."""
        return widest_layer(self.spec, self.config)

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Observations [N, *shape] by name, state [N, S] -> parameters [N, P], value [N], next state [N, S].

        Rows at the start of an episode need a state of zeros.
        """
        parameters, value, state = self.network(self._normalized(observations), state)
        return _plain(parameters), _plain(value), state

    def act(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        """The actor only: parameters [N, P] and the next state [N, S]. Needs no observations of the critic."""
        parameters, state = self.network.act(self._normalized(observations), state)
        return _plain(parameters), state

    def value(self, observations: Observations, state: Tensor) -> Tensor:
        """The value only, [N]; skips the actor where it has separate layers."""
        return _plain(self.network.value(self._normalized(observations), state))

    def sequence(self, observations: Observations, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        """Observations [T, B, *shape] by name, initial state [B, S] -> parameters [T, B, P] and values [T, B].

        ``resets`` [T, B] is True at the first step of an episode: the state is zeroed before it.
        """
        parameters, values = self.network.sequence(self._normalized(observations), state, resets)
        return _plain(parameters), _plain(values)

    def _normalized(self, observations: Observations) -> Observations:
        return observations if self.normalizer is None else self.normalizer(observations)


def _plain(values: Tensor) -> Tensor:
    """``values`` as contiguous float32, which kernels need; no copy where they are."""
    return values.float().contiguous()
