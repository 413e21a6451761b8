"""A training under torchrun that loses processes goes on by itself from its last checkpoint."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from thorough import THOROUGH, only_thorough

from worldloom.core.base.errors import InputError
from worldloom.learn import PPOConfig
from worldloom.learn.distributed import ranks
from worldloom.learn.distributed.ranks import OWN_STORE, join_process_group, launch_id
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


def _command(folder: Path, *launcher: str) -> list[str]:
    """A training under torchrun, with these options of torchrun, that saves a checkpoint all the time."""
    sizes = ("--num-envs", "8", "--num-steps", "8", "--epochs", "1", "--minibatches", "1")
    training = ("train", "CartPole-v1", "--device", "cpu", "--run-dir", str(folder), "--no-video", *sizes)
    ends = ("--total-steps", str(ITERATIONS * 64), "--checkpoint-every", "0.05")
    launch = (sys.executable, "-m", "torch.distributed.run", "--max-restarts", "3", *launcher)
    return [*launch, "-m", "worldloom", *training, *ends]


@contextmanager
def _started(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process of a command whose output is appended to a file."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **environment}
    with (
        open(log, "a") as output,
        subprocess.Popen(command, env=environment, stdout=output, stderr=output, text=True) as job,
    ):
        try:
            yield job
        finally:
            job.terminate()  # killed, it would leave its processes behind


def _last_checkpoint(folder: Path) -> int:
    """The iteration of the last checkpoint; 0 for none."""
    names = (path.name for path in (folder / "checkpoints").glob("iteration_*"))
    return max((int(name.removeprefix("iteration_")) for name in names), default=0)


def _assert_complete(folder: Path) -> None:
    assert [row["iteration"] for row in read_metrics(folder)] == list(range(1, ITERATIONS + 1))
    assert _last_checkpoint(folder) == ITERATIONS


@only_thorough  # torchrun starts four processes; test_ranks.py trains in two
@linux
def test_killed_processes_are_started_again_and_go_on(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    with _started(_command(folder, "--standalone", "--nproc-per-node", "2"), log) as job:
        for rank, reached in KILLED:
            _await(lambda reached=reached: _last_checkpoint(folder) >= reached, job, log)
            os.kill(_process(job.pid, rank), signal.SIGKILL)
        assert job.wait(PATIENCE_S) == 0, log.read_text()
    _assert_complete(folder)
    assert log.read_text().count("from step") == len(KILLED)  # once after each loss


@only_thorough  # its agent is missed after 15 s
@linux
def test_a_lost_machine_that_is_started_again_joins(tmp_path: Path) -> None:
    """Two machines on the loopback interface: torchrun and its process are killed on the second, and started again."""
    folder, log = tmp_path / "run", tmp_path / "log"
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    rendezvous = ("--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}", "--rdzv-id", "flock")
    command = _command(folder, "--nnodes", "2", "--nproc-per-node", "1", "--local-addr", "localhost", *rendezvous)

    def is_listening() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("localhost", port)) == 0

    with _started(command, log, **{OWN_STORE: "1"}) as first:
        _await(is_listening, first, log)
        with _started(command, log, **{OWN_STORE: "1"}) as second:
            _await(lambda: _last_checkpoint(folder) >= 5, first, log)
            for process in (second.pid, *(pid for rank in (0, 1) if (pid := _process(second.pid, rank)))):
                os.kill(process, signal.SIGKILL)
        with _started(command, log, **{OWN_STORE: "1"}) as second:
            assert first.wait(PATIENCE_S) == second.wait(PATIENCE_S) == 0, log.read_text()
    _assert_complete(folder)
    assert "from step" in log.read_text() and OWN_STORE not in log.read_text()


TORCHRUN = {"RANK": "0", "WORLD_SIZE": "1", "GROUP_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "flock"}
TORCHRUN |= {"TORCHELASTIC_MAX_RESTARTS": "3", "PET_NNODES": "2", "PET_RDZV_BACKEND": "c10d"}


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        ({}, 1),
        ({"GROUP_WORLD_SIZE": "1", "PET_NNODES": "1:4"}, 1),  # others may come
        ({OWN_STORE: "0"}, 1),
        ({OWN_STORE: "1"}, 0),
        ({"RANK": "1"}, 0),
        ({"GROUP_WORLD_SIZE": "1", "PET_NNODES": "1"}, 0),
        ({"PET_RDZV_BACKEND": "static"}, 0),
        ({"TORCHELASTIC_MAX_RESTARTS": "0"}, 0),
    ],
)
def test_machines_that_cannot_join_again_are_told(
    change: dict[str, str], warned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(OWN_STORE, raising=False)
    for name, value in {**TORCHRUN, **change}.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        join_process_group("cpu")
    assert [f"set {OWN_STORE}=1 on all machines" in str(warning.message) for warning in caught] == [True] * warned


def test_options_are_those_of_the_command_that_started_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    command = "python\0-m\0torch.distributed.run\0--nnodes=1:4\0--rdzv_backend\0c10d\0train.py\0"
    monkeypatch.setattr(ranks, "_read", lambda file: command)
    monkeypatch.setenv("PET_NNODES", "2")
    assert ranks._torchrun_option("nnodes") == "1:4" and ranks._torchrun_option("rdzv-backend") == "c10d"
    assert ranks._torchrun_option("rdzv-id") == ""


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
