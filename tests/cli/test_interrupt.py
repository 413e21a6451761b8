"""Ctrl-C while the command loads prints no traceback, at any moment."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from thorough import covering

from worldloom.core.base import interrupt


def tell_imports(folder):
    """Let processes with ``folder`` on their path make the file TELL when they import the module TELL_AT."""
    (folder / "sitecustomize.py").write_text(
        "import importlib.abc, os, sys\n"
        "class Tell(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == os.environ['TELL_AT']:\n"
        "            open(os.environ['TELL'], 'w').close()\n"
        "sys.meta_path.insert(0, Tell())\n"
    )


def start(command, **options):
    """A process that handles Ctrl-C; a shell starts background programs with SIGINT ignored, which is inherited."""
    return subprocess.Popen(
        command,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


COMMANDS = [[sys.executable, "-m", "worldloom", "list"], [sys.executable, "-m", "worldloom.cli", "list"]]
if shutil.which("worldloom", path=str(Path(sys.executable).parent)):
    COMMANDS.append([str(Path(sys.executable).parent / "worldloom"), "list"])


@pytest.mark.parametrize(("command", "at"), covering(COMMANDS, ["warp", "worldloom.envs", "tyro"]))
def test_ctrl_c_while_loading(command, at, tmp_path):
    marker = tmp_path / "marker"
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TELL": str(marker), "TELL_AT": at}
    tell_imports(tmp_path)
    process = start(command, env=environment, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not marker.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert marker.exists()
    assert "Traceback" not in err
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "original", "expected"),
    [
        (["/usr/bin/worldloom", "train"], ["python", "/usr/bin/worldloom", "train"], True),
        (["C:/Scripts/worldloom.exe"], ["python"], True),
        (["-m", "list"], ["python", "-m", "worldloom", "list"], True),
        (["-m"], ["python", "-X", "dev", "-m", "worldloom.cli"], True),
        (["-m", "worldloom"], ["python", "-m", "pytest", "worldloom"], False),
        (["my_program.py"], ["python", "my_program.py"], False),
        (["worldloom.py"], ["python", "worldloom.py"], False),
        ([], [], False),
        ([""], ["python"], False),
    ],
)
def test_which_programs_are_the_command(arguments, original, expected):
    assert interrupt.is_command(arguments, original) is expected


def test_a_program_that_imports_worldloom_keeps_its_handler():
    script = "import signal, worldloom; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert start([sys.executable, "-c", script]).communicate(timeout=60)[0].strip() == "True"
