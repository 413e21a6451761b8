"""Messages of trainings that end early mention an earlier checkpoint where there is one, and only then."""

import math

import pytest
import safetensors.torch
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn import Callback, PPOConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.training_run import TrainingRequest, run_training
from worldloom.learn.training.divergence_check import DivergedError

SMALL = PPOConfig(num_envs=4, num_steps=8, device="cpu", total_steps=10 * 32)


class Spoil(Callback):
    """Makes a parameter NaN after the third iteration."""

    def on_iteration(self, trainer, progress):
        if progress.iteration == 3:
            with torch.no_grad():
                next(trainer.learners["Cart"].policy.parameters()).fill_(math.nan)


@pytest.mark.parametrize(("checkpoint_every", "kept"), [(1e-6, True), (0.0, False)])
def test_a_training_that_diverges(tmp_path, checkpoint_every, kept):
    request = TrainingRequest("CartPole-v1", "ppo", SMALL, run_dir=tmp_path / "run", checkpoint_every=checkpoint_every)
    with pytest.raises(DivergedError) as error:
        run_training(request, [Spoil()])
    assert ("iteration_00000003 from before is kept" in str(error.value)) == kept
    assert ("kept" in str(error.value)) == kept


def test_a_full_disk(tmp_path, monkeypatch):
    def fail(tensors, path):
        raise OSError(28, "No space left on device")

    checkpoints = Checkpoints(tmp_path)
    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    with pytest.raises(InputError, match="there is no earlier checkpoint: make room"):
        checkpoints.save({"w": torch.zeros(3)}, {}, iteration=1, steps=1)
    monkeypatch.undo()
    checkpoints.save({"w": torch.zeros(3)}, {}, iteration=1, steps=1)
    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    with pytest.raises(InputError, match="earlier checkpoints are kept: make room"):
        checkpoints.save({"w": torch.zeros(3)}, {}, iteration=2, steps=2)
