"""Gradients of parameters from gradients of a network's outputs, without the slow first call of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd import graph


def parameter_gradients(
    outputs: Sequence[Tensor], parameters: Sequence[Tensor], output_gradients: Sequence[Tensor]
) -> list[Tensor]:
    """The vector-Jacobian product of ``outputs`` with respect to ``parameters``; zeros for unused parameters.

    ``torch.autograd.grad`` imports SymPy to compare the shapes of outputs and gradients, which takes two seconds at the
    start of a training. The engine below it compares them itself. Where this version of PyTorch has no such function,
    ``torch.autograd.grad`` is used.

    Args:
        outputs: Outputs of a network.
        parameters: Its parameters.
        output_gradients: Gradients of a loss with respect to the outputs, of their shapes.
    """
    run_engine = getattr(graph, "_engine_run_backward", None)
    if run_engine is None:
        return list(torch.autograd.grad(outputs, parameters, output_gradients, materialize_grads=True))
    gradients: Sequence[Tensor | None] = run_engine(
        tuple(outputs),
        tuple(output_gradients),
        False,  # retain_graph
        False,  # create_graph
        tuple(parameters),
        allow_unreachable=True,
        accumulate_grad=False,
    )
    return [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, gradients, strict=True)]
