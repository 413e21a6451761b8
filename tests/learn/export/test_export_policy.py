"""Exported policies act as ours do, without worldloom."""

import importlib.util
import io
import json
import math

import numpy as np
import pytest
import torch
from export_cases import CASES, MASKED, make_policy, random_observations
from safetensors.numpy import load_file
from thorough import only_thorough, sample
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import to_env_action
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.export import export_policy as module
from worldloom.learn.export.export_policy import export_policy
from worldloom.learn.networks.policy import Policy
from worldloom.learn.play.actors import PolicyActor, QActor

ROWS = 1_000
needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime", "onnxscript")),
    reason="ONNX needs the extra export: pip install 'worldloom[export]'",
)
FORMATS = ["torchscript", pytest.param("onnx", marks=[needs_onnx, only_thorough])]


def run_file(exported, to, tensors):
    """The outputs of a file by name, from inputs by name; nothing of worldloom is used."""
    inputs = [tensors[info.name] for info in exported.inputs]
    if to == "torchscript":
        outputs = torch.jit.load(str(exported.path))(*inputs)
    else:
        import onnxruntime

        session = onnxruntime.InferenceSession(exported.path.read_bytes(), providers=["CPUExecutionProvider"])
        assert [value.name for value in session.get_inputs()] == [info.name for info in exported.inputs]
        assert {value.shape[0] for value in (*session.get_inputs(), *session.get_outputs())} == {"rows"}
        assert [value.name for value in session.get_outputs()] == [info.name for info in exported.outputs]
        arrays = session.run(None, {name: tensors[name].numpy() for name in (i.name for i in exported.inputs)})
        outputs = [torch.from_numpy(array) for array in arrays]
    return {info.name: output for info, output in zip(exported.outputs, outputs, strict=True)}


def stored_facts(path, to):
    """The facts in a file: in the metadata of ONNX, in a file of the archive of TorchScript."""
    if to == "onnx":
        import onnx

        return json.loads({entry.key: entry.value for entry in onnx.load(path).metadata_props}["worldloom"])
    extra = {"worldloom.json": ""}
    torch.jit.load(io.BytesIO(path.read_bytes()), _extra_files=extra)
    return json.loads(extra["worldloom.json"])


def assert_best_choices(scores, acted, expected):
    """Assert equal choices, but for two that score the same up to the rounding of another library."""
    for number, score in enumerate(scores):
        ours, theirs = (score.gather(1, choices[:, number : number + 1])[:, 0] for choices in (expected, acted))
        apart = acted[:, number] != expected[:, number]
        torch.testing.assert_close(theirs[apart], ours[apart], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "to"),
    [
        *((case, "torchscript") for case in CASES),
        *(pytest.param(c, "onnx", marks=needs_onnx) for c in sample(reversed(CASES), 2)),
    ],
)
def test_the_file_acts_as_the_policy_does(tmp_path, case, to):
    policy = make_policy(case)
    observations, spec = random_observations(CASES[case][0], ROWS), policy.spec.action
    mask = torch.rand(ROWS, spec.logits) > 0.3 if case in MASKED else None
    if mask is not None:
        mask[:10] = False  # allows everything
    actor = QActor(policy) if case == "q_network" else PolicyActor(policy)
    state = actor.initial_state(ROWS, "cpu")
    state = torch.randn_like(state)
    with torch.no_grad():
        action, next_state = actor.act(observations, state, mask)
        world_action = to_env_action(spec, action)

    exported = export_policy(policy, to, tmp_path / f"policy.{to}", masked=mask is not None, facts={"steps": 12})
    tensors = {
        **observations,
        "observation_action": observations.get("action"),
        "action_mask": mask,
        "recurrent_state": state,
    }
    outputs = run_file(exported, to, tensors)
    assert stored_facts(exported.path, to)["steps"] == 12

    for info in exported.outputs:
        assert outputs[info.name].dtype == info.dtype and outputs[info.name].shape == (ROWS, *info.shape)
    if spec.kind == "mixed":
        acted = torch.cat([outputs["choices"].view(ROWS, -1), outputs["numbers"]], 1)
    else:
        acted = outputs["action"].view(ROWS, -1)
    choices = len(spec.sizes)
    if choices:
        scores = outputs["q_values" if case == "q_network" else "logits"]
        assert_best_choices(scores.split(spec.sizes, 1), acted[:, :choices].long(), world_action[:, :choices].long())
    torch.testing.assert_close(acted[:, choices:].float(), world_action[:, choices:].float(), rtol=0.0, atol=1e-6)
    if choices == 1:
        assert len(acted[:, 0].unique()) > 1, "the case must tell actions apart"
    if policy.spec.action.numbers:
        assert float(world_action[:, choices:].std()) > 0.01
    if state.shape[1]:
        torch.testing.assert_close(outputs["next_recurrent_state"], next_state, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("to", FORMATS)
def test_logits_are_those_of_the_policy_and_masked(tmp_path, to):
    policy = make_policy("masked")
    observations = random_observations(CASES["masked"][0], 20)
    mask = torch.ones(20, 5, dtype=torch.bool)
    mask[:, 3] = False
    exported = export_policy(policy, to, tmp_path / "file", masked=True)
    tensors = {**observations, "observation_action": observations["action"], "action_mask": mask}
    logits = run_file(exported, to, tensors)["logits"]
    with torch.no_grad():
        expected = policy.act(observations, policy.initial_state(20, "cpu"))[0]
    torch.testing.assert_close(logits[mask], expected[mask], rtol=0.0, atol=1e-6)
    assert (logits[:, 3] == -1e30).all()


def test_a_safetensors_file_holds_parameters_and_statistics(tmp_path):
    policy = make_policy("vector")
    exported = export_policy(policy, "safetensors", tmp_path / "policy.safetensors")
    tensors = load_file(exported.path)
    state = random_observations(CASES["vector"][0], ROWS)["state"]
    with torch.no_grad():
        expected = policy.act({"state": state}, policy.initial_state(ROWS, "cpu"))[0].numpy()

    values = state.numpy() - tensors["normalizer.moments.0.mean"]
    values = np.clip(values * tensors["normalizer.moments.0.scale"], -10.0, 10.0)
    layers = sorted(name for name in tensors if name.startswith("network.actor_encoder.") and name.endswith("weight"))
    for weight in layers:
        values = np.tanh(values @ tensors[weight].T + tensors[weight.replace("weight", "bias")])
    logits = values @ tensors["network.actor.weight"].T + tensors["network.actor.bias"]
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)


def test_files_say_what_they_hold(tmp_path):
    policy = make_policy("lstm")
    facts = {"world": "Pond-v0"}
    path = export_policy(policy, "torchscript", tmp_path / "policy.pt", facts=facts).path
    found = stored_facts(path, "torchscript")
    assert found["world"] == "Pond-v0" and found["action"]["high"] == [2.0, None, 5.0]
    assert found["inputs"] == [
        {"name": "sight", "dtype": "float32", "shape": ["rows", 4]},
        {"name": "recurrent_state", "dtype": "float32", "shape": ["rows", 32]},
    ]
    assert [output["name"] for output in found["outputs"]] == ["action", "mean", "next_recurrent_state"]
    assert found["network"]["memory"] == "lstm" and found["normalized"] == ["sight"]


def test_the_policy_stays_unchanged(tmp_path):
    policy = make_policy("vector")
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    export_policy(policy, "torchscript", tmp_path / "policy.pt")
    assert all(parameter.requires_grad for parameter in policy.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in policy.state_dict().items())


class CountsRows(nn.Module):
    """A module whose result depends on a number of Python, which a trace fixes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, observations):
        outputs = self.layer(observations) * int(observations.shape[0])
        return outputs[:, :2], outputs[:, 2]


def test_a_network_that_a_trace_changes_is_refused(tmp_path):
    spec = PolicySpec({"state": ObservationSpec((4,))}, ActionSpec("categorical", (2,)))
    policy = Policy(spec, PolicyConfig(), CountsRows())
    with pytest.raises(InputError, match="computes something else once it is traced for torchscript, with 1 rows"):
        export_policy(policy, "torchscript", tmp_path / "policy.pt")
    assert not (tmp_path / "policy.pt").exists()


@pytest.mark.parametrize("package", ["onnx", "onnxscript"])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == package else found("json"))
    with pytest.raises(InputError, match=rf"ONNX needs the package {package}: pip install 'worldloom\[export\]'"):
        module.export_policy(make_policy("vector"), "onnx", tmp_path / "policy.onnx")


def test_bounds_that_are_infinite_are_null_in_json():
    facts = module._action_facts(ActionSpec("gaussian", (), (-math.inf,), (1.0,)))
    assert facts["low"] == [None] and facts["high"] == [1.0]
