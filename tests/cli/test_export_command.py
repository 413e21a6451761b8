"""``worldloom export``: its files, its report and its errors."""

import importlib.util
import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from safetensors import safe_open
from thorough import only_thorough

from worldloom.learn.runs.saved_run import open_run

pytestmark = pytest.mark.usefixtures("without_curves")

FLOCK = f"{Path(__file__).parent / 'flock.py'}:Flock-v0"


def exporter(to):
    """A function from an observation to an action, by the file at a path."""
    if to == "torchscript":

        def load(path):
            function = torch.jit.load(str(path))
            return lambda observation: int(function(torch.from_numpy(observation[None]))[0][0])

    else:
        onnxruntime = pytest.importorskip("onnxruntime", reason="needs worldloom[export]")

        def load(path):
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            name = session.get_inputs()[0].name
            return lambda observation: int(session.run(["action"], {name: observation[None]})[0][0])

    return load


def returns_in_gymnasium(act, episodes=5):
    env = gymnasium.make("CartPole-v1")
    returns = []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


@pytest.fixture(scope="module")
def skilled(tmp_path_factory):
    """A run whose policy keeps the pole up for a while, with normalized observations."""
    from worldloom.cli.main import main

    folder = tmp_path_factory.mktemp("skilled") / "run"
    command = ["train", "CartPole-v1"]
    command += ["--device", "cpu", "--num-envs", "32", "--total-steps", "16384", "--no-video", "--quiet"]
    assert main([*command, "--policy.normalize-observations", "--run-dir", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("to", ["torchscript", pytest.param("onnx", marks=only_thorough)])
def test_the_file_gets_the_same_return_in_gymnasium(worldloom, skilled, tmp_path, to):
    load = exporter(to)
    code, out, _ = worldloom("export", skilled, "--to", to, "--out", tmp_path / "file")
    assert code == 0 and f"policy 'Cart' as {to}" in out and "action int64 (rows)" in out
    run = open_run(skilled)
    with run.worlds(1, "cpu", 0) as worlds, torch.no_grad():
        agent_group, actor = run.actors(worlds)["Cart"]
        (name,) = agent_group.spec.observations

        def act(observation):
            observed = {name: torch.from_numpy(observation[None])}
            return int(actor.act(observed, actor.initial_state(1, "cpu"), None)[0])

        expected = returns_in_gymnasium(act)
    assert returns_in_gymnasium(load(tmp_path / "file")) == expected
    assert np.mean(expected) > 40.0, "the policy must do better than chance, which keeps the pole up for 20 steps"


def test_the_default_file_is_in_the_folder_of_the_run(worldloom, trained):
    code, out, _ = worldloom("export", trained, "--to", "safetensors", "--json")
    report = json.loads(out)
    assert code == 0 and report["file"] == str(trained / "policy.safetensors") and report["format"] == "safetensors"
    assert [tensor["name"] for tensor in report["outputs"]] == ["action", "logits"]
    with safe_open(report["file"], "numpy") as file:
        facts = json.loads(file.metadata()["facts"])
        assert "network.actor.weight" in file.keys()  # noqa: SIM118
    assert facts["world"] == "CartPole-v1" and facts["algorithm"] == "ppo" and facts["steps"] == 512


def test_masks_are_an_input(worldloom, tmp_path):
    few = ("--device", "cpu", "--num-envs", "2", "--total-steps", "64", "--quiet", "--no-video")
    assert worldloom("train", "HanabiVerySmall-v0", *few, "--run-dir", tmp_path / "run")[0] == 0
    code, out, _ = worldloom("export", tmp_path / "run", "--to", "torchscript", "--json")
    assert code == 0 and "action_mask" in [tensor["name"] for tensor in json.loads(out)["inputs"]]


def test_one_of_several_policies_is_named(worldloom, tmp_path):
    few = ("--device", "cpu", "--num-envs", "4", "--total-steps", "64", "--quiet", "--no-video")
    code, _, err = worldloom("train", FLOCK, *few, "--run-dir", tmp_path / "run")
    assert code == 0, err
    code, _, err = worldloom("export", tmp_path / "run", "--env", FLOCK, "--to", "safetensors")
    assert code == 2 and "has several policies: name one of" in " ".join(err.split())
    name = err.split("name one of ")[1].split(",")[0]
    assert worldloom("export", tmp_path / "run", "--env", FLOCK, "--to", "safetensors", "--policy", name)[0] == 0
    assert (tmp_path / "run" / f"policy_{name}.safetensors").is_file()
    code, _, err = worldloom("export", tmp_path / "run", "--env", FLOCK, "--to", "safetensors", "--policy", "Crow")
    assert code == 2 and "there is no policy 'Crow'" in err


def test_a_folder_without_a_run_is_refused(worldloom, tmp_path):
    code, _, err = worldloom("export", tmp_path, "--to", "torchscript")
    assert code == 2 and "holds no run" in err


def test_a_file_that_cannot_be_written_is_refused(worldloom, trained, tmp_path):
    code, _, err = worldloom("export", trained, "--to", "safetensors", "--out", tmp_path / "no" / "file")
    assert code == 2 and "no/file" in err.replace("\n", "") and len(err.strip().splitlines()) == 1


def test_onnx_files_are_written_without_onnxruntime(worldloom, trained, tmp_path, monkeypatch):
    pytest.importorskip("onnxscript", reason="needs worldloom[export]")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "onnxruntime" else find_spec(name, *rest)
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # its import fails
    assert worldloom("export", trained, "--to", "onnx", "--out", tmp_path / "policy.onnx")[0] == 0
    assert (tmp_path / "policy.onnx").stat().st_size > 1000
