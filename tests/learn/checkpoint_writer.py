"""A process that writes checkpoints until it is killed.

It imports PyTorch once and forks a writer for each line that it reads. ``write FOLDER``: save without end; its process
id is printed, to be killed. ``die FOLDER N``: save a few times and die at the N-th call that changes the file system.
The exit code is printed last.
"""

import itertools
import os
import shutil
import sys
from pathlib import Path

import safetensors.torch
import torch

from worldloom.learn.runs.checkpoints import Checkpoints

DIED = 7
SAVES = 4


def save_on(folder: Path, saves: int | None) -> None:
    """Go on from the latest checkpoint, as a resumed run does; every third iteration is saved twice."""
    checkpoints = Checkpoints(folder, keep=1)
    checkpoints.remove_leftovers()
    latest = checkpoints.latest()
    start = checkpoints.load(latest).iteration if latest is not None else 0
    for i in itertools.count(start + 1) if saves is None else range(start + 1, start + 1 + saves):
        for _ in range(2 if i % 3 == 0 else 1):
            tensors = {"weights": torch.full((5000,), float(i)), "order": torch.arange(1000) + i}
            checkpoints.save(tensors, {"iteration": i}, iteration=i, steps=100 * i, score=float(-i % 5))


def die_at_call(n: int) -> None:
    """Let the process vanish right before the ``n``-th renaming, flushing, making, writing or deleting."""
    calls = itertools.count(1)
    calling = [(os, name) for name in ("rename", "fsync", "mkdir", "unlink", "rmdir")]
    for module, name in [*calling, (shutil, "rmtree"), (safetensors.torch, "save_file"), (Path, "write_text")]:

        def dying(*arguments, original=getattr(module, name), **options):
            if next(calls) == n:
                os._exit(DIED)
            return original(*arguments, **options)

        setattr(module, name, dying)
    shutil._use_fd_functions = False  # the plain form of rmtree looks the functions up in os, where they were replaced


def main() -> None:
    torch.set_num_threads(1)
    print("ready", flush=True)
    for line in sys.stdin:
        command, folder, *call = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            if command == "die":
                die_at_call(int(call[0]))
            save_on(Path(folder), SAVES if command == "die" else None)
            os._exit(0)
        if command == "write":
            print(child, flush=True)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, flush=True)


if __name__ == "__main__":
    main()
