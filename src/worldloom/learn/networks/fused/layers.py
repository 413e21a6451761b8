"""An actor and a critic made of PyTorch's layers, computed by one kernel on a GPU, for policies of your own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.networks.fused.mlp import FusedActorCritic, has_kernel

ACTIVATIONS: dict[type[nn.Module], Activation] = {nn.Tanh: "tanh", nn.ReLU: "relu"}


class FusedLayers:
    """Computes ``actor(values)`` and ``critic(values)``, on a GPU in one kernel forward and one backward.

    There is a kernel for two hidden layers of 16, 32 or 64 units each, up to 128 inputs and 64 outputs, tanh or relu
    after each hidden layer, and float32 inputs without gradients. Its products are TF32. Anything else is computed by
    the layers themselves. It is no module: actor and critic stay the modules that hold the parameters.

    Args:
        actor, critic: ``nn.Sequential(Linear, Tanh, Linear, Tanh, Linear)`` with the same inputs and units, or any
            other modules.
    """

    def __init__(self, actor: nn.Module, critic: nn.Module) -> None:
        self.actor, self.critic = actor, critic
        layers = [_split(network) for network in (actor, critic)]
        self._fused: FusedActorCritic | None = None
        if (first := layers[0]) is not None and (second := layers[1]) is not None and first.alike(second):
            self._fused = FusedActorCritic(first, first.head, second, second.head)

    def __call__(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """[..., inputs] -> outputs of the actor and of the critic, [..., outputs]."""
        if self._fused is None or values.requires_grad or values.ndim < 2:
            return self.actor(values), self.critic(values)
        rows = values.flatten(0, -2)
        if not self._fused.usable(rows):
            return self.actor(values), self.critic(values)
        first, second = self._fused(rows)
        return first.unflatten(0, values.shape[:-1]), second.unflatten(0, values.shape[:-1])


@dataclass(frozen=True)
class _Layers:
    """The layers of a network for which there is a kernel."""

    linear: tuple[nn.Linear, nn.Linear]
    head: nn.Linear
    activation: Activation

    @property
    def inputs(self) -> int:
        return self.linear[0].in_features

    @property
    def hidden(self) -> tuple[int, ...]:
        return tuple(layer.out_features for layer in self.linear)

    def parameters(self) -> Iterator[nn.Parameter]:
        """Parameters of the hidden layers."""
        for layer in self.linear:
            yield from layer.parameters()

    def alike(self, other: _Layers) -> bool:
        """Whether the hidden layers have the same form."""
        return (self.inputs, self.hidden, self.activation) == (other.inputs, other.hidden, other.activation)


def _split(network: nn.Module) -> _Layers | None:
    """The layers of a network; None where there is no kernel for it."""
    layers = list(network) if type(network) is nn.Sequential else []
    kinds = [type(layer) for layer in layers]
    if len(kinds) != 5 or kinds[::2] != [nn.Linear] * 3 or kinds[1] != kinds[3] or kinds[1] not in ACTIVATIONS:
        return None
    first, second, head = (layer for layer in layers if isinstance(layer, nn.Linear))
    split = _Layers((first, second), head, ACTIVATIONS[kinds[1]])
    has_biases = all(layer.bias is not None for layer in (first, second, head))
    return split if has_biases and has_kernel(split, head) else None
