"""An actor-critic around a custom module, whose results are checked."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic_base import ActorCritic, Observations
from worldloom.learn.networks.custom.module_call import call_module, describe, require_module
from worldloom.learn.networks.custom.protocols import ModuleObservations
from worldloom.learn.networks.network_inputs import network_inputs


class CustomActorCritic(ActorCritic):
    """A module that follows the protocol :class:`PolicyModule` or :class:`RecurrentPolicyModule`.

    Args:
        module: The module.
        spec: Observations and action.
        config: Its settings; none of them may ask for layers.
    """

    def __init__(self, module: nn.Module, spec: PolicySpec, config: PolicyConfig) -> None:
        super().__init__()
        require_module(module)
        if config.memory != "none":
            raise InputError(
                f"memory '{config.memory}' applies to worldloom's networks only: leave it 'none' with a custom network"
            )
        self.kind = type(module).__name__
        self.observations = network_inputs(spec.observations, config)
        self.state_size = _state_size(module)
        self.module, self.width = module, spec.action.parameters
        arguments = ("observations", "state") if self.state_size else ("observations",)
        _require_arguments(self.kind, "forward", module.forward, arguments)
        if hasattr(module, "act"):
            _require_arguments(self.kind, "act", module.act, arguments)
        if self.state_size and hasattr(module, "sequence"):
            _require_arguments(self.kind, "sequence", module.sequence, ("observations", "state", "resets"))

    def forward(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = (len(next(iter(observations.values()))),)
        if not self.state_size:
            parameters, value = self._outputs("forward", self._call("forward", self._given(observations)), 2)
            return *self._checked("forward", parameters, value, rows), state
        parameters, value, following = self._outputs(
            "forward", self._call("forward", self._given(observations), state), 3
        )
        parameters, value = self._checked("forward", parameters, value, rows)
        return parameters, value, self._checked_state("forward", following, rows)

    def act(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor]:
        if not hasattr(self.module, "act"):
            missing = sorted(set(self.observations.critic) - set(observations))
            if missing:
                raise InputError(
                    f"{self.kind} needs the observation '{missing[0]}' of the critic: give it, or give {self.kind} "
                    "a method act with the actor alone"
                )
            return super().act(observations, state)
        rows = (len(next(iter(observations.values()))),)
        if not self.state_size:
            return self._checked_parameters("act", self._call("act", self._given(observations)), rows), state
        parameters, following = self._outputs("act", self._call("act", self._given(observations), state), 2)
        return self._checked_parameters("act", parameters, rows), self._checked_state("act", following, rows)

    def sequence(self, observations: Observations, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        if not self.state_size:
            return super().sequence(observations, state, resets)
        if hasattr(self.module, "sequence"):
            outputs = self._call("sequence", self._given(observations), state, resets)
            parameters, value = self._outputs("sequence", outputs, 2)
            return self._checked("sequence", parameters, value, tuple(resets.shape))
        steps: list[tuple[Tensor, Tensor]] = []
        for step, reset in enumerate(resets):
            state = state * ~reset[:, None]
            current = {name: tensor[step] for name, tensor in observations.items()}
            parameters, value, state = self(current, state)
            steps.append((parameters, value))
        return torch.stack([parameters for parameters, _ in steps]), torch.stack([value for _, value in steps])

    def _call(self, method: str, *arguments: Any) -> Any:
        """The outputs of a method of the module."""
        function = self.module if method == "forward" else getattr(self.module, method)
        return call_module(self.kind, method, function, *arguments)

    def _given(self, observations: Observations) -> ModuleObservations:
        """What the module gets: the only observation, or all by name that its settings allow."""
        names = self.observations.critic
        if len(names) == 1:
            return observations[next(iter(names))]
        return {name: values for name, values in observations.items() if name in names}

    def _outputs(self, method: str, outputs: Any, count: int) -> tuple[Any, ...]:
        if not isinstance(outputs, tuple) or len(outputs) != count:
            what = {
                ("forward", 2): f"a pair: {self.width} parameters of the action, and a value",
                ("forward", 3): f"three tensors: {self.width} parameters of the action, a value and the next state",
                ("act", 2): f"a pair: {self.width} parameters of the action, and the next state",
                ("sequence", 2): f"a pair: {self.width} parameters of the action, and a value, of every step",
            }[method, count]
            hint = " (it has a state_size, so it is recurrent)" if self.state_size and method == "forward" else ""
            raise InputError(f"{self.kind}.{method} must return {what}, not {describe(outputs)}{hint}")
        return outputs

    def _checked(self, method: str, parameters: Any, value: Any, leading: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """Parameters [*leading, P] and values [*leading]."""
        if not isinstance(value, Tensor) or tuple(value.shape) not in (leading, (*leading, 1)):
            raise InputError(f"{self.kind}.{method} returned as value {describe(value)}: make it a tensor {leading}")
        return self._checked_parameters(method, parameters, leading), value.reshape(leading)

    def _checked_parameters(self, method: str, parameters: Any, leading: tuple[int, ...]) -> Tensor:
        expected = (*leading, self.width)
        if not isinstance(parameters, Tensor) or tuple(parameters.shape) != expected:
            raise InputError(
                f"{self.kind}.{method} returned as parameters of the action {describe(parameters)}: "
                f"make it a tensor {expected}"
            )
        return parameters

    def _checked_state(self, method: str, state: Any, leading: tuple[int, ...]) -> Tensor:
        expected = (*leading, self.state_size)
        if not isinstance(state, Tensor) or tuple(state.shape) != expected:
            raise InputError(
                f"{self.kind}.{method} returned as next state {describe(state)}: make it one tensor {expected}, "
                "for an LSTM its output and its cell concatenated"
            )
        return state.float()


def _state_size(module: nn.Module) -> int:
    """The module's ``state_size``; 0 where it is not recurrent."""
    size: Any = getattr(module, "state_size", 0)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise InputError(
            f"state_size of {type(module).__name__} must be the numbers of one agent's recurrent state, 1 or more, "
            f"not {short_repr(size)}"
        )
    return size


def _require_arguments(kind: str, method: str, function: Any, arguments: tuple[str, ...]) -> None:
    """InputError where ``function`` cannot be called with ``arguments`` by position."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled functions have none
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        fix = ""
        if method == "forward" and len(arguments) == 1:
            fix = "; a recurrent module also needs the attribute state_size, the numbers of one agent's state"
        raise InputError(f"{kind}.{method} must take ({', '.join(arguments)}) and takes {signature}{fix}") from None
