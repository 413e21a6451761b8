"""``worldloom bench train``: what it reports. No test depends on durations."""

import json

import pytest

from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.experiments.training_profile import count_operations

SMALL = ("--device", "cpu", "--num-envs", "8", "--iterations", "2")
ROLLOUT = ("--num-steps", "16")


def report_of(worldloom, *arguments: str) -> dict:
    code, out, _ = worldloom("bench", "train", *arguments, *SMALL, "--json")
    assert code == 0
    return json.loads(out)


def test_a_training_is_measured(worldloom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = report_of(worldloom, "CartPole-v1", "--epochs", "2", *ROLLOUT)
    assert (report["env"], report["algorithm"], report["num_envs"]) == ("CartPole-v1", "ppo", 8)
    assert report["iteration_steps"] == 8 * 16
    assert report["steps_per_second"] == pytest.approx(128 / report["seconds"])
    assert set(report["phases"]) == {"roll-out", "update"}
    assert sum(report["phases"].values()) == pytest.approx(report["seconds"])
    assert report["product_share"] == pytest.approx(report["operations"] / report["seconds"] / report["product_rate"])
    assert report["sequential_phases"] is None and report["hidden_share"] is None
    assert report["kernels"] and report["computed_by"] == {"Cart": "native"}
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_overlap_is_compared_with_the_training_without(worldloom):
    report = report_of(worldloom, "CartPole-v1", "--overlap", *ROLLOUT)
    assert set(report["phases"]) == {"roll-out and update"}
    assert set(report["sequential_phases"]) == {"roll-out", "update"}
    shorter = min(report["sequential_phases"].values())
    assert report["hidden_share"] == pytest.approx(
        (sum(report["sequential_phases"].values()) - report["seconds"]) / shorter
    )


def test_operations_are_not_counted_for_other_algorithms(worldloom):
    report = report_of(worldloom, "CartPole-v1", "--algo", "dqn")
    assert report["operations"] is None and report["product_share"] is None


def test_the_table(worldloom):
    code, out, _ = worldloom("bench", "train", "CartPole-v1", *SMALL)
    assert code == 0
    assert "CartPole-v1 with ppo on cpu, 8 worlds" in out and "Phases: roll-out" in out and "aten::" in out


def test_operations_are_those_of_the_layers():
    policy = PolicyConfig(hidden=(32, 16), trunks="shared")
    config = PPOConfig(num_envs=4, num_steps=8, epochs=3, minibatches=2, device="cpu", policy=policy)
    trainer = PPO("CartPole-v1", config)
    multiplications = 4 * 32 + 32 * 16 + 16 * 2 + 16 * 1
    assert count_operations(trainer) == (1 + 3 * 3) * 4 * 8 * 2 * multiplications


@pytest.mark.parametrize("name", ["iterations", "kernels"])
def test_counts_below_one(worldloom, name):
    code, _, err = worldloom("bench", "train", "CartPole-v1", *SMALL, f"--{name}", "0")
    assert code == 2 and name in err


def test_no_world(worldloom):
    code, _, err = worldloom("bench", "train")
    assert code == 2 and "worldloom bench train CartPole-v1" in err
