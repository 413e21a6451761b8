"""The Ray launcher: two workers of a cluster on this machine train together, and go on after one is lost."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from thorough import only_thorough

from worldloom.core.base.errors import InputError
from worldloom.learn import PPOConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.metrics_reader import MetricsReader
from worldloom.learn.runs.ray_training import StopFile, train_with_ray
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.training_run import TrainingRequest, run_training

PATIENCE_S = 270.0
ITERATIONS = 120
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'worldloom[cluster]'"
)
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the processes in /proc")


def _descendants(parent: int) -> dict[int, str]:
    """Every process below ``parent``, with its name."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    below = {parent}
    while more := {p for p, above in parents.items() if above in below} - below:
        below |= more
    return {p: names[p] for p in below - {parent}}


def _has_worker(processes: dict[int, str]) -> bool:
    """Whether a training process of Ray is among them. Ray changes its name when it begins to work."""
    return any(name.startswith("ray::RayTrainWorker") for name in processes.values())


def _train(folder: Path, workers: int, *options: str) -> subprocess.Popen[str]:
    """``worldloom train --launcher ray`` in a process of its own."""
    command = [sys.executable, "-m", "worldloom", "train", "CartPole-v1", "--launcher", "ray", "--device", "cpu"]
    sizes = ["--workers", str(workers), "--num-envs", "8", "--minibatches", "1"]
    hidden = {
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_TMPDIR": "/tmp",
    }
    return subprocess.Popen(
        [*command, *sizes, *options, "--run-dir", str(folder), "--no-video"],
        env={k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | hidden,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _exists(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@only_thorough  # Ray starts for half a minute; test_sigterm_deadline.py ends a long iteration without it
@needs_ray
@needs_proc
def test_sigterm_ends_it_in_a_long_iteration(tmp_path: Path) -> None:
    """The only iteration would take hours."""
    folder = tmp_path / "run"
    with _train(folder, 1, "--num-steps", "20000", "--epochs", "1000000", "--total-steps", "1e9") as job:
        try:
            end = time.monotonic() + PATIENCE_S
            started: dict[int, str] = {}
            while not _has_worker(started) and job.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
                if (folder / "config.json").exists():
                    started = _descendants(job.pid)
            job.send_signal(signal.SIGTERM)
            _, complaint = job.communicate(timeout=PATIENCE_S)
        finally:
            job.kill()
    assert job.returncode == 143, complaint
    assert "the iteration was aborted; the last checkpoint is kept" in complaint
    assert _has_worker(started)
    while alive := [process for process in started if _exists(process)]:  # Ray ends them after the command
        assert time.monotonic() < end, [started[process] for process in alive]
        time.sleep(0.1)


@only_thorough  # a cluster of a dozen processes; test_elastic.py loses a process under torchrun
@needs_ray
@needs_proc
def test_two_workers_train_and_go_on_after_one_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    sizes = ("--epochs", "1", "--num-steps", "8", "--total-steps", str(ITERATIONS * 64), "--checkpoint-every", "0.05")
    with _train(folder, 2, *sizes, "--json") as job:
        try:
            end = time.monotonic() + PATIENCE_S
            while (
                len(list((folder / "checkpoints").glob("iteration_*"))) < 2
                and job.poll() is None
                and time.monotonic() < end
            ):
                time.sleep(0.02)
            workers = [p for p, name in _descendants(job.pid).items() if name.startswith("ray::RayTrainWorker")]
            if workers:
                os.kill(workers[0], signal.SIGKILL)
            said, complaint = job.communicate(timeout=PATIENCE_S)
        finally:
            job.terminate()
    assert job.returncode == 0, complaint
    assert len(workers) == 2
    report = json.loads(said)
    assert report["complete"] and report["iterations"] == ITERATIONS and report["folder"] == str(folder)
    assert [row["iteration"] for row in read_metrics(folder)] == list(range(1, ITERATIONS + 1))
    latest = Checkpoints(folder / "checkpoints").latest()
    assert latest is not None and latest.name == f"iteration_{ITERATIONS:08d}"
    assert (folder / "curve.png").is_file()
    assert f"iteration {ITERATIONS}," in complaint  # what the workers did is shown where they were started


def test_what_cannot_be_asked_for_is_said_before_a_cluster_is_started(tmp_path: Path) -> None:
    request = TrainingRequest("CartPole-v1", "ppo", PPOConfig(num_envs=9, device="cpu"), run_dir=tmp_path / "run")
    with pytest.raises(InputError, match="9 worlds cannot be shared evenly by 2 processes"):
        train_with_ray(request, 2)
    with pytest.raises(InputError, match="workers must be 1 or more, not 0"):
        train_with_ray(request, 0)
    with pytest.raises(InputError, match="holds none"):
        train_with_ray(replace(request, resume="yes"), 3)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="already holds a run"):
        train_with_ray(request, 3)


def test_rows_are_shown_once_while_they_are_written(tmp_path: Path) -> None:
    def row(iteration: int) -> str:
        return (
            json.dumps(
                {
                    "iteration": iteration,
                    "steps": 10 * iteration,
                    "seconds": 1.0,
                    "steps_per_second": 5.0,
                    "episode/return": None,
                }
            )
            + "\n"
        )

    file = tmp_path / "metrics.jsonl"
    rows = MetricsReader(file, 100)
    assert rows.new() == []
    file.write_text(row(1) + row(2) + row(3)[:20])
    first = rows.new()
    assert [p.iteration for p in first] == [1, 2]
    assert (
        first[1].steps == 20
        and first[1].total_steps == 100
        and first[1].metrics["episode/return"] != first[1].metrics["episode/return"]
    )
    with open(file, "a") as stream:
        stream.write(row(3)[20:] + row(4))
    assert [p.iteration for p in rows.new()] == [3, 4]
    again = tmp_path / "again"
    again.write_text(row(1) + row(2))  # started again from iteration 2
    again.replace(file)
    assert rows.new() == []
    with open(file, "a") as stream:
        stream.write(row(3) + row(4) + row(5))
    assert [p.iteration for p in rows.new()] == [5]


def test_a_file_ends_the_training_in_good_order(tmp_path: Path) -> None:
    config = PPOConfig(num_envs=4, num_steps=4, epochs=1, minibatches=1, device="cpu", total_steps=10_000)
    (tmp_path / "stop").touch()
    outcome = run_training(
        TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "run"), [StopFile(tmp_path / "stop")]
    )
    assert outcome.iteration == 1 and not outcome.complete
    assert [path.name for path in Checkpoints(outcome.folder / "checkpoints").all()] == ["iteration_00000001"]
