"""Forward and backward passes of small layers of any shape; non-finite numbers stay within their sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.native.dense_network import DenseLayer, DenseNetwork, InputColumn
from worldloom.learn.native.dense_pass import DensePass, Workspace
from worldloom.learn.native.gradient_layout import GradientLayout
from worldloom.learn.native.inference import Inference

ROWS = 37
FUNCTIONS = {"tanh": torch.tanh, "relu": torch.relu, "elu": nn.functional.elu, "selu": nn.functional.selu}


def chain(sizes: Sequence[int], activation: str = "tanh") -> DenseNetwork:
    """A network of fully connected layers, ``sizes`` units each after the inputs; the last has no activation."""
    torch.manual_seed(len(sizes) + sum(sizes))
    spec = ObservationSpec((sizes[0],), torch.float32)
    layers = [
        DenseLayer(nn.Linear(sizes[k], sizes[k + 1]), "none" if k == len(sizes) - 2 else activation, k, k + 1)
        for k in range(len(sizes) - 1)
    ]
    return DenseNetwork((InputColumn("x", spec, 0, None),), tuple(layers), tuple(sizes), (len(sizes) - 1,))


def plain(network: DenseNetwork, values: Tensor) -> Tensor:
    """The same with PyTorch."""
    for layer in network.layers:
        values = layer.linear(values)
        if layer.activation != "none":
            values = FUNCTIONS[layer.activation](values)
    return values


def outputs_of(network: DenseNetwork, values: Tensor) -> Tensor:
    inference = Inference(network)
    inference.refresh()
    return inference({"x": values})[0].clone()


def gradients_of(network: DenseNetwork, values: Tensor, output_gradients: Tensor) -> list[Tensor]:
    """Gradients of all parameters by native kernels, in the order of ``network.parameters()``."""
    passes, layout, space = DensePass(network), GradientLayout(network), Workspace(network, len(values))
    parts = torch.zeros(1, layout.size)
    passes.pack()
    passes.gather(space, {"x": values}, None, len(values))
    passes.forward(space, len(values))
    passes.backward(space, len(values), {network.outputs[0]: output_gradients}, layout.layers(parts[0]))
    gradients = [torch.full_like(parameter, math.nan) for parameter in network.parameters()]
    pairs = zip(network.parameters(), gradients, strict=True)
    layout.launch_reduce(parts, {parameter.data_ptr(): gradient for parameter, gradient in pairs})
    return gradients


SIZES = [
    *((3, units, 2) for units in range(1, 6)),
    *((40, units, 2) for units in range(1, 6)),
    *((inputs, 20, 1) for inputs in (1, 2, 15, 16, 17, 33)),
    *((7, units) for units in (1, 4, 5, 16, 17)),  # one layer
    (1, 1),
    (1, 1, 1, 1),
    (4, 64, 64, 2),
    (5, 3, 70, 4),
    (70, 3, 5, 17),
]


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: "-".join(map(str, sizes)))
@pytest.mark.parametrize("rows", [1, 7, ROWS])
def test_outputs_and_gradients_equal_those_of_pytorch(sizes: Sequence[int], rows: int) -> None:
    network = chain(sizes, ["tanh", "relu", "elu", "selu"][len(sizes) % 4])
    generator = torch.Generator().manual_seed(rows)
    values = torch.randn(rows, sizes[0], generator=generator)
    output_gradients = torch.randn(rows, sizes[-1], generator=generator)
    expected = plain(network, values)
    torch.testing.assert_close(outputs_of(network, values), expected, rtol=1e-5, atol=1e-5)
    wanted = torch.autograd.grad(expected, network.parameters(), output_gradients)
    for gradient, other in zip(gradients_of(network, values, output_gradients), wanted, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-5, atol=1e-5 * max(1.0, float(other.abs().max())))


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("sizes", [(3, 5, 2), (20, 3, 2), (4, 20, 20, 5), (7, 4), (7, 5)], ids=str)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_non_finite_input_reaches_only_its_own_outputs(activation: str, sizes: Sequence[int], bad: float) -> None:
    network = chain(sizes, activation)
    values = torch.randn(ROWS, sizes[0], generator=torch.Generator().manual_seed(0))
    inference = Inference(network)
    inference.refresh()
    clean = inference({"x": values})[0].clone()
    spoilt = values.clone()
    spoilt[5, 1] = bad
    outputs = inference({"x": spoilt})[0].clone()
    others = torch.arange(ROWS) != 5
    assert torch.equal(outputs[others], clean[others])
    expected = plain(network, spoilt)[5]
    torch.testing.assert_close(outputs[5], expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert torch.equal(inference({"x": values})[0], clean)  # nothing is left behind


def test_gradients_after_a_non_finite_sample_are_as_before() -> None:
    """One workspace, used three times: padding and sums keep nothing of the sample."""
    network = chain((5, 9, 3, 6))
    passes, layout, space = DensePass(network), GradientLayout(network), Workspace(network, ROWS)
    generator = torch.Generator().manual_seed(0)
    values, output_gradients = torch.randn(ROWS, 5, generator=generator), torch.randn(ROWS, 6, generator=generator)
    spoilt = values.clone()
    spoilt[3] = math.nan
    passes.pack()
    sums = []
    for observations in (values, spoilt, values):
        total = torch.zeros(layout.size)
        passes.gather(space, {"x": observations}, None, ROWS)
        passes.forward(space, ROWS)
        passes.backward(space, ROWS, {3: output_gradients}, layout.layers(total))
        sums.append(total)
    assert not bool(sums[1].isfinite().all()) and bool(sums[0].isfinite().all())
    assert torch.equal(sums[0], sums[2])
