"""A small sample of the fuzzers of run folders: trainings killed at random moments, and folders damaged at random."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import only_thorough

HERE = Path(__file__).parent

pytestmark = [
    only_thorough,  # test_killed_trainer.py kills a training, and test_damaged_runs.py damages folders
    pytest.mark.skipif(
        not hasattr(os, "fork") or not Path("/proc/self/task").is_dir(), reason="needs fork, and Linux to see threads"
    ),
]


PROGRAM = """
import sys
import corrupt_runs, kill_runs
sys.argv[1:] = "--kills 2 --seed 3 --every 0.01 --longest 0.4".split()
kill_runs.main()
sys.argv[1:] = "--count 8 --seed 7".split()
sys.exit(corrupt_runs.main())
"""


@pytest.fixture(scope="module")
def output():
    """The output of both fuzzers in a process of their own, which must have only one thread."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=HERE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_trainings_outlive_kills_at_random_moments(output):
    assert "2 kills with seed 3" in output and "ppo: Result(kills=1" in output and "dqn: Result(kills=1" in output


def test_damaged_runs_are_refused_or_resumed(output):
    assert "8 damaged runs with seed 7" in output and "refused" in output and "resumed" in output
    assert "failure" not in output
