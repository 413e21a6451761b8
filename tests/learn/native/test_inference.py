"""Forward passes by native kernels equal those of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from random_rollouts import CATEGORICAL, GAUSSIAN, random_case

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.dense_kernels import activate
from worldloom.learn.native.dense_network import describe_policy
from worldloom.learn.native.dense_source import ACTIVATIONS
from worldloom.learn.native.inference import Inference


@pytest.mark.parametrize("rows", [1, 5, 128, 300])
@pytest.mark.parametrize("action", [CATEGORICAL, GAUSSIAN], ids=lambda a: a.kind)
def test_outputs(rows, action):
    case = random_case(action, samples=rows, hidden=(40, 24), activation="elu", normalize_observations=True)
    inference = Inference(describe_policy(case.policy))
    inference.refresh()
    parameters, values = inference(case.batch.observations)
    expected, expected_values, _ = case.policy(case.batch.observations, case.policy.initial_state(rows, "cpu"))
    torch.testing.assert_close(parameters, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(values.squeeze(1), expected_values, rtol=1e-5, atol=1e-5)


def test_threads_do_not_change_a_bit_and_parameters_are_read_on_refresh():
    case = random_case(CATEGORICAL, samples=1700)
    single, several = (Inference(describe_policy(case.policy), threads) for threads in (1, 3))
    for inference in (single, several):
        inference.refresh()
    first = single(case.batch.observations)[0].clone()
    assert torch.equal(first, several(case.batch.observations)[0])
    with torch.no_grad():
        case.optimizer.flat += 0.1
    assert torch.equal(first, single(case.batch.observations)[0])
    single.refresh()
    assert not torch.equal(first, single(case.batch.observations)[0])


def activated(name: str, values: np.ndarray) -> np.ndarray:
    padding = -len(values) % 16
    tensor = torch.from_numpy(np.concatenate([values, np.zeros(padding, np.float32)]))
    launch(activate, 1, (tensor, len(tensor), ACTIVATIONS[name]), torch.device("cpu"))
    return tensor.numpy()[: len(values)]


def test_tanh_has_a_relative_error_of_at_most_4e_7():
    values = np.concatenate([np.linspace(-12, 12, 200_001), np.geomspace(1e-30, 10.0, 50_001)]).astype(np.float32)
    exact = np.tanh(values.astype(np.float64))
    actual = activated("tanh", values)
    nonzero = exact != 0.0
    assert np.max(np.abs(actual[nonzero] / exact[nonzero] - 1.0)) < 4e-7
    assert np.max(np.abs(actual)) <= 1.0 + 2.0**-22


@pytest.mark.parametrize("name", ["relu", "elu", "selu"])
def test_activations_have_a_relative_error_of_at_most_4e_7(name):
    values = np.concatenate([np.linspace(-100, 5, 100_001), -np.geomspace(1e-20, 10.0, 50_001)]).astype(np.float32)
    exact = getattr(torch.nn.functional, name)(torch.from_numpy(values.astype(np.float64))).numpy()
    np.testing.assert_allclose(activated(name, values), exact, rtol=4e-7, atol=1e-30)


def test_nan_stays_nan():
    assert np.isnan(activated("tanh", np.array([np.nan, 1.0], np.float32))[0])
