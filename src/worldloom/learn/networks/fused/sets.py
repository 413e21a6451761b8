"""Sets of entities on a GPU: their embedding as tokens, and what a network keeps of the tokens.

Tokens are [T, N, D], the agent's own first: those of each set of entities lie together, so that products write them
where they belong, and no pass copies them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from worldloom.learn.device.backward import parameter_gradients
from worldloom.learn.networks.entities.attention import AttentionLayer
from worldloom.learn.networks.fused import attention, norm
from worldloom.learn.networks.fused.sums import column_sums, relu_slopes, sum_parts
from worldloom.learn.networks.fused.support import compiles, kernel_module, may_run, product_type

NAME = "attention"
ALIGNED = 8
"""Features to a multiple of which those of an entity are padded: fewer make products of bfloat16 slow."""


def kernels() -> Any:
    """The module of kernels; None without Triton."""
    return kernel_module("sets_kernels")


def usable(
    embeddings: Sequence[nn.Sequential],
    layers: Sequence[AttentionLayer],
    last: nn.LayerNorm,
    agent: Tensor,
    tokens: int,
) -> bool:
    """Whether there are kernels for ``layers`` over sets of so many tokens, and products need not be exact float32.

    Args:
        embeddings: As for :func:`embed`.
        layers: Attention layers.
        last: The normalization after them.
        agent: The tokens of the agents themselves, [N, D].
        tokens: Tokens of a set, with the agent's.
    """
    kind = product_type(agent)
    if not (
        may_run(agent)
        and (kind == torch.bfloat16 or torch.get_float32_matmul_precision() != "highest")
        and len(agent) > 0
        and kernels() is not None
        and all(attention.has_kernel(layer, tokens) for layer in layers)
    ):
        return False
    inputs = (embedding[0].in_features for embedding in embeddings)
    what = (NAME, tokens, agent.shape[1], *inputs, *(layer.attention.heads for layer in layers), kind)
    return compiles(what, lambda: _try(embeddings, layers, last, agent, tokens))


def _try(
    embeddings: Sequence[nn.Sequential],
    layers: Sequence[AttentionLayer],
    last: nn.LayerNorm,
    agent: Tensor,
    tokens: int,
) -> None:
    """Compile and run all kernels."""
    own = torch.zeros((2, agent.shape[1]), dtype=agent.dtype, device=agent.device, requires_grad=True)
    counts = [tokens - len(embeddings), *[1] * (len(embeddings) - 1)]  # with the agent's token so many
    numbers = [
        torch.zeros((2, count, cast(nn.Linear, embedding[0]).in_features), device=agent.device)
        for count, embedding in zip(counts, embeddings, strict=True)
    ]
    present = [torch.ones_like(values[..., 0], dtype=torch.bool) for values in numbers]
    outputs = features(own, numbers, present, embeddings, layers, last)
    parameter_gradients([outputs], [own], [torch.zeros_like(outputs)])


def features(
    agent: Tensor,
    values: Sequence[Tensor],
    present: Sequence[Tensor],
    embeddings: Sequence[nn.Sequential],
    layers: Sequence[AttentionLayer],
    last: nn.LayerNorm,
) -> Tensor:
    """The agent's last token and the mean of the entities that are present, [N, 2 D].

    Args:
        agent, values, present, embeddings: As for :func:`embed`.
        layers: Attention layers.
        last: The normalization after them.
    """
    tokens = embed(agent, values, present, embeddings)
    mask = torch.cat([torch.ones_like(present[0][:, :1]), *present], dim=1).t().contiguous()
    for layer in layers:
        tokens = attention.fused_layer(layer, tokens, mask)
    return pool(last, tokens, mask)


def embed(
    agent: Tensor, values: Sequence[Tensor], present: Sequence[Tensor], embeddings: Sequence[nn.Sequential]
) -> Tensor:
    """The tokens of agents and entities, [T, N, D].

    Args:
        agent: Tokens of the agents themselves, [N, D].
        values: The numbers of the entities of each set, [N, K, features], without gradients.
        present: Which entities of each set are present, [N, K] bool. Others count as zeros.
        embeddings: A linear layer, ReLU and a linear layer for each set.
    """
    kind = product_type(agent)
    inputs = [_aligned(numbers, mask, kind) for numbers, mask in zip(values, present, strict=True)]
    parameters = [parameter for embedding in embeddings for parameter in embedding.parameters()]
    tokens: Tensor = _Embedding.apply(agent.to(kind), inputs, *parameters)
    return tokens


def _aligned(values: Tensor, present: Tensor, kind: torch.dtype) -> Tensor:
    """[N, K, features] -> [K, N, features to a multiple of ALIGNED], zeros where there is no entity."""
    rows, count, features = values.shape
    inputs = torch.zeros((count, rows, math.ceil(features / ALIGNED) * ALIGNED), dtype=kind, device=values.device)
    inputs[..., :features] = values.masked_fill(~present[..., None], 0.0).transpose(0, 1)
    return inputs


class _Embedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, agent: Tensor, inputs: list[Tensor], *parameters: Tensor) -> Tensor:
        rows, units = agent.shape
        tokens = agent.new_empty((1 + sum(len(values) for values in inputs), rows, units))
        tokens[0] = agent
        start, saved = 1, []
        with torch.autocast("cuda", enabled=False):
            for values, *layers in zip(inputs, *(parameters[i::4] for i in range(4)), strict=True):
                first, first_bias, second, second_bias = (parameter.to(agent.dtype) for parameter in layers)
                first = nn.functional.pad(first, (0, values.shape[-1] - first.shape[1]))
                hidden = torch._addmm_activation(first_bias, values.flatten(0, 1), first.t())
                place = tokens[start : start + len(values)].view(-1, units)
                torch.addmm(second_bias, hidden, second.t(), out=place)
                start += len(values)
                saved += [values, hidden, second]
        ctx.save_for_backward(*saved)
        ctx.features = [weight.shape[1] for weight in parameters[::4]]
        return tokens

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        slope, saved = slope.contiguous(), ctx.saved_tensors
        start, slopes = 1, []
        for number, features in enumerate(ctx.features):
            values, hidden, second = saved[3 * number : 3 * number + 3]
            part = slope[start : start + len(values)].view(-1, slope.shape[-1])
            start += len(values)
            hidden_slope = part @ second
            first_bias_slope = relu_slopes(hidden_slope, hidden, into=hidden_slope)
            first_slope = (hidden_slope.t() @ values.flatten(0, 1))[:, :features]
            slopes += [first_slope.float(), first_bias_slope, (part.t() @ hidden).float(), column_sums(part)]
        return slope[0], None, *slopes


def pool(last: nn.LayerNorm, tokens: Tensor, present: Tensor) -> Tensor:
    """The first tokens, and the mean of the others that are present, both after ``last``.

    Args:
        last: Layer normalization.
        tokens: [T, N, D].
        present: [T, N] bool.

    Returns:
        [N, 2 D]; the mean is 0 where there are no others.
    """
    features: Tensor = _Pool.apply(tokens, present, last.weight, last.bias, last.eps)
    return features


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, present: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
        tokens, present = tokens.contiguous(), present.contiguous().view(torch.uint8)
        count, sets, units = tokens.shape
        constants = norm.tile(units, epsilon)
        programs = norm.programs_for(sets, constants)
        features = tokens.new_empty((sets, 2 * units))
        kernels().pool_kernel[(programs,)](tokens, present, weight, bias, features, sets, count, **constants)
        ctx.save_for_backward(tokens, present, weight)
        ctx.constants, ctx.programs = constants, programs
        return features

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        tokens, present, weight = ctx.saved_tensors
        count, sets, units = tokens.shape
        token_slope = torch.empty_like(tokens)
        parts = torch.empty((ctx.programs, 2, units), dtype=torch.float32, device=tokens.device)
        kernels().pool_backward_kernel[(ctx.programs,)](
            tokens, present, weight, slope.contiguous(), token_slope, parts, sets, count, **ctx.constants
        )
        return token_slope, None, *sum_parts(parts), None
