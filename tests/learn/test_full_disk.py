"""A full disk is reported in one sentence, and the run stays whole."""

import itertools
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from finished_runs import SETTINGS, contents

from worldloom.core.base.errors import InputError
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import RunFolder, read_metrics
from worldloom.learn.runs.training_run import TrainingRequest, run_training
from worldloom.learn.training.progress import Progress


def test_a_full_disk_at_a_checkpoint_is_told_in_one_sentence(tmp_path, monkeypatch):
    saved = Checkpoints(tmp_path)
    saved.save({"w": torch.zeros(1000)}, {}, iteration=1, steps=1)
    before = contents(tmp_path)

    def full(tensors, path):
        path.write_bytes(b"half")
        raise safetensors.SafetensorError(
            'Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })'
        )

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(InputError) as caught:
        saved.save({"w": torch.zeros(1000)}, {}, iteration=2, steps=2)
    sentence = str(caught.value)
    assert (
        sentence.startswith(f"checkpoint {tmp_path / 'iteration_00000002'} cannot be written (")
        and "No space left on device" in sentence
    )
    assert (
        "4,000 bytes are needed and " in sentence
        and " bytes are free on the disk of " in sentence
        and "\n" not in sentence
    )
    assert contents(tmp_path) == before


def test_a_full_disk_while_metrics_are_written_is_told(tmp_path):
    folder = RunFolder(tmp_path / "run", {})
    os.dup2(os.open("/dev/full", os.O_WRONLY), folder._metrics.fileno())
    match = (
        r"metrics\.jsonl cannot be written \(No space left on device\): "
        r"\d+ bytes are needed and [\d,]+ bytes are free"
    )
    with pytest.raises(InputError, match=match), folder:
        folder.write(Progress(1, 10, 100, 1.0, 10.0, {}))
    with RunFolder(tmp_path / "run", {}, resume=True):
        pass


def test_the_training_ends_in_good_order_on_a_full_disk(tmp_path, monkeypatch):
    """What was saved before stays, and goes on once there is room."""
    request = TrainingRequest("CartPole-v1", "ppo", SETTINGS["ppo"], run_dir=tmp_path / "run", checkpoint_every=1e-6)
    attempts = itertools.count(1)

    def full_at_the_second(tensors, path):
        if next(attempts) == 2:
            raise OSError(28, "No space left on device")
        Path(path).write_bytes(safetensors.torch.save(tensors))

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.torch, "save_file", full_at_the_second)
        with pytest.raises(InputError, match=r"checkpoint .*iteration_00000002 cannot be written"):
            run_training(request)
    outcome = run_training(replace(request, resume="yes"))
    assert outcome.complete and [row["iteration"] for row in read_metrics(tmp_path / "run")] == [1, 2, 3]


def test_a_full_disk_while_events_are_written_is_told_once(tmp_path, monkeypatch, capfd):
    """TensorBoard writes them in a thread, whose traceback would follow the sentence."""
    pytest.importorskip("tensorboard")
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder = RunFolder(tmp_path / "run", {})

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RecordWriter, "write", full)
    with pytest.raises(InputError, match="No space left on device") as caught, folder:
        for iteration in range(1, 200):
            folder._last_event = -1.0
            folder.write(Progress(iteration, 10 * iteration, 10**6, 1.0, 10.0, {}))
            time.sleep(0.01)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert "Traceback" not in capfd.readouterr().err
    with RunFolder(tmp_path / "run", {}, resume=True):
        pass
