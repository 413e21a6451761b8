"""Folders of several trainings: links in them are refused, and only one command at a time trains in them."""

import os
import signal
import subprocess
import sys
import time

import pytest
from runs_compared import FEW, SMALL

from worldloom.cli.main import main
from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.worker_process import WorkerProcess
from worldloom.learn.runs import run_folder

SHORT = ("CartPole-v1", *FEW, *SMALL["ppo"], "--total-steps", "256")
SEARCH = ("--search", "learning_rate=1e-4:1e-2:log")
COMMANDS = {
    "seeds": ("train", *SHORT, "--seeds", "0"),
    "sweep": ("sweep", *SHORT, *SEARCH, "--trials", "1", "--pruner", "none"),
    "pbt": ("pbt", *SHORT, *SEARCH, "--population", "2", "--generation-steps", "256"),
}
MORE = {
    "seeds": ("train", "--seeds", "0,5"),
    "sweep": ("sweep", "--trials", "2"),
    "pbt": ("pbt",),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A finished experiment of each kind."""
    pytest.importorskip("optuna")
    root = tmp_path_factory.mktemp("experiments")
    for name, command in COMMANDS.items():
        assert main([*command, "--run-dir", str(root / name)]) == 0
    return root


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("seeds", "seed_5"), ("seeds", "seed_5.log"), ("sweep", "trial_0001"), ("sweep", "trial_0001.log")),
        *(("sweep", "trial_0001/seed_0"), ("pbt", "member_00.log"), ("pbt", "member_01")),
    ],
)
def test_links_are_refused_and_not_written_through(worldloom, folders, tmp_path, kind, name):
    (tmp_path / "outside").mkdir()
    link = folders / kind / name
    link.parent.mkdir(exist_ok=True)
    moved = link.with_name("kept")
    if link.exists():
        os.rename(link, moved)
    link.symlink_to(tmp_path / "outside")
    before = sorted((folders / kind).iterdir())
    try:
        code, _, err = worldloom(*MORE[kind], "--resume", "--run-dir", folders / kind, "--quiet")
        assert code == 2 and f"{link} is a symbolic link" in err and err.count("\n") == 1
        assert not list((tmp_path / "outside").iterdir()) and sorted((folders / kind).iterdir()) == before
    finally:
        link.unlink()
        if moved.exists():
            os.rename(moved, link)


def test_a_log_is_not_opened_through_a_link(tmp_path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "log").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="log is a symbolic link"):
        WorkerProcess("json.tool", {}, tmp_path / "log")
    assert (tmp_path / "precious").read_text() == "kept"


LOCKED = """
import sys, time
from pathlib import Path
from worldloom.learn.runs.run_folder import locked
files = [locked(Path(folder)) for folder in sys.argv[1:]]
print("locked", flush=True)
time.sleep(1000)
"""


def test_a_second_command_is_refused_until_the_first_has_ended(worldloom, folders, monkeypatch):
    paths = [folders / kind for kind in COMMANDS]
    with subprocess.Popen([sys.executable, "-c", LOCKED, *paths], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "locked\n"
        for kind, folder in zip(COMMANDS, paths, strict=True):
            monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 0.1)
            content = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
            code, _, err = worldloom(*MORE[kind][:1], "--resume", "--run-dir", folder, "--quiet")
            assert code == 2 and f"another process is training in {folder}" in err and err.count("\n") == 1
            assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == content
        first.send_signal(signal.SIGKILL)
    monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 60.0)
    for kind, folder in zip(COMMANDS, paths, strict=True):
        assert worldloom(*MORE[kind][:1], "--resume", "--run-dir", folder, "--quiet")[0] == 0


def test_a_second_command_is_refused_at_the_folder_of_the_seeds(worldloom, tmp_path, monkeypatch):
    """And not only once it comes to a seed that the first one trains."""
    monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 0.1)
    folder = tmp_path / "runs"
    command = [sys.executable, "-m", "worldloom", *COMMANDS["seeds"], "--total-steps", "1e9", "--run-dir", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as first:
        try:
            while first.poll() is None and not (folder / "seed_0" / "metrics.jsonl").is_file():
                time.sleep(0.05)
            code, _, err = worldloom("train", "--resume", "--run-dir", folder, "--seeds", "0,5", "--quiet")
        finally:
            first.kill()
    assert code == 2 and f"another process is training in {folder}:" in err
    assert not (folder / "seed_5").exists()
