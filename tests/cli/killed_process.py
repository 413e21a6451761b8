"""A command in a process of its own that kills itself at a given moment of a training, so that tests need not wait."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence

PROGRAM = """
import importlib, os, signal, sys
from worldloom.cli.main import main

module, name, folder, iteration, *command = sys.argv[1:]
callback = getattr(importlib.import_module(module), name)
on_iteration = callback.on_iteration

def kill_at_iteration(self, trainer, progress):
    on_iteration(self, trainer, progress)
    path = getattr(self.folder, "path", self.folder)
    if path.name == folder and progress.iteration == int(iteration):
        os.kill(os.getpid(), signal.SIGKILL)

callback.on_iteration = kill_at_iteration
sys.exit(main(command))
"""


def run_until_killed(callback: type, folder: str, iteration: int, command: Sequence[str]) -> None:
    """Run a command that is killed after an iteration of the training in ``folder``.

    Args:
        callback: The class of the callback with that folder. It must be called in the command's own process.
        folder: Name of the folder of the training.
        iteration: Iteration of the training.
        command: Arguments of ``worldloom``.
    """
    where = [callback.__module__, callback.__name__, folder, str(iteration)]
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *where, *command], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
