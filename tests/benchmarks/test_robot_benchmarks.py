"""The benchmark of returns on both devices and in Gymnasium's environments, with a small run on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.runs.training_run import run_training

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from robot_returns import Compare, Play, Transfer, kolmogorov_smirnov


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "pole"
    config = PPOConfig(num_envs=4, num_steps=8, minibatches=1, total_steps=64, device="cpu")
    run_training(TrainingRequest("InvertedPendulum-v5", "ppo", config, run_dir=folder))
    return folder


def test_returns_of_a_policy_are_compared(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for seed, file in enumerate(files):
        Play(file, run=str(run), episodes=40, seed=seed).main()
    Compare(*files).main()
    assert "p = " in capsys.readouterr().out


def test_a_policy_plays_in_the_environment_of_gymnasium(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Transfer(run, episodes=3).main()
    assert "InvertedPendulum-v5 in Gymnasium: mean " in capsys.readouterr().out


def test_the_test_of_two_samples_finds_a_shift() -> None:
    sample = np.sort(np.random.default_rng(0).normal(size=400))
    other = np.sort(np.random.default_rng(1).normal(size=400))
    assert kolmogorov_smirnov(sample, other)[1] > 0.05
    assert kolmogorov_smirnov(sample, other + 0.3)[1] < 0.001
