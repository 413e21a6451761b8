"""A policy as a function of plain tensors: what ONNX and TorchScript files hold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from worldloom.learn.actions.categorical import masked_logits
from worldloom.learn.actions.distributions import action_scale, mode, split_action, to_env_action
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec
from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

MASK, STATE, NEXT_STATE = "action_mask", "recurrent_state", "next_recurrent_state"
"""Names of the inputs and the output that are no observations and no actions."""
OBSERVATION_PREFIX = "observation_"
"""Prefix of an observation that has the name of another input or output."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or an output.

    Attributes:
        name: Its name.
        dtype: Element type.
        shape: Its shape without the first axis, which counts agents.
    """

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


class PolicyFunction(nn.Module):
    """Observations, mask and recurrent state [N, ...] -> greedy action, its parameters and the next recurrent state.

    The inputs are the observations of the actor, then ``action_mask`` where the world has one, then
    ``recurrent_state``, zeros at the start of an episode, where the network has one. Observations are normalized, and
    bytes are scaled, by the function itself. The outputs, of which a policy has those that apply:

    - ``action``: indices, int64 [N] for one choice and [N, parts] for several, or numbers, float32 [N, numbers], scaled
      and clipped as the world takes them. A mixed action is ``choices`` and ``numbers`` instead.
    - ``logits`` [N, choices], -1e30 for what the mask forbids; of a Q network ``q_values`` [N, choices], not masked.
    - ``mean`` [N, numbers]: means before they are scaled and clipped, or squashed.
    - ``next_recurrent_state``.

    Args:
        policy: The policy.
        masked: Whether there is an action mask.

    Attributes:
        inputs, outputs: All inputs and outputs, in order.
    """

    scale: Tensor | None

    def __init__(self, policy: Policy | QNetwork, masked: bool) -> None:
        super().__init__()
        self.policy, self.masked = policy, masked and bool(policy.spec.action.sizes)
        self.action: ActionSpec = policy.spec.action
        self.observations: dict[str, ObservationSpec] = network_inputs(policy.spec.observations, policy.config).actor
        self.state_size = 0 if isinstance(policy, QNetwork) else policy.state_size
        self.outputs = self._outputs()
        self.inputs = self._inputs()
        scale = action_scale(self.action, torch.device("cpu")) if self.action.numbers else None
        self.register_buffer("scale", scale)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """All inputs in the order of ``inputs`` -> all outputs in the order of ``outputs``."""
        observations = dict(zip(self.observations, inputs, strict=False))
        mask = inputs[len(observations)] if self.masked else None
        if isinstance(self.policy, QNetwork):
            values: Tensor = self.policy(observations)
            return self._choices(mode(self.action, values, mask)), values
        rows = inputs[0].shape[0]
        state = inputs[-1] if self.state_size else inputs[0].new_zeros((rows, 0), dtype=torch.float32)
        parameters, state = self.policy.act(observations, state)
        outputs = self._actions(mode(self.action, parameters, mask))
        if self.action.sizes:
            outputs.append(masked_logits(self.action.sizes, parameters[:, : self.action.logits], mask))
        if self.action.numbers:
            outputs.append(parameters[:, self.action.logits : self.action.logits + self.action.numbers])
        return (*outputs, state) if self.state_size else tuple(outputs)

    def _actions(self, actions: Tensor) -> list[Tensor]:
        """Choices and numbers of actions [N, width], in the world's units; those that there are."""
        if self.action.kind == "categorical":
            return [self._choices(actions)]
        choices, numbers = split_action(self.action, to_env_action(self.action, actions, self.scale))
        return [self._choices(choices), numbers] if self.action.sizes else [numbers]

    def _choices(self, choices: Tensor) -> Tensor:
        indices = choices.long()
        return indices.squeeze(1) if len(self.action.sizes) == 1 else indices

    def _outputs(self) -> list[TensorInfo]:
        spec, outputs = self.action, []
        parts = () if len(spec.sizes) == 1 else (len(spec.sizes),)
        if spec.sizes:
            outputs.append(TensorInfo("choices" if spec.numbers else "action", torch.int64, parts))
        if spec.numbers:
            outputs.append(TensorInfo("numbers" if spec.sizes else "action", torch.float32, (spec.numbers,)))
        if spec.sizes:
            name = "q_values" if isinstance(self.policy, QNetwork) else "logits"
            outputs.append(TensorInfo(name, torch.float32, (spec.logits,)))
        if spec.numbers:
            outputs.append(TensorInfo("mean", torch.float32, (spec.numbers,)))
        if self.state_size:
            outputs.append(TensorInfo(NEXT_STATE, torch.float32, (self.state_size,)))
        return outputs

    def _inputs(self) -> list[TensorInfo]:
        others = []
        if self.masked:
            others.append(TensorInfo(MASK, torch.bool, (self.action.logits,)))
        if self.state_size:
            others.append(TensorInfo(STATE, torch.float32, (self.state_size,)))
        taken = {info.name for info in (*others, *self.outputs)}
        observed = [
            TensorInfo(OBSERVATION_PREFIX + name if name in taken else name, spec.dtype, spec.shape)
            for name, spec in self.observations.items()
        ]
        return [*observed, *others]
