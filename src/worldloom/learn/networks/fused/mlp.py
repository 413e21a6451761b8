"""A small actor-critic of two hidden layers as one forward and one backward kernel on a GPU.

With PyTorch's layers, reading and writing activations is nearly the whole cost of such networks. Here they stay on the
chip, and are recomputed in the backward pass. Results equal those of PyTorch with TF32 products up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.device.backward import parameter_gradients
from worldloom.learn.networks.fused.support import compiles, kernel_module, may_run, product_type
from worldloom.learn.networks.mlp import MLP

NAME = "small networks"
WIDTHS = (16, 32, 64)
"""Hidden units for which there is a kernel."""
MAX_INPUTS, MAX_OUTPUTS = 128, 64
FORWARD_TILE, FORWARD_PROGRAMS = (64, 4), 1056
"""Rows and warps of a block in the forward pass, and the maximum number of blocks: the fastest on an H200."""
BACKWARD_TILE, BACKWARD_PROGRAMS = (32, 2), (132, 528)
"""The same for the backward pass. Each block writes its own sums, so there are fewer blocks for small batches."""


def kernels() -> Any:
    """The module of kernels; None without Triton."""
    return kernel_module("mlp_kernels")


class HiddenLayers(Protocol):
    """The hidden layers of a network."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each layer."""

    @property
    def activation(self) -> Activation:
        """The activation after each layer."""

    def parameters(self) -> Iterable[Tensor]:
        """Weight and bias of each layer."""


def has_kernel(network: HiddenLayers, head: nn.Linear) -> bool:
    """Whether there is a kernel for hidden layers with this output layer."""
    return (
        len(network.hidden) == 2
        and network.hidden[0] == network.hidden[1]
        and network.hidden[0] in WIDTHS
        and network.inputs <= MAX_INPUTS
        and head.out_features <= MAX_OUTPUTS
    )


class FusedActorCritic:
    """Runs two networks that differ only in their output layer.

    Args:
        first, second: Their hidden layers, which may be the same module.
        first_head, second_head: Their output layers.
    """

    def __init__(
        self, first: HiddenLayers, first_head: nn.Linear, second: HiddenLayers, second_head: nn.Linear
    ) -> None:
        self._modules = (first, first_head, second, second_head)
        self.shared = first is second
        self._table: tuple[tuple[int, ...], Tensor] | None = None

    @staticmethod
    def fits(network: Any, head: nn.Linear) -> bool:
        """Whether there is a kernel for a network."""
        return isinstance(network, MLP) and has_kernel(network, head)

    def usable(self, values: Tensor) -> bool:
        """Whether the kernels can be used: float32 on a GPU, no autocast, and Triton compiles them for this GPU."""
        return (
            may_run(values)
            and product_type(values) == torch.float32
            and kernels() is not None
            and compiles((NAME, *self.sizes(), self.shared, self._learns), lambda: self._try(values))
        )

    @property
    def _learns(self) -> bool:
        """Whether there are gradients, which networks that only act do not have."""
        return any(parameter.requires_grad for parameter in self.parameters())

    def _try(self, values: Tensor) -> None:
        """Compile and run both kernels."""
        outputs = self(torch.zeros_like(values[:1]))
        if self._learns:
            parameter_gradients(outputs, self.parameters(), [torch.zeros_like(o) for o in outputs])

    def parameters(self) -> list[Tensor]:
        """Parameters of the first network, and those that only the second has."""
        first, first_head, second, second_head = self._modules
        return [
            *first.parameters(),
            *first_head.parameters(),
            *(() if self.shared else second.parameters()),
            *second_head.parameters(),
        ]

    def __call__(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """[N, inputs] -> outputs of the first network [N, P0] and of the second [N, P1]."""
        first, second = _FusedFunction.apply(values.contiguous(), self, *self.parameters())
        return first, second

    def sizes(self) -> tuple[int, int, int, int, str]:
        """Inputs, hidden units, outputs of the first and of the second network, and the activation."""
        first, first_head, _, second_head = self._modules
        return first.inputs, first.hidden[0], first_head.out_features, second_head.out_features, first.activation

    def table(self, parameters: tuple[Tensor, ...]) -> Tensor:
        """Offsets of the parameters from the first one, in elements. Cached, since graph capture forbids making it."""
        addresses = tuple(p.data_ptr() for p in parameters)
        if self._table is None or self._table[0] != addresses:
            self._table = (
                addresses,
                torch.tensor(
                    [(p - addresses[0]) // 4 for p in addresses], dtype=torch.int64, device=parameters[0].device
                ),
            )
        return self._table[1]


class _FusedFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, pair: FusedActorCritic, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        _, _, outputs0, outputs1, _ = pair.sizes()
        rows = len(values)
        first, second = values.new_empty((rows, outputs0)), values.new_empty((rows, outputs1))
        table = pair.table(parameters)
        block, warps = FORWARD_TILE
        grid = (min(math.ceil(rows / block), FORWARD_PROGRAMS), 1 if pair.shared else 2)
        kernels().forward_kernel[grid](
            values,
            parameters[0],
            table,
            first,
            second,
            rows,
            **_constants(pair, block),
            num_warps=warps,
            num_stages=1,
        )
        ctx.pair = pair
        ctx.save_for_backward(values, *parameters)
        return first, second

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, first_gradient: Tensor, second_gradient: Tensor) -> tuple[Tensor | None, ...]:
        values, *parameters = ctx.saved_tensors
        rows = len(values)
        block, warps = BACKWARD_TILE
        tiles = math.ceil(rows / block)
        programs = min(tiles, max(BACKWARD_PROGRAMS[0], min(tiles // 4, BACKWARD_PROGRAMS[1])))
        parts = values.new_empty((programs, sum(p.numel() for p in parameters)))
        kernels().backward_kernel[(programs, 1 if ctx.pair.shared else 2)](
            values,
            parameters[0],
            ctx.pair.table(tuple(parameters)),
            first_gradient.contiguous(),
            second_gradient.contiguous(),
            parts,
            rows,
            **_constants(ctx.pair, block),
            num_warps=warps,
            num_stages=1,
        )
        total = parts.sum(0)
        gradients = total.split([p.numel() for p in parameters])
        return None, None, *[s.view(p.shape) for s, p in zip(gradients, parameters, strict=True)]


def _constants(pair: FusedActorCritic, block: int) -> dict[str, Any]:
    inputs, hidden, outputs0, outputs1, activation = pair.sizes()

    def padded(size: int) -> int:
        return max(16, 1 << (size - 1).bit_length())

    return {
        "F": inputs,
        "FP": padded(inputs),
        "H": hidden,
        "P0": outputs0,
        "P1": outputs1,
        "PP": padded(outputs0 + outputs1 if pair.shared else max(outputs0, outputs1)),
        "BM": block,
        "KIND": activation,
        "PRECISION": "tf32",
        "SHARED": pair.shared,
    }
