"""A small sample of the fuzzers of run folders: trainings killed at random moments, and folders damaged at random."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import THOROUGH, only_thorough

HERE = Path(__file__).parent
WORLDS = ("ppo", "dqn", "sac")

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or not Path("/proc/self/task").is_dir(), reason="needs fork, and Linux to see threads"
)


def output(program, *options):
    """The output of a fuzzer in a process of its own, which must have only one thread."""
    command = [sys.executable, HERE / program, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=HERE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_killed_trainings_equal_those_that_were_not():
    kills = 12 if THOROUGH else 3
    said = output("kill_runs.py", "--kills", str(kills), "--seed", "3", "--every", "0.01", "--longest", "0.1")
    assert f"{kills} kills with seed 3" in said and "equal to one never killed" in said
    counts = [f"{name}: Result(kills={kills // 3}, before_start=0, in_training={kills // 3}" for name in WORLDS]
    assert THOROUGH or all(count in said for count in counts)


@only_thorough  # test_damaged_runs.py damages folders
def test_damaged_runs_are_refused_or_resumed():
    said = output("corrupt_runs.py", "--count", "8", "--seed", "7")
    assert "8 damaged runs with seed 7" in said and "refused" in said and "resumed" in said
    assert "failure" not in said
