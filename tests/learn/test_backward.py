"""Gradients of parameters from gradients of outputs."""

from __future__ import annotations

import subprocess
import sys

import torch
from torch import nn

from worldloom.learn.device.backward import parameter_gradients

LOADS_SYMPY = """
import sys, torch
from worldloom.learn.training.optimizer import FlatAdam
module = torch.nn.Linear(3, 2)
optimizer = FlatAdam(module.parameters(), 0.1)
outputs = module(torch.ones(4, 3))
optimizer.step([outputs], [torch.ones_like(outputs)])
print("sympy" in sys.modules)
"""


def test_gradients_equal_those_of_autograd() -> None:
    torch.manual_seed(0)
    module, unused = nn.Linear(3, 2), nn.Parameter(torch.ones(5))
    log_std = nn.Parameter(torch.zeros(2))
    parameters = [*module.parameters(), log_std, unused]

    def outputs() -> list[torch.Tensor]:
        values = module(torch.linspace(-1.0, 1.0, 12).view(4, 3))
        return [values, values.square().sum(1), log_std]

    gradients = [torch.randn_like(output) for output in outputs()]
    expected = torch.autograd.grad(outputs(), parameters, gradients, materialize_grads=True)
    actual = parameter_gradients(outputs(), parameters, gradients)
    assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))
    assert not actual[-1].any()


def test_an_optimizer_step_does_not_load_sympy() -> None:
    ended = subprocess.run([sys.executable, "-c", LOADS_SYMPY], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"
