"""``--slim-checkpoints``: small checkpoints, from which a training goes on with new episodes."""

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch

import worldloom as wl
from worldloom.learn import PPO, PolicyConfig, PPOConfig

ARGUMENTS = ("CartPole-v1", "--device", "cpu", "--num-envs", "64", "--num-steps", "8", "--seed", "3", "--no-video")
SLIM = "--slim-checkpoints"
ITERATION = 64 * 8


def latest(folder: Path) -> tuple[dict[str, torch.Tensor], dict]:
    checkpoint = sorted((folder / "checkpoints").glob("iteration_*"))[-1]
    return safetensors.torch.load_file(checkpoint / "tensors.safetensors"), json.loads(
        (checkpoint / "state.json").read_text()
    )


def train(worldloom, folder: Path, iterations: int, *arguments: str) -> dict:
    total = ("--total-steps", str(iterations * ITERATION), "--run-dir", str(folder), "--json")
    code, out, err = worldloom("train", *arguments, *total)
    assert code == 0, err
    return json.loads(out)


def test_only_what_was_learned_is_saved(worldloom, tmp_path):
    train(worldloom, tmp_path / "slim", 2, *ARGUMENTS, SLIM)
    train(worldloom, tmp_path / "full", 2, *ARGUMENTS)
    slim, full = latest(tmp_path / "slim")[0], latest(tmp_path / "full")[0]
    assert set(slim) < set(full)
    assert all(torch.equal(slim[name], full[name]) for name in slim)
    assert not any(name.startswith("worlds/") or "/rows/" in name for name in slim)
    parameters = sum(value.numel() for name, value in slim.items() if "/policy/" in name)
    assert 3 * parameters <= sum(value.numel() for value in slim.values()) < 3 * parameters + 100


@pytest.mark.parametrize(
    "options",
    [(), ("--overlap",), ("--algo", "vtrace"), ("--algo", "dqn", "--learning-starts", "64"), ("--normalize-rewards",)],
    ids=["ppo", "overlap", "vtrace", "dqn", "rewards"],
)
def test_two_continuations_are_equal_and_go_on_counting(worldloom, tmp_path, options):
    arguments = [word for word in ARGUMENTS if options[:2] != ("--algo", "dqn") or word not in ("--num-steps", "8")]
    first = train(worldloom, tmp_path / "run", 3, *arguments, *options, SLIM)
    states = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        for file in (tmp_path / "run").rglob("*"):
            target = folder / file.relative_to(tmp_path / "run")
            target.mkdir(exist_ok=True) if file.is_dir() else target.write_bytes(file.read_bytes())
        report = train(worldloom, folder, 6, "--resume")
        assert report["steps"] >= 2 * first["steps"] and report["seconds"] > first["seconds"]
        states.append(latest(folder))
    (one, plain), (two, other) = states
    assert set(one) == set(two) and all(torch.equal(one[name], two[name]) for name in one)
    assert not any(key.startswith("worlds/") for key in one), "a run with slim checkpoints stays so"
    assert plain["steps"] == other["steps"] and plain["state"]["seconds"] > 0.0


def test_past_selves_are_part_of_it(worldloom, tmp_path):
    hanabi = ("HanabiVerySmall-v0", *ARGUMENTS[1:], "--self-play", "Player", "--pool.agents", "Player[1]")
    pool = ("--pool.every", "1", "--pool.size", "2")
    train(worldloom, tmp_path, 3, *hanabi, *pool, SLIM)
    before, _ = latest(tmp_path)
    selves = {name for name in before if "pools/" in name}
    assert selves and not any("/rows/" in name for name in before)
    train(worldloom, tmp_path, 4, "--resume")
    after, _ = latest(tmp_path)
    assert set(after) == set(before)


def test_a_full_run_becomes_slim(worldloom, tmp_path):
    train(worldloom, tmp_path, 1, *ARGUMENTS)
    train(worldloom, tmp_path, 2, "--resume", SLIM)
    assert not any(name.startswith("worlds/") for name in latest(tmp_path)[0])


def test_another_network_is_refused_in_a_sentence():
    config = PPOConfig(num_envs=4, num_steps=8, device="cpu")
    tensors, plain = PPO("CartPole-v1", config).state(experience=False)
    other = PPO("CartPole-v1", PPOConfig(num_envs=4, num_steps=8, device="cpu", policy=PolicyConfig(hidden=(32, 32))))
    with pytest.raises(wl.InputError, match="policy 'Cart'") as refused:
        other.load_state(tensors, plain)
    assert "\n" not in str(refused.value)
