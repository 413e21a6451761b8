"""A training under torchrun that loses processes goes on by itself from its last checkpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from thorough import THOROUGH, only_thorough

from worldloom.core.base.errors import InputError
from worldloom.learn import PPOConfig
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.training_run import TrainingRequest, run_training

PATIENCE_S = 120.0
ITERATIONS = 120 if THOROUGH else 40
KILLED = ((0, 5), (1, 40)) if THOROUGH else ((0, 5),)
"""The ranks that are killed, and the iteration after which. torchrun starts all processes again whichever is lost."""
linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the processes in /proc")


def _process(parent: int, rank: int) -> int:
    """The process of a rank that ``parent`` started; 0 where there is none now."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            above = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if above == parent and f"RANK={rank}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                return int(folder.name)
        except (OSError, IndexError):
            continue
    return 0


def _await(what: Callable[[], bool], job: subprocess.Popen[str], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert job.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.02)


@only_thorough  # torchrun starts four processes; test_ranks.py trains in two
@linux
def test_killed_processes_are_started_again_and_go_on(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "--max-restarts",
        "3",
    ]
    sizes = [
        "--num-envs",
        "8",
        "--num-steps",
        "8",
        "--epochs",
        "1",
        "--minibatches",
        "1",
        "--total-steps",
        str(ITERATIONS * 64),
    ]
    training = [
        "-m",
        "worldloom",
        "train",
        "CartPole-v1",
        "--device",
        "cpu",
        "--run-dir",
        str(folder),
        *sizes,
        "--checkpoint-every",
        "0.05",
        "--no-video",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}

    def checkpoints() -> int:
        return max(
            (int(p.name.removeprefix("iteration_")) for p in (folder / "checkpoints").glob("iteration_*")), default=0
        )

    with (
        open(log, "w") as output,
        subprocess.Popen([*launcher, *training], env=environment, stdout=output, stderr=output, text=True) as job,
    ):
        try:
            for rank, reached in KILLED:
                _await(lambda reached=reached: checkpoints() >= reached, job, log)
                os.kill(_process(job.pid, rank), signal.SIGKILL)
            assert job.wait(PATIENCE_S) == 0, log.read_text()
        finally:
            job.terminate()  # killed, it would leave its processes behind
    assert [row["iteration"] for row in read_metrics(folder)] == list(range(1, ITERATIONS + 1))
    assert checkpoints() == ITERATIONS
    assert log.read_text().count("from step") == len(KILLED)  # once after each loss


def test_only_the_launch_that_began_a_run_goes_on_with_it_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = PPOConfig(num_envs=4, num_steps=4, epochs=1, minibatches=1, device="cpu", total_steps=32)
    request = TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "run")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "first")
    assert run_training(request).iteration == 2
    assert run_training(replace(request, config=replace(config, total_steps=64))).iteration == 4
    before = json.loads((tmp_path / "run" / "config.json").read_text())
    for other in ("second", ""):
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", other)
        with pytest.raises(InputError, match="already holds a run"):
            run_training(replace(request, config=replace(config, total_steps=96)))
    assert json.loads((tmp_path / "run" / "config.json").read_text()) == before
    assert [row["iteration"] for row in read_metrics(tmp_path / "run")] == [1, 2, 3, 4]


def test_a_launch_without_a_name_is_known_by_its_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    from worldloom.learn.distributed.ranks import launch_id

    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert launch_id() == ""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    alike = launch_id()
    assert f":{os.getppid()}" in alike and launch_id() == alike
    if Path("/proc/self/stat").exists():
        started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
        assert f":{os.getppid()}:{started}:" in alike
        monkeypatch.setattr(os, "getppid", os.getpid)
        assert launch_id() != alike
    monkeypatch.setattr(os, "getppid", lambda: 2**30)
    assert ":1073741824" in launch_id()  # nothing is known of it
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job-7")
    assert launch_id() == "job-7"
