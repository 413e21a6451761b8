"""The fused pair of networks on a GPU: PyTorch's numbers, but for the rounding of TF32."""

import pytest
import torch

from worldloom.learn import ActionSpec, ObservationSpec, Policy, PolicyConfig, PolicySpec
from worldloom.learn.device.gather import gather, scatter_rows
from worldloom.learn.networks.fused import support
from worldloom.learn.networks.fused.mlp import FusedActorCritic, kernels

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(kernels() is None, reason="Triton is not installed")]


def reference(policy, observations):
    """Outputs and gradients of PyTorch's layers in float32, on the CPU."""
    twin = Policy(policy.spec, policy.config)
    twin.load_state_dict({k: v.cpu() for k, v in policy.state_dict().items()})
    parameters, value, _ = twin({k: v.cpu() for k, v in observations.items()}, twin.initial_state(0, "cpu"))
    return (
        parameters,
        value,
        *torch.autograd.grad(parameters.sin().mean() + value.square().mean(), list(twin.parameters())),
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rows", [1, 31, 5000])
@pytest.mark.parametrize(
    ("activation", "inputs", "outputs", "hidden"),
    [("tanh", 4, 2, 64), ("elu", 7, 5, 32), ("selu", 3, 1, 16), ("relu", 20, 18, 64)],
)
def test_the_fused_pair_agrees_with_the_plain_layers(rows, activation, inputs, outputs, hidden, shared):
    torch.manual_seed(0)
    spec = PolicySpec({"sight": ObservationSpec((inputs,))}, ActionSpec("categorical", sizes=(outputs,)))
    policy = Policy(spec, PolicyConfig(hidden=(hidden, hidden), activation=activation, shared=shared)).cuda()
    for parameter in policy.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    observations = {"sight": torch.randn(rows, inputs, device="cuda")}
    assert policy.network._fused.usable(observations["sight"])
    parameters, value, _ = policy(observations, policy.initial_state(0, "cuda"))
    gradients = torch.autograd.grad(parameters.sin().mean() + value.square().mean(), list(policy.parameters()))
    for found, wanted in zip((parameters, value, *gradients), reference(policy, observations), strict=True):
        # Over all numbers, and loosely for rectifiers: near its kink, rounding switches one on or off.
        near = 0.1 if activation == "relu" else 0.01
        least = 2e-3 if rows == 1 else 1e-6  # a single number may come out near 0 from terms that do not
        assert float((found.detach().cpu() - wanted.detach()).norm()) < near * float(wanted.detach().norm()) + least


@pytest.mark.parametrize("shared", [False, True])
def test_wide_layers_with_rectifiers_agree_with_the_plain_ones(shared):
    torch.manual_seed(1)
    spec = PolicySpec({"sight": ObservationSpec((9,))}, ActionSpec("categorical", sizes=(4, 3)))
    policy = Policy(spec, PolicyConfig(hidden=(96, 80), activation="relu", shared=shared)).cuda()
    for parameter in policy.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    observations = {"sight": torch.randn(700, 9, device="cuda")}
    parameters, value, _ = policy(observations, policy.initial_state(0, "cuda"))
    gradients = torch.autograd.grad(parameters.sin().mean() + value.square().mean(), list(policy.parameters()))
    for found, wanted in zip((parameters, value, *gradients), reference(policy, observations), strict=True):
        torch.testing.assert_close(found.cpu(), wanted, rtol=1e-3, atol=1e-5)


def test_a_network_that_only_acts_is_fused_as_well(recwarn):
    spec = PolicySpec({"sight": ObservationSpec((4,))}, ActionSpec("categorical", sizes=(2,)))
    policy = Policy(spec, PolicyConfig()).cuda().requires_grad_(False)
    assert policy.network._fused.usable(torch.randn(8, 4, device="cuda"))
    assert not recwarn.list


def test_a_compiler_that_fails_leaves_the_plain_layers(monkeypatch):
    spec = PolicySpec({"sight": ObservationSpec((4,))}, ActionSpec("categorical", sizes=(2,)))
    policy = Policy(spec, PolicyConfig()).cuda()

    def fails(self, values):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(FusedActorCritic, "__call__", fails)
    monkeypatch.setattr(support, "_compiled", {})
    with pytest.warns(UserWarning, match="training is slower"):
        parameters, _, _ = policy({"sight": torch.zeros(3, 4, device="cuda")}, policy.initial_state(0, "cuda"))
    assert parameters.shape == (3, 2)


def test_take_and_put_on_the_gpu():
    values = torch.randn(6, 50, 4, device="cuda")
    places = torch.randperm(300, device="cuda")[:77]
    assert torch.equal(gather(values, places), values.flatten(0, 1)[places])
    target, slots = torch.zeros(2, 50, 4, device="cuda"), torch.randint(-1, 2, (50,), dtype=torch.int32, device="cuda")
    scatter_rows(values[0], slots, target)
    for slot in range(2):
        assert torch.equal(target[slot], values[0] * (slots == slot)[:, None])
