"""The command line as a whole: help, version, exit codes, and start-up imports."""

import gc
import importlib.metadata
import subprocess
import sys

import pytest
import warp as wp

from worldloom.cli.commands import list as list_command
from worldloom.cli.main import _is_on_cpu
from worldloom.core.base.capture import gc_disabled


def test_version(worldloom, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"worldloom": "1.2.3"}[name])
    assert worldloom("--version") == (0, "worldloom 1.2.3\n", "")


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ([], "doctor"),
        (["train"], "--run-dir"),
        (["eval"], "--episodes"),
        (["play"], "--video"),
        (["list"], "--json"),
        (["doctor"], "--json"),
        (["check"], "--no-sync"),
        (["bench"], "systems"),
        (["bench", "step"], "--against"),
        (["bench", "systems"], "--steps"),
        (["bench", "start"], "--device"),
        (["new"], "--into"),
    ],
)
def test_every_command_has_help(worldloom, command, word):
    code, out, _ = worldloom(*command, "--help")
    assert code == 0
    assert word in out


def test_an_unknown_command_is_refused(worldloom):
    code, out, err = worldloom("chekc")
    assert code == 2
    assert "chekc" in out + err


def test_errors_are_one_line_without_a_traceback(worldloom):
    code, out, err = worldloom("check", "CartPol-v1")
    assert (code, out) == (2, "")
    assert err.startswith("worldloom: there is no world 'CartPol-v1'; did you mean CartPole-v1")
    assert err.count("\n") == 1


def test_an_interrupt_is_quiet(worldloom, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(list_command.List, "run", interrupted)
    assert worldloom("list") == (130, "", "")


def test_starting_does_not_import_torch():
    subprocess.run(
        [sys.executable, "-c", "import sys, worldloom.cli.main; assert 'torch' not in sys.modules"], check=True
    )


def test_the_process_gives_its_exit_code():
    failed = subprocess.run(
        [sys.executable, "-m", "worldloom.cli", "check", "No-v0"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr


def test_the_garbage_collector_pauses_during_imports_only():
    with pytest.raises(ValueError, match="inside"), gc_disabled():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled()


def test_modules_of_the_training_are_frozen_at_their_first_import():
    """The garbage collector does not traverse them again; a second call freezes nothing, which would be a leak.

    The modules of other commands are not imported.
    """
    program = (
        "import gc, sys; from worldloom.cli.main import import_training\n"
        "import_training(on_cpu=True)\n"
        "others = {'worldloom.cli.commands.bench', 'worldloom.robots.robots_command', 'worldloom.cli.command_list'}\n"
        "assert not others & set(sys.modules)\n"
        "first = gc.get_freeze_count()\n"
        "assert 'torch' in sys.modules and gc.isenabled() and first > 100_000, first\n"
        "import_training(on_cpu=True); assert gc.get_freeze_count() <= first"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("arguments", "gpus", "on_cpu"),
    [
        ([], 0, True),
        ([], 1, False),
        (["--device", "cpu"], 1, True),
        (["--device=cpu"], 1, True),
        (["--device", "cuda:0"], 0, False),
        (["--device"], 1, False),
    ],
)
def test_headers_are_precompiled_for_trainings_on_the_cpu(monkeypatch, arguments, gpus, on_cpu):
    monkeypatch.setattr(wp, "get_cuda_device_count", lambda: gpus)
    assert _is_on_cpu(["train", "CartPole-v1", *arguments]) is on_cpu
