"""The training of one trial: what ends the trial, and what ends the sweep."""

import pytest
import torch

from worldloom.core.base.errors import StorageError
from worldloom.learn.experiments.sweep import trial_job
from worldloom.learn.experiments.sweep.trial_job import UNWRITABLE, train_trial

MESSAGE = {
    "runs": [
        {
            "request": {"env": "CartPole-v1", "algorithm": "ppo", "config": {"num_envs": 4, "device": "cpu"}},
            "folder": "trial",
        }
    ],
    "objective": "final",
    "target": None,
    "earlier": None,
    "tracking": {"names": []},
}


@pytest.fixture
def train(monkeypatch):
    """Trains a trial whose training raises an error."""

    def train_with(error):
        def fail(request, callbacks):
            raise error

        monkeypatch.setattr(trial_job, "run_training", fail)
        return train_trial(MESSAGE)

    return train_with


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("no room"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"),
        RuntimeError("Failed to allocate 4096 bytes on device 'cuda:0'"),
    ],
)
def test_a_training_that_does_not_fit_into_memory_has_failed(train, error):
    answer = train(error)
    assert answer["state"] == "failed" and answer["error"] == f"out of memory: {error}"


def test_a_folder_that_cannot_be_used_is_not_a_result(train):
    assert train(StorageError("the disk is full"))["state"] == UNWRITABLE


def test_other_errors_of_pytorch_end_the_sweep(train):
    with pytest.raises(RuntimeError, match="illegal memory access"):
        train(RuntimeError("CUDA error: an illegal memory access was encountered"))
