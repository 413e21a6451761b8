"""Files of policies take the place of a run's folder, and the policies that come with worldloom play their worlds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import duel
import pytest
import torch

import worldloom as wl
from worldloom.core.base import tensor_file
from worldloom.learn import evaluate, export_policies, load_policy, open_run, pretrained, pretrained_worlds
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.policy_file import KIND, VERSION, read_card
from worldloom.learn.runs.saved_policies import load_starts, parse_source
from worldloom.learn.runs.saved_run import SavedRun
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.runs.training_run import run_training

MAX_BYTES = 3_000_000
CONFIG = PPOConfig(
    num_envs=4, num_steps=4, minibatches=1, epochs=1, total_steps=32, device="cpu", policy=PolicyConfig(hidden=(8,))
)
REQUEST = TrainingRequest(duel.DUEL.id, "ppo", CONFIG)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run against an opponent with another network, and with settings of its own for the trained policy."""
    folder = tmp_path_factory.mktemp("runs")
    policy = PolicyConfig(hidden=(5, 3), activation="relu", normalize_observations=True)
    run_training(replace(REQUEST, config=replace(CONFIG, policy=policy), run_dir=folder / "earlier"))
    own = {"Attacker": {"policy.hidden": [7]}}
    opponents = {"Defender": str(folder / "earlier")}
    run_training(replace(REQUEST, opponents=opponents, policy_settings=own, run_dir=folder / "run"))
    return folder / "run"


def played(run: SavedRun) -> torch.Tensor:
    """The observations and actions of some steps."""
    with run.worlds(3, "cpu", seed=4) as worlds:
        actors, seen = run.actors(worlds, stochastic=True, seed=2), []
        for _ in range(5):
            for group, actor in actors.values():
                action, _ = actor.act(group.observations(), actor.initial_state(group.rows, group.device), group.mask())
                group.write_actions(action)
                seen.append(action.clone().flatten())
            worlds.step()
        return torch.cat(seen)


def test_a_file_plays_as_the_folder_of_the_run(run: Path, tmp_path: Path) -> None:
    path = export_policies(run, tmp_path / "duel.policies", card={"seconds": 1.5})
    moved = tmp_path / "run"
    shutil.copytree(run, moved)
    expected = played(open_run(run))
    shutil.rmtree(moved)
    assert torch.equal(played(open_run(path)), expected)
    assert read_card(path) == {"seconds": 1.5}
    again = export_policies(path, tmp_path / "again.policies")
    assert read_card(again) == read_card(path)
    assert torch.equal(played(open_run(again)), expected)


def test_policies_start_from_a_file(run: Path, tmp_path: Path) -> None:
    path = export_policies(run, tmp_path / "duel.policies")
    for name in ("Attacker", "Defender"):
        one, other = load_policy(path, name), load_policy(run, name)
        assert one.config == other.config and one.tensors.keys() == other.tensors.keys()
        assert all(torch.equal(one.tensors[key], other.tensors[key]) for key in one.tensors)
    assert parse_source(f"{path}:Attacker", "").policy == "Attacker"
    own = {"Attacker": {"policy.hidden": [7]}}
    request = replace(REQUEST, opponents={"Defender": f"{path}:Defender"}, policy_settings=own, start_from=str(path))
    assert load_starts(request).keys() == {"Attacker"}
    run_training(replace(request, run_dir=tmp_path / "next"))


def test_weights_may_be_rounded(run: Path, tmp_path: Path) -> None:
    whole, half = (export_policies(run, tmp_path / f"{half}.policies", half=half) for half in (False, True))
    for name in ("Attacker", "Defender"):
        exact, rounded = load_policy(whole, name).tensors, load_policy(half, name).tensors
        for key, value in exact.items():
            stored = value.half().float() if value.dtype == torch.float32 and value.ndim > 1 else value
            assert rounded[key].dtype == value.dtype and torch.equal(rounded[key], stored)
    again = export_policies(half, tmp_path / "again.policies")  # no bit is lost
    assert torch.equal(played(open_run(again)), played(open_run(half)))
    large = pretrained("Taxi-v3")
    assert export_policies(large, tmp_path / "taxi.policies", half=True).stat().st_size < 0.6 * large.stat().st_size


def test_bad_files_are_refused(run: Path, tmp_path: Path) -> None:
    path = export_policies(run, tmp_path / "duel.policies")
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    (tmp_path / "altered.policies").write_bytes(data)
    with pytest.raises(wl.InputError, match="it was cut short or altered"):
        open_run(tmp_path / "altered.policies")
    (tmp_path / "cut.policies").write_bytes(data[:900])
    with pytest.raises(wl.InputError, match="cannot be used as a file of trained policies"):
        open_run(tmp_path / "cut.policies")
    contents = tensor_file.read(path, KIND, VERSION)
    for change, words in (
        ({"request": None}, "lacks a value that every"),
        ({"rounded": ["weights"]}, "names rounded weights that it does not have"),
        ({"steps": -1}, "lacks a value that every"),
        ({"request": {**contents.facts["request"], "keep": "x"}}, "'keep' in .* must be a whole number"),
    ):
        tensor_file.write(tmp_path / "bad.policies", KIND, VERSION, contents.tensors, {**contents.facts, **change})
        with pytest.raises(wl.InputError, match=words):
            open_run(tmp_path / "bad.policies")
    request = contents.facts["request"]
    for change, words in (
        ({"policies": {"\x1b[2J": "Attacker"}}, "names a policy as none can be called"),
        ({"opponents": {"Attacker": "runs/x"}}, "needs other runs"),
        ({"start_from": "runs/x"}, "needs other runs"),
    ):
        facts = {**contents.facts, "request": {**request, **change}}
        tensor_file.write(tmp_path / "bad.policies", KIND, VERSION, contents.tensors, facts)
        with pytest.raises(wl.InputError, match=words):
            open_run(tmp_path / "bad.policies")
    unknown = {"\x1b[2J": torch.zeros(4).to(torch.float8_e4m3fn)}
    tensor_file.write(tmp_path / "bad.policies", KIND, VERSION, {**contents.tensors, **unknown}, contents.facts)
    with pytest.raises(wl.InputError, match=r"'\\x1b\[2J' of .* has the type torch.float8_e4m3fn"):
        open_run(tmp_path / "bad.policies")
    with pytest.raises(wl.InputError, match=r"there is no file .*missing\.policies"):
        open_run(tmp_path / "missing.policies")
    (tmp_path / "policy.onnx").write_bytes(b"x")
    with pytest.raises(wl.InputError, match="name a run's folder, or a file of policies"):
        load_policy(tmp_path / "policy.onnx")
    infinite = {name: torch.full_like(value, torch.inf) for name, value in contents.tensors.items()}
    tensor_file.write(tmp_path / "bad.policies", KIND, VERSION, infinite, contents.facts)
    with pytest.raises(wl.InputError, match="is not finite"):
        open_run(tmp_path / "bad.policies")
    with pytest.raises(wl.InputError, match="is a file with one checkpoint: omit 'iteration_00000001'"):
        open_run(path, "iteration_00000001")
    with pytest.raises(wl.InputError, match=r"ends with '\.policies'"):
        export_policies(run, tmp_path / "duel.safetensors")


def test_worlds_without_pretrained_policies() -> None:
    with pytest.raises(wl.InputError, match="no pretrained policies for Duel-test-v0: train some with"):
        pretrained(duel.DUEL.id)
    with pytest.raises(wl.InputError, match="CartPole-v1"):
        pretrained("CartPol-v1")


@pytest.mark.parametrize("world", pretrained_worlds())
def test_pretrained_policies_play_as_their_cards_say(world: str) -> None:
    path = pretrained(world)
    card, run = read_card(path), open_run(path)
    assert run.definition.id == world and path.stat().st_size <= MAX_BYTES
    assert {"command", "hardware", "commit", "date", "seconds", "steps", "mean_return", "standard_error"} <= card.keys()
    assert card["episodes"] == 1000
    episodes = 20
    with run.worlds(episodes, "cpu", seed=5) as worlds:
        result = evaluate(worlds, run.actors(worlds, seed=5), episodes)
    spread = card["standard_error"] * (1000 / episodes) ** 0.5
    assert abs(result.mean_return - card["mean_return"]) <= 5.0 * spread + 1e-3 * abs(card["mean_return"])
