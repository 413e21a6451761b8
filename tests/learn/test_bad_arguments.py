"""Bad arguments of the Python API are refused in one sentence, where they are given."""

from pathlib import Path

import pytest

import worldloom as wl
from worldloom.learn import PPOConfig, RunFolder, TrainingRequest, evaluate, open_run, read_metrics, run_training
from worldloom.learn.algorithms.sac import SACConfig

CONFIG = PPOConfig(num_envs=2, device="cpu", total_steps=64)


def refused(call, match):
    with pytest.raises(wl.WorldloomError, match=match) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("config", [PPOConfig, SACConfig])
@pytest.mark.parametrize("device", ["tpu", "CPU", "cuda:x", "cuda:-1", "cuda:", ""])
def test_devices_that_do_not_exist(config, device):
    refused(lambda: config(device=device), f"there is no device '{device}'")


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:7"])
def test_devices_that_another_machine_may_have(device):
    assert PPOConfig(device=device).device == device


def test_settings_of_the_network_of_another_type():
    refused(lambda: PPOConfig(policy={"hidden": (3,)}), "policy must be a PolicyConfig")


@pytest.mark.parametrize("path", [5, None, b"run", ["run"]])
@pytest.mark.parametrize("function", [open_run, read_metrics, lambda path: RunFolder(path, {})])
def test_paths_of_another_type(function, path):
    refused(lambda: function(path), "a path is text or a pathlib.Path, not")


@pytest.mark.parametrize("name", ["checkpoint", "env"])
def test_other_arguments_of_open_run(name):
    refused(lambda: open_run("absent", **{name: 5}), f"{name} must be text, not 5")


def test_permission_is_true_or_false(tmp_path):
    """The text "no" would count as True."""
    request = TrainingRequest("CartPole-v1", "ppo", CONFIG, run_dir=tmp_path / "run", video=False)
    run_training(request)
    refused(lambda: open_run(tmp_path / "run", allow_changed_world="no"), "allow_changed_world is True or False")


@pytest.mark.parametrize("actors", [{}, None, 5, [], {"Cart": 5}, {"Cart": (1, 2)}, {"Cart": (1,)}])
def test_actors_that_are_none(actors):
    worlds = wl.Simulation("CartPole-v1", 2, "cpu")
    refused(lambda: evaluate(worlds, actors, 2), "actors are agent groups with their actors by name")


def test_worlds_that_are_none():
    refused(lambda: evaluate(5, {}, 2), "policies are evaluated in a Simulation, not in 5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("env", 5), ("algorithm", 5), ("config", 5), ("keep", 2.5), ("keep", "a"), ("checkpoint_every", "a")),
        *(("stop_at", "x"), ("resume", "maybe"), ("run_dir", 5), ("frozen", 5), ("frozen", "Cart"), ("pool", {})),
        *(("world_config", 5), ("video", "x"), ("policies", {"a": 5}), ("start_from", 5)),
    ],
)
def test_values_of_a_request(name, value):
    arguments = {"env": "CartPole-v1", "algorithm": "ppo", "config": CONFIG, name: value}
    refused(lambda: TrainingRequest(**arguments), f"^{name} must be ")


def test_the_folder_of_a_request_may_be_text():
    assert TrainingRequest("CartPole-v1", "ppo", CONFIG, run_dir="run").run_dir == Path("run")
