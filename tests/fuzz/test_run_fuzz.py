"""Small counts of the fuzzers of run folders, with fixed seeds: trainings killed at random moments, and folders damaged at random."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or not Path("/proc/self/task").is_dir(), reason="needs fork, and Linux to see threads"
)


def run(script, *arguments):
    """Run a fuzzer in a process of its own, which must have one thread only; returns what it printed."""
    command = [sys.executable, str(HERE / script), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=HERE)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_trainings_outlive_kills_at_random_moments():
    said = run("kill_runs.py", "--kills", "8", "--seed", "3", "--every", "0.01", "--longest", "0.8")
    assert "8 kills with seed 3" in said and "ppo: Result(kills=4" in said and "dqn: Result(kills=4" in said


def test_damaged_runs_are_refused_or_resumed():
    said = run("corrupt_runs.py", "--count", "24", "--seed", "7")
    assert "24 damaged runs with seed 7" in said and "refused" in said and "resumed" in said and "failure" not in said
