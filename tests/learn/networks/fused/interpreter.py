"""Runs the tests of a file by Triton's interpreter, which needs no GPU."""

import os
import subprocess
import sys

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def assert_passes(file: str) -> None:
    """In a process of its own, those that compare: Triton decides at its import whether kernels are interpreted."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", "agrees"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
