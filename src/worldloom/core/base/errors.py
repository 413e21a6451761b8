"""The errors of worldloom: each states what is wrong, where it is, and how to fix it."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_LIBRARY = tuple(os.path.join(_PACKAGE, name) + os.sep for name in ("core", "physics"))
"""The folders of code that users call to define worlds. Bundled worlds count as a user's code."""


class WorldloomError(Exception):
    """Base class of all errors raised by worldloom."""


class DefinitionError(WorldloomError):
    """A world, entity or system that cannot run, detected when it is defined or registered.

    The interpreter also raises it where a system breaks its promise ``disjoint=True``.

    Attributes:
        problem: What is wrong, in one sentence.
        fix: How to fix it, in one sentence.
        file: The user's own source file.
        line: The line in that file, counted from 1.
    """

    def __init__(self, problem: str, fix: str, file: str, line: int) -> None:
        self.problem, self.fix, self.file, self.line = problem, fix, file, line
        source = linecache.getline(file, line).strip() if file else ""
        source_line = f"\n    {source}" if source else ""
        location = f"{file}:{line}: " if file else ""
        super().__init__(f"{location}{problem}{source_line}\n  Fix: {fix}")


def misuse(problem: str, fix: str) -> DefinitionError:
    """A DefinitionError at the line of the user's code that is being executed."""
    frame = user_frame()
    return DefinitionError(problem, fix, frame.f_code.co_filename, frame.f_lineno)


def user_frame() -> FrameType:
    """The innermost frame outside of the engine and of physics."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(_LIBRARY) or frame.f_code.co_filename == "<string>"
    ):
        frame = frame.f_back
    return frame


class DeviceError(WorldloomError):
    """A device that does not exist or cannot be used on this machine."""


class InputError(WorldloomError, ValueError):
    """An argument with the wrong name, type, shape or range."""


class StorageError(InputError):
    """A file or folder that cannot be used now, as where the disk is full or another process has it."""


class UnknownArgumentError(InputError, TypeError):
    """A keyword argument that a world does not have; a TypeError too, for programs that try arguments out."""


def unknown_argument(name: str, problem: str) -> UnknownArgumentError:
    """An UnknownArgumentError in Python's own words, which such programs search for."""
    return UnknownArgumentError(f"got an unexpected keyword argument '{name}': {problem}")


class CompileError(WorldloomError):
    """Generated code that does not compile, which is an error of worldloom, or a kernel cache that cannot be used."""


class CapacityError(WorldloomError):
    """Worlds spawned more entities than their capacity, with ``overflow="error"``. Those worlds were reset.

    Attributes:
        faults: One fault for each of those worlds; empty where the buffer of faults was full.
    """

    def __init__(self, faults: list[WorldFault]) -> None:
        self.faults = faults
        more = f" (and {len(faults) - 1} more such faults)" if len(faults) > 1 else ""
        problem = "worlds spawned more than there is room for; the columns 'dropped' say where"
        if faults:
            problem = f"{faults[0]}{more}"
        super().__init__(f"{problem}. Those worlds were reset; a program that catches this error can go on.")


@dataclass(frozen=True)
class WorldFault:
    """A fault in one world of a running batch. That world is reset; the others continue.

    Attributes:
        message: What is wrong, with the entity, the system and the line.
        world: The world's id.
        episode: The episode of that world, counted from 0.
        step: The step of that episode, counted from 0.
    """

    message: str
    world: int
    episode: int
    step: int

    def __str__(self) -> str:
        return f"world {self.world}, episode {self.episode}, step {self.step}: {self.message}"
