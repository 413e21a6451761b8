"""A training whose output nobody reads any more goes on; a closed terminal ends it with a checkpoint."""

import errno
import io
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from runs_compared import FEW, SMALL, STEPS

from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.terminal import closed_output
from worldloom.terminal.closed_output import LOG, OutputStream, keep_training_without_output

ITERATIONS = 40
COMMAND = [sys.executable, "-m", "worldloom", "train", "CartPole-v1", *FEW[:-1], *SMALL["ppo"]]


class Broken(io.StringIO):
    """A stream whose reader goes away after the first line."""

    def write(self, text):
        if "\n" in self.getvalue():
            raise OSError(errno.EPIPE, "Broken pipe")
        return super().write(text)


def test_what_cannot_be_printed_goes_to_a_file(tmp_path):
    stream = OutputStream(Broken(), "standard error")
    print("one", file=stream)
    print("two", file=stream)
    assert not list(tmp_path.iterdir())
    stream.set_folder(tmp_path)
    print("three", file=stream)
    first, *lines = (tmp_path / LOG).read_text().splitlines()
    assert first.startswith("worldloom: standard error cannot be written (Broken pipe); the training goes on")
    assert lines == ["two", "three"]


def test_the_panel_of_a_closed_terminal_is_dropped(tmp_path):
    screen = Broken()
    screen.isatty = lambda: True
    stream = OutputStream(screen, "standard error")
    stream.set_folder(tmp_path)
    assert stream.isatty()
    for _ in range(100):
        print("\x1b[2K the panel", file=stream)
    assert not stream.isatty() and (tmp_path / LOG).read_text().count("\n") == 1


def test_the_file_is_not_written_through_a_link(tmp_path, monkeypatch):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOG).symlink_to(tmp_path / "precious")
    monkeypatch.setattr(sys, "stderr", Broken("a\nb\n"))
    with keep_training_without_output():
        closed_output.set_folder(tmp_path / "run")
        print("lost", file=sys.stderr)
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_training_outlives_the_reader_of_its_output(tmp_path):
    """``worldloom train ... 2>&1 | head -1``."""
    folder, steps = tmp_path / "run", ITERATIONS * STEPS["ppo"]
    process = subprocess.Popen(
        [*COMMAND, "--total-steps", str(steps), "--run-dir", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert "preparing the training" in process.stdout.readline()
    process.stdout.close()
    assert process.wait(300) == 0
    assert read_metrics(folder)[-1]["steps"] == steps
    assert Checkpoints(folder / "checkpoints").latest().name == f"iteration_{ITERATIONS:08d}"
    text = (folder / LOG).read_text()
    assert "cannot be written (Broken pipe); the training goes on" in text
    assert f"return {read_metrics(folder)[-1]['episode/return']:.4g}" in text and "worldloom eval" in text


def test_the_table_of_several_seeds_is_in_their_folder(worldloom, tmp_path, monkeypatch):
    """``worldloom train --seeds 0,1 ... | head -1``."""
    monkeypatch.setattr(sys, "stdout", Broken("a\nb\n"))
    command = ("train", "CartPole-v1", *FEW[:-1], *SMALL["ppo"], "--total-steps", str(STEPS["ppo"]))
    assert worldloom(*command, "--seeds", "0,1", "--run-dir", tmp_path)[0] == 0
    assert "mean ± 95 %" in (tmp_path / LOG).read_text()


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_leaves_a_checkpoint(tmp_path, ignored):
    """Without nohup the training stops with a checkpoint; with it it goes on."""
    folder = tmp_path / "run"
    command = [*COMMAND, "--total-steps", str(10**9), "--run-dir", str(folder)]
    child, terminal = pty.fork()
    if child == 0:  # in the new process, whose terminal it is
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
        os.execv(command[0], command)
    metrics, end = folder / "metrics.jsonl", time.monotonic() + 300
    while time.monotonic() < end and not (metrics.is_file() and len(read_metrics(folder)) > 2):
        os.set_blocking(terminal, False)
        try:
            os.read(terminal, 1 << 16)
        except BlockingIOError:
            time.sleep(0.02)
    os.close(terminal)
    if ignored:
        before = len(read_metrics(folder))
        while time.monotonic() < end and len(read_metrics(folder)) < before + 50:
            time.sleep(0.02)
        assert "the training goes on" in (folder / LOG).read_text()
        os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (143 if ignored else 129)
    saved = Checkpoints(folder / "checkpoints")
    assert saved.load(saved.latest()).iteration == read_metrics(folder)[-1]["iteration"]
