"""Ctrl-C and SIGTERM during training: a checkpoint, a hint how to resume, and the exit code."""

import os
import signal
import subprocess
import sys
import time

import pytest
from runs_compared import FEW, SMALL, STEPS, assert_equal_runs, ended
from thorough import sample

from worldloom.cli.main import main
from worldloom.cli.training.stop_on_signal import StopOnSignal
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.run_recorder import RunRecorder

COMMON = ("CartPole-v1", *FEW, *SMALL["ppo"], "--schedule", "linear", "--total-steps", str(6 * STEPS["ppo"]))


@pytest.fixture(autouse=True)
def heeded_hangup():
    """A hangup has its effect also where the tests themselves run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The folder of a training run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    assert main(["train", *COMMON, "--run-dir", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_good_order(worldloom, straight, tmp_path, monkeypatch, number):
    note = RunRecorder.on_iteration

    def on_iteration(self, trainer, progress):
        note(self, trainer, progress)
        if progress.iteration == 3:
            signal.raise_signal(number)

    with monkeypatch.context() as patched:
        patched.setattr(RunRecorder, "on_iteration", on_iteration)
        code, out, _ = worldloom("train", *COMMON, "--run-dir", tmp_path / "parts")
    assert code == 128 + number
    assert f"worldloom train --resume --run-dir {tmp_path / 'parts'}" in out
    assert (tmp_path / "parts" / "curve.png").exists() is (number == signal.SIGINT)  # the others leave no time for it
    assert read_metrics(tmp_path / "parts")[-1]["iteration"] == 3
    assert worldloom("train", *COMMON, "--resume", "auto", "--run-dir", tmp_path / "parts")[0] == 0
    assert_equal_runs(tmp_path / "parts", straight)


def test_the_second_signal_exits_at_once(monkeypatch, capfd):
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    before = signal.getsignal(signal.SIGTERM)
    with StopOnSignal() as stopping:
        signal.raise_signal(signal.SIGTERM)
        assert stopping.code == 143 and not left
        signal.raise_signal(signal.SIGINT)
    assert left == [130]
    assert signal.getsignal(signal.SIGTERM) is before
    assert "repeat to exit at once" in capfd.readouterr().err


def test_a_closed_terminal_may_repeat_its_signal(monkeypatch, capfd):
    """A shell and the system both send SIGHUP, and a service manager after SIGTERM."""
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    for first in (signal.SIGHUP, signal.SIGTERM):
        with StopOnSignal(abort_after_s=1000.0) as stopping:
            signal.raise_signal(first)
            signal.raise_signal(signal.SIGHUP)
        assert stopping.code == 128 + first and stopping.is_urgent and not left
        assert ("repeat to exit at once" in capfd.readouterr().err) == (first == signal.SIGTERM)


def test_an_ignored_hangup_stays_ignored():
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopOnSignal() as stopping:
            signal.raise_signal(signal.SIGHUP)
        assert stopping.received is None
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", sample([signal.SIGTERM, signal.SIGINT], 1))
def test_a_process_that_is_told_to_end_saves(tmp_path, number):
    folder = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "worldloom",
        "train",
        "CartPole-v1",
        "--total-steps",
        str(10**9),
        *FEW,
        *SMALL["ppo"],
        "--run-dir",
        str(folder),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for _ in range(1000):
            if process.poll() is not None or ((folder / "metrics.jsonl").exists() and len(read_metrics(folder)) > 2):
                break
            time.sleep(0.1)
        process.send_signal(number)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 128 + number, said
    assert "--resume" in said
    tensors, _, rows = ended(folder)
    assert (
        tensors
        and rows[-1]["iteration"]
        == Checkpoints(folder / "checkpoints").load(Checkpoints(folder / "checkpoints").latest()).iteration
    )
