"""Trainings that start from the policies of an earlier run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import duel
import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.checkpoint_files import load_checkpoint
from worldloom.learn.runs.run_folder import CHECKPOINTS
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict
from worldloom.learn.runs.training_run import run_training
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.trainer import Trainer

POLICY = PolicyConfig(hidden=(8,), normalize_observations=True)
CONFIG = PPOConfig(
    num_envs=4, num_steps=4, minibatches=1, epochs=1, total_steps=32, device="cpu", policy=POLICY, normalize_values=True
)
REQUEST = TrainingRequest(duel.DUEL.id, "ppo", CONFIG)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    run_training(replace(REQUEST, config=replace(CONFIG, seed=7), run_dir=tmp_path / "earlier"))
    return tmp_path / "earlier"


def tensors_of(run: Path) -> dict[str, torch.Tensor]:
    (checkpoint,) = sorted((run / CHECKPOINTS).iterdir())[-1:]
    return dict(load_checkpoint(checkpoint).tensors)


class FirstTensors(Callback):
    """Keeps the tensors of a training before its first iteration."""

    tensors: dict[str, torch.Tensor]

    def on_start(self, trainer: Trainer) -> None:
        self.tensors = {name: tensor.clone() for name, tensor in trainer.state()[0].items()}


def test_policies_and_their_statistics_are_those_of_the_run(earlier: Path, tmp_path: Path) -> None:
    first = FirstTensors()
    request = replace(REQUEST, start_from=str(earlier), run_dir=tmp_path / "run", checkpoint_every=0.0)
    run_training(request, [first])
    saved = tensors_of(earlier)
    kept = [name for name in saved if "/policy/" in name or "/values/" in name]
    assert len(kept) > 10
    for name in kept:
        assert torch.equal(first.tensors[name], saved[name]), name
    assert any(not torch.equal(tensors_of(tmp_path / "run")[name], saved[name]) for name in kept)


def test_a_run_resumes_without_the_run_that_it_started_from(earlier: Path, tmp_path: Path) -> None:
    request = replace(REQUEST, start_from=str(earlier), checkpoint_every=0.0)
    run_training(replace(request, run_dir=tmp_path / "whole", config=replace(CONFIG, total_steps=64)))
    run_training(replace(request, run_dir=tmp_path / "parts"))
    shutil.rmtree(earlier)
    values = json.loads((tmp_path / "parts" / "config.json").read_text())
    resumed = request_from_dict(values, tmp_path / "parts", "yes")
    assert resumed.start_from == str(earlier)
    run_training(replace(resumed, config=replace(CONFIG, total_steps=64)))
    whole, parts = tensors_of(tmp_path / "whole"), tensors_of(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, parts[name]), name


def test_a_run_without_a_checkpoint_starts_again_from_the_run(earlier: Path, tmp_path: Path) -> None:
    request = replace(REQUEST, start_from=str(earlier), run_dir=tmp_path / "run")
    run_training(request)
    shutil.rmtree(tmp_path / "run" / CHECKPOINTS)
    first = FirstTensors()
    run_training(replace(request, resume="yes"), [first])
    saved = tensors_of(earlier)
    assert all(torch.equal(first.tensors[name], saved[name]) for name in saved if "/policy/" in name)
    shutil.rmtree(tmp_path / "run" / CHECKPOINTS)
    shutil.rmtree(earlier)
    with pytest.raises(InputError, match="earlier"):
        run_training(replace(request, resume="yes"))


def test_frozen_policies_are_those_of_the_run(earlier: Path, tmp_path: Path) -> None:
    request = replace(REQUEST, start_from=str(earlier), frozen=("Defender",), run_dir=tmp_path / "run")
    run_training(request)
    resumed = replace(request, config=replace(CONFIG, total_steps=64), resume="yes")
    run_training(resumed)
    saved, last = tensors_of(earlier), tensors_of(tmp_path / "run")
    names = [name for name in saved if name.startswith("Defender/policy/")]
    assert names and all(torch.equal(saved[name], last[name]) for name in names if "normalizer" not in name)


def test_another_network_is_refused(earlier: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, policy=replace(POLICY, hidden=(9,)))
    request = replace(REQUEST, config=config, start_from=str(earlier), run_dir=tmp_path / "run")
    with pytest.raises(InputError, match=r"cannot start from .*--policy.hidden is \(8,\), not \(9,\)"):
        run_training(request)
    assert not (tmp_path / "run").exists()


def test_a_policy_of_another_algorithm_is_refused(tmp_path: Path) -> None:
    config = DQNConfig(num_envs=4, total_steps=32, learning_starts=8, device="cpu", policy=POLICY)
    run_training(TrainingRequest(REQUEST.env, "dqn", config, run_dir=tmp_path / "dqn"))
    with pytest.raises(InputError, match="trained by dqn, and this training needs one trained by ppo"):
        run_training(replace(REQUEST, start_from=str(tmp_path / "dqn"), run_dir=tmp_path / "run"))


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing-there"):
        run_training(replace(REQUEST, start_from=str(tmp_path / "nothing-there"), run_dir=tmp_path / "run"))
