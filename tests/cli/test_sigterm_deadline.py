"""SIGTERM ends a training within seconds, also in the middle of a long iteration."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs_compared import FEW

from worldloom.cli.training import stop_on_signal
from worldloom.cli.training.stop_on_signal import StopOnSignal, TrainingAborted
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.runs import run_recorder
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import RunFolder
from worldloom.learn.runs.run_recorder import RunRecorder

HANGS_S = 100
"""Much longer than the deadline, much shorter than the iteration."""


TELL_ITERATION = """
import sys
from worldloom.cli.main import main
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer

iterate = OnPolicyTrainer.iterate

def tell(trainer):
    print("iterates", flush=True)
    return iterate(trainer)

OnPolicyTrainer.iterate = tell
sys.exit(main(sys.argv[1:]))
"""


def test_a_long_iteration_is_aborted(tmp_path):
    """The only iteration would take hours."""
    endless = ("--num-steps", "20000", "--minibatches", "1", "--epochs", "1000000", "--total-steps", "1e9")
    command = [sys.executable, "-c", TELL_ITERATION, "train", "CartPole-v1", *FEW, *endless]
    command += ["--run-dir", str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "iterates\n":
                break
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=HANGS_S)
    assert process.returncode == 143, output
    assert "the iteration was aborted; the last checkpoint is kept" in output


def test_the_main_thread_is_interrupted(monkeypatch):
    monkeypatch.setattr(stop_on_signal, "ABORT_AFTER_S", 0.05)
    with pytest.raises(TrainingAborted), StopOnSignal() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(HANGS_S)
    assert stopping.code == 143


def test_a_later_deadline_of_a_cluster(monkeypatch):
    monkeypatch.setattr(stop_on_signal, "ABORT_AFTER_S", 0.0)
    with StopOnSignal(abort_after_s=HANGS_S) as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
    assert stopping.code == 143 and signal.set_wakeup_fd(-1) == -1
    assert stop_on_signal.ABORT_RAY_AFTER_S < stop_on_signal.EXIT_AFTER_S


STUCK = """
import multiprocessing, os, signal, time
from worldloom.cli.training import stop_on_signal

class Saving:
    in_iteration = False
    def stop(self): pass

if __name__ == "__main__":
    stop_on_signal.ABORT_AFTER_S, stop_on_signal.EXIT_AFTER_S = 0.1, 0.2
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(1000,))
    child.start()
    print(child.pid, flush=True)
    with stop_on_signal.StopOnSignal() as stopping:
        stopping.on_start(Saving())
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            time.sleep(0.01)
"""


def test_a_process_that_does_not_end_exits_with_its_children(tmp_path):
    (tmp_path / "stuck.py").write_text(STUCK)
    ended = subprocess.run([sys.executable, tmp_path / "stuck.py"], capture_output=True, text=True, timeout=HANGS_S)
    assert ended.returncode == 143, ended.stderr
    for _ in range(100):  # until the child is reaped
        try:
            os.kill(int(ended.stdout), 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    state = Path(f"/proc/{int(ended.stdout)}/stat").read_text().rpartition(")")[2].split()[0]
    assert state == "Z"


def test_every_slow_iteration_is_followed_by_a_checkpoint(tmp_path, monkeypatch):
    def saved(seconds):
        monkeypatch.setattr(run_recorder, "SLOW_ITERATION_S", seconds)
        with RunFolder(tmp_path / str(seconds), {}, keep=9) as folder:
            config = PPOConfig(num_envs=2, num_steps=4, total_steps=24, device="cpu")
            PPO("CartPole-v1", config).learn(callbacks=RunRecorder(folder, every_s=1e9))
        return [path.name for path in Checkpoints(tmp_path / str(seconds) / "checkpoints").all()]

    assert "iteration_00000001" in saved(0.0)
    assert saved(1e9) == ["iteration_00000003"]
