"""An actor and a critic of two hidden layers, their own or shared ones, as one kernel forward and one back, on a GPU.

PyTorch writes every activation of these small networks to memory and reads it again, which is nearly all that they cost. Here they stay on
the chip, and are computed again on the way back. The numbers are those of PyTorch with TF32 products, but for rounding.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from worldloom.learn.networks.mlp import MLP

WIDTHS = (16, 32, 64)
"""Hidden units for which there is a kernel."""
MOST_INPUTS, MOST_OUTPUTS = 128, 64
FORWARD_TILE, FORWARD_PROGRAMS = (64, 4), 1056
"""Rows and warps of a block on the way forward, and how many blocks there are at most: the fastest found on an H200."""
BACKWARD_TILE, BACKWARD_PROGRAMS = (32, 2), (132, 528)
"""Likewise on the way back; each block leaves sums of its own, so there are fewer where there is little for each to do."""


@cache
def kernels() -> Any:
    """The module of kernels; None where there is no Triton."""
    try:
        from worldloom.learn.networks import fused_mlp_kernels
    except ImportError:
        return None
    return fused_mlp_kernels


class FusedActorCritic:
    """Runs two networks that are alike but for their last layer.

    Args:
        first, second: Their hidden layers, which may be the same.
        first_head, second_head: Their last layers.
    """

    def __init__(self, first: MLP, first_head: nn.Linear, second: MLP, second_head: nn.Linear) -> None:
        self._modules = (first, first_head, second, second_head)
        self.shared = first is second
        self._table: tuple[tuple[int, ...], Tensor] | None = None
        self._proved: bool | None = None

    @staticmethod
    def fits(network: Any, head: nn.Linear) -> bool:
        """Whether there is a kernel for a network."""
        if not isinstance(network, MLP) or len(network.hidden) != 2:
            return False
        first, second = network.hidden
        return (
            first == second and first in WIDTHS and network.inputs <= MOST_INPUTS and head.out_features <= MOST_OUTPUTS
        )

    def usable(self, values: Tensor) -> bool:
        """Whether the kernels can be used now: float32 on a GPU, no autocast, and Triton is there and compiles them for this GPU."""
        if (
            not values.is_cuda
            or values.dtype != torch.float32
            or torch.is_autocast_enabled("cuda")
            or kernels() is None
        ):
            return False
        if self._proved is None and not torch.cuda.is_current_stream_capturing():
            self._proved = self._prove(values)
        return bool(self._proved)

    def _prove(self, values: Tensor) -> bool:
        """Compile and run both kernels once. Compilers fail on some GPUs; the networks then run as PyTorch's layers, which are slower."""
        try:
            with torch.enable_grad():
                outputs = self(values[:1].detach())
                torch.autograd.grad(outputs, self.parameters(), [torch.zeros_like(o) for o in outputs])
        except Exception as problem:  # whatever a compiler raises
            warnings.warn(
                f"the fused kernels of small networks cannot be used on this GPU ({type(problem).__name__}); training goes on more slowly",
                stacklevel=2,
            )
            return False
        return True

    def parameters(self) -> list[Tensor]:
        """Weights and biases of the first network's layers, and of those that only the second has."""
        first, first_head, second, second_head = self._modules
        return [
            *first.parameters(),
            *first_head.parameters(),
            *(() if self.shared else second.parameters()),
            *second_head.parameters(),
        ]

    def __call__(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """[N, inputs] -> outputs of the first network [N, P0] and of the second [N, P1]."""
        first, second = _Pair.apply(values.contiguous(), self, *self.parameters())
        return first, second

    def sizes(self) -> tuple[int, int, int, int, str]:
        """Inputs, hidden units, outputs of the first and of the second, and the activation."""
        first, first_head, _, second_head = self._modules
        return first.inputs, first.hidden[0], first_head.out_features, second_head.out_features, first.activation

    def table(self, parameters: tuple[Tensor, ...]) -> Tensor:
        """Where the parameters lie, in numbers from the first of them. Kept, since it must not be made while a graph is captured."""
        places = tuple(p.data_ptr() for p in parameters)
        if self._table is None or self._table[0] != places:
            self._table = (
                places,
                torch.tensor([(p - places[0]) // 4 for p in places], dtype=torch.int64, device=parameters[0].device),
            )
        return self._table[1]


class _Pair(torch.autograd.Function):  # type: ignore[misc]
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
    def backward(ctx: Any, first_slope: Tensor, second_slope: Tensor) -> tuple[Tensor | None, ...]:
        values, *parameters = ctx.saved_tensors
        rows = len(values)
        block, warps = BACKWARD_TILE
        tiles = math.ceil(rows / block)
        programs = min(tiles, max(BACKWARD_PROGRAMS[0], min(tiles // 4, BACKWARD_PROGRAMS[1])))
        parts = values.new_empty((programs, sum(p.numel() for p in parameters)))
        kernels().backward_kernel[(programs, 1 if ctx.pair.shared else 2)](
            values, parameters[0], ctx.pair.table(tuple(parameters)), first_slope.contiguous(), second_slope.contiguous(), parts, rows,
            **_constants(ctx.pair, block), num_warps=warps, num_stages=1,
        )  # fmt: skip
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
