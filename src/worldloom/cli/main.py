"""The ``worldloom`` command: parses the arguments, runs one command, and maps errors to one line and an exit code.

Exit codes: 0 success, 1 a check found a difference, 2 invalid request, 130 interrupted (SIGINT), 129 SIGHUP, 143
SIGTERM.
"""

from __future__ import annotations

import errno
import gc
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import tyro
import warp as wp

from worldloom.cli.parsing.numbers import integers
from worldloom.cli.plain_warnings import plain_warnings
from worldloom.core.base import interrupt
from worldloom.core.base.caches import header_cache
from worldloom.core.base.capture import gc_disabled
from worldloom.core.base.errors import WorldloomError
from worldloom.learn.runs.compile_ahead import FIRST, compile_ahead
from worldloom.terminal.closed_output import keep_training_without_output
from worldloom.terminal.console import print_error

DESCRIPTION = (
    "Reinforcement-learning worlds in plain Python, a million at once. "
    "`worldloom COMMAND --help` describes a command; `worldloom --version` prints the version."
)

TRAINING = ("train", "sweep", "pbt", "bench train")
"""The commands that train, whose flags depend on the algorithm."""
QUIET_FLAGS = {"-h", "--help", "--quiet", "--json"}
"""Flags of ``train`` that suppress progress output."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk."""


class Command(Protocol):
    """A command: flags and a run method."""

    def run(self) -> int:
        """Run the command, and return the exit code."""


def version() -> str:
    """The version of the installed package."""
    try:
        return importlib.metadata.version("worldloom")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def import_training(on_cpu: bool) -> None:
    """Import PyTorch and the trainers, without the work of the garbage collector on their objects, 0.8 s.

    Imports create no garbage. Later collections skip what was frozen. Frozen objects are never collected, so this
    happens only at the first import.

    Args:
        on_cpu: Whether kernels for the CPU will be needed. Warp's headers are then precompiled in the meantime.
    """
    if "torch" in sys.modules:
        return
    if on_cpu and not header_cache.are_stored():
        compile_ahead(FIRST)
    with gc_disabled():
        import worldloom.cli.commands.train_parser  # noqa: F401

        gc.freeze()


def _is_on_cpu(arguments: Sequence[str]) -> bool:
    """Whether the arguments of ``train`` name the CPU, or no device where there is no GPU."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    if "--device" in words[:-1]:
        return words[words.index("--device") + 1] == "cpu"
    return int(wp.get_cuda_device_count()) == 0


def _training_command(name: str) -> Any:
    """The command ``name``, one of those that train."""
    if name == "sweep":
        from worldloom.cli.experiments.sweep import Sweep

        return Sweep
    if name == "pbt":
        from worldloom.cli.experiments.pbt import Pbt

        return Pbt
    if name == "bench train":
        from worldloom.cli.commands.bench_train import BenchTrain

        return BenchTrain
    from worldloom.cli.commands.train import Train

    return Train


def _discard_output() -> None:
    """Discard what is left of standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _split_training(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command that trains, and its arguments; an empty text for other commands."""
    for name in TRAINING:
        words = name.split()
        if list(arguments[: len(words)]) == words:
            return name, arguments[len(words) :]
    return "", arguments


def parse(arguments: Sequence[str]) -> Command:
    """The command that ``arguments`` select; prints a message and exits the process if they select none."""
    name, rest = _split_training(arguments)
    if name:
        if not QUIET_FLAGS & set(arguments):  # PyTorch takes seconds to load
            print("worldloom: preparing the training ...", file=sys.stderr, flush=True)
        import_training(on_cpu=_is_on_cpu(arguments))
        from worldloom.cli.commands.train_parser import parse as parse_training

        training: Command = parse_training(rest, _training_command(name))
        return training
    from worldloom.cli.command_list import Commands

    commands: Any = Commands
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes)
    command: Command = tyro.cli(
        commands, prog="worldloom", description=DESCRIPTION, args=list(arguments), config=config, registry=integers()
    )
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments == ["--version"]:
        print(f"worldloom {version()}")
        return 0
    trains = _split_training(arguments)[0] != ""
    try:
        with keep_training_without_output(trains), plain_warnings():
            command = parse(arguments)
            interrupt.restore_sigint()
            return command.run()
    except WorldloomError as error:
        print_error(str(error))
        return 2
    except KeyboardInterrupt:
        return interrupt.INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed the pipe
        _discard_output()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _discard_output()
        where = f" {error.filename}" if error.filename else " the output"
        print_error(f"cannot write{where}: {error.strerror}")
        return 2
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else 0 if exit.code is None else 2
