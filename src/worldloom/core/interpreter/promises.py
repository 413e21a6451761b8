"""The promise ``disjoint=True``, checked: no entity or iteration uses a component that another one writes meanwhile.

A component of a row is a cell, and so is each element of an array. Code of systems and loops with the promise notes
every cell that it reads or writes, of the components that it writes at all; see ``promised`` of
:class:`~worldloom.core.frontend.targets.python_target.PythonTarget`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any, Literal, TypeVar

import numpy as np

from worldloom.core.interpreter.rows import Row

_Cell = tuple[str, int, str, Any]
"""Table, row, component, and the index of the element in an array."""
_Verb = Literal["reads", "writes"]
_Run = TypeVar("_Run")

_LOOP_FIX = "let each iteration use entities and elements of its own, or write range(...)"


class Uses:
    """The cells that entities, or iterations of a loop, use while they run at the same time.

    Attributes:
        kind: What runs: the kind of the entities, or "iteration".
        fix: How to keep the promise.
        user: The number of the entity or iteration that runs now.
    """

    def __init__(self, kind: str, fix: str) -> None:
        self.kind, self.fix = kind, fix
        self.user = 0
        self._writers: dict[_Cell, tuple[int, int]] = {}
        """The number of the one that writes a cell, and the instruction."""
        self._readers: tuple[dict[_Cell, tuple[int, int]], ...] = ({}, {})
        """The same of the first that reads a cell, and of another one."""

    def read(self, cell: _Cell, instruction: int) -> tuple[_Verb, int, int] | None:
        """Note a read; what another one does with the cell, its number and instruction, if that breaks the promise."""
        user = self.user
        writer = self._writers.get(cell)
        if writer is not None and writer[0] != user:
            return "writes", *writer
        first, second = self._readers
        if first.setdefault(cell, (user, instruction))[0] != user:
            second.setdefault(cell, (user, instruction))
        return None

    def write(self, cell: _Cell, instruction: int) -> tuple[_Verb, int, int] | None:
        """The same for a write."""
        user = self.user
        writer = self._writers.setdefault(cell, (user, instruction))
        if writer[0] != user:
            return "writes", *writer
        for readers in self._readers:
            reader = readers.get(cell)
            if reader is not None and reader[0] != user:
                return "reads", *reader
        return None


class NotedArray:
    """An array component of one row, whose elements are noted when they are used."""

    __slots__ = ("_name", "_promises", "_row")

    def __init__(self, promises: Promises, row: Row, name: str) -> None:
        self._promises, self._row, self._name = promises, row, name

    def __getitem__(self, index: Any) -> Any:
        self._promises.note("reads", self._row, self._name, index, sys._getframe(1))
        return getattr(self._row, self._name)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._promises.note("writes", self._row, self._name, index, sys._getframe(1))
        getattr(self._row, self._name)[index] = value


class Promises:
    """Notes what systems and loops with a promise use. ``refuse`` gets the problem, its fix and the line."""

    def __init__(self, refuse: Callable[[str, str, int], None]) -> None:
        self._refuse = refuse
        self._running: list[Uses] = []

    def forget(self) -> None:
        """Discard all notes; an exception may have ended a system before its end."""
        self._running = []

    def entities(self, kind: str, where: str | None, runs: Iterable[tuple[int, _Run]]) -> Iterator[tuple[int, _Run]]:
        """The runs of a system for the entities of a world, each with its number; ``where`` selects the entities."""
        fix = f"let no two {kind} use the same one, or let those run one after the other with where=(component, values)"
        if where is not None:
            fix = f"give those {kind} different values of '{where}', so that they run one after the other"
        uses = Uses(kind, fix)
        self._running = [uses]
        for number, run in runs:
            uses.user = number
            yield number, run
        self._running = []

    def iterations(self, numbers: range) -> Iterator[int]:
        """The iterations of a shared loop."""
        uses = Uses("iteration", _LOOP_FIX)
        self._running = [*self._running, uses]
        for uses.user in numbers:
            yield uses.user
        self._running = self._running[:-1]

    # -- called by systems -------------------------------------------------------------------------------------------

    def reads(self, row: Row, name: str) -> Row:
        """``row``, of which a component is read next."""
        self.note("reads", row, name, None, sys._getframe(1))
        return row

    def writes(self, row: Row, name: str) -> Row:
        """``row``, of which a component is written next."""
        self.note("writes", row, name, None, sys._getframe(1))
        return row

    def array(self, row: Row, name: str) -> NotedArray:
        return NotedArray(self, row, name)

    def note(self, verb: _Verb, row: Row, name: str, index: Any, frame: FrameType) -> None:
        """Note that a component of a row, or its element at ``index``, is used by the code of ``frame``."""
        cell = (row._table, row._index, name, index)
        for uses in self._running:
            other = uses.read(cell, frame.f_lasti) if verb == "reads" else uses.write(cell, frame.f_lasti)
            if other is not None:
                does, number, instruction = other
                place = name if index is None else f"{name}{np.atleast_1d(index).tolist()}"
                self._refuse(
                    f"{uses.kind} {uses.user} {verb} '{place}' of {row._table} {row._slot},"
                    f" which {uses.kind} {number} {does} at the same time (line {_line(frame.f_code, instruction)}),"
                    " against disjoint=True",
                    uses.fix,
                    frame.f_lineno,
                )


def _line(code: CodeType, instruction: int) -> int:
    """The line of an instruction. Its search takes so long in long systems that only errors do it."""
    found = next(line for start, end, line in code.co_lines() if start <= instruction < end)
    return code.co_firstlineno if found is None else found
