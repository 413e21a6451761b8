"""Attention on a GPU: the CPU's numbers up to the rounding of TF32, for more rows than one kernel takes."""

import pytest
import torch

from worldloom.learn import ActionSpec, ObservationSpec, Policy, PolicyConfig, PolicySpec

pytestmark = pytest.mark.gpu

SPEC = PolicySpec(
    {
        "others": ObservationSpec((16, 5), entities=True, mask="present"),
        "present": ObservationSpec((16,), torch.bool),
        "sight": ObservationSpec((7,)),
    },
    ActionSpec("categorical", sizes=(4,)),
)


@pytest.mark.parametrize(("precision", "tolerance"), [(None, 5e-3), (torch.bfloat16, 5e-2)])
@pytest.mark.parametrize("rows", [1, 300, 70_000])
def test_attention_agrees_with_the_cpu(rows, precision, tolerance):
    torch.manual_seed(0)
    policy = Policy(SPEC, PolicyConfig(attention_size=32, attention_layers=2, hidden=(32,)))
    observations = {
        "others": torch.randn(rows, 16, 5),
        "present": torch.rand(rows, 16) < 0.5,
        "sight": torch.randn(rows, 7),
    }
    observations["present"][0] = False
    state = policy.initial_state(0, "cpu")
    sample = {name: values[:300] for name, values in observations.items()}
    expected = policy(sample, state)[1]
    on_gpu = policy.cuda()
    with torch.autocast("cuda", precision or torch.bfloat16, enabled=precision is not None):
        parameters, value, _ = on_gpu({name: values.cuda() for name, values in observations.items()}, state.cuda())
    torch.testing.assert_close(value[:300].cpu(), expected, rtol=tolerance, atol=tolerance)
    gradients = torch.autograd.grad(value.mean() + parameters.sin().mean(), list(on_gpu.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)
