"""The end of the process of the command: exit code, exit handlers, output, and other threads."""

import subprocess
import sys
from pathlib import Path

import pytest
from thorough import sample

PROGRAM = """
import atexit, sys, threading, time
from worldloom.cli import entry_point

class Garbage:
    def __del__(self):
        print("torn down")

sys.garbage = Garbage()
atexit.register(print, "exit handler")
{thread}
print("output", end="")
entry_point.exit_quickly({code})
"""
THREAD = "threading.Thread(target=lambda: (time.sleep(0.2), print('thread')), daemon={daemon}).start()"


def run(thread="", code=0):
    program = PROGRAM.format(thread=thread, code=code)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", sample([143, 0, 2], 1))
def test_exit_handlers_run_and_objects_are_not_torn_down(code):
    done = run(code=code)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == "outputexit handler\n"


def test_other_threads_are_waited_for():
    done = run(THREAD.format(daemon=False), code=2)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("outputthread\nexit handler\n")


def test_daemon_threads_are_not_waited_for():
    assert run(THREAD.format(daemon=True)).stdout == "outputexit handler\n"


def exit_with(code, redirection):
    """The result of a program that prints and exits, with its output redirected by the shell; buffered."""
    program = f"print('text'); from worldloom.cli import entry_point; entry_point.exit_quickly({code})"
    command = f'set -o pipefail; PYTHONUNBUFFERED= "$0" -c "$1" {redirection}'
    return subprocess.run(["bash", "-c", command, sys.executable, program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirection", sample([">&- 2>&-", ">&-", "| true", "2>&-"], 2))
def test_closed_output_keeps_the_exit_code(redirection):
    done = exit_with(3, redirection)
    assert (done.returncode, done.stderr) == (3, "")


def command(arguments, redirection):
    program = "from worldloom.cli.entry_point import run; run()"
    line = f'set -o pipefail; "$0" -c "$1" {arguments} {redirection}'
    return subprocess.run(["bash", "-c", line, sys.executable, program], capture_output=True, text=True, check=False)


def test_a_reader_that_ends_early_is_no_error_of_a_command():
    done = command("list", "| head -1")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named_by_a_command():
    done = command("list", "> /dev/full")
    assert done.returncode == 2
    assert done.stderr == "worldloom: cannot write the output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_an_error():
    done = exit_with(0, "> /dev/full")
    assert done.returncode == 2
    assert "the output cannot be written (No space left on device)" in done.stderr
