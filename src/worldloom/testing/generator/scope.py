"""The scope of a generated expression or statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from worldloom.testing.reference.types import Type


@dataclass
class Array:
    """An array component in scope: its text, the type and the shape of its elements."""

    text: str
    type: Type
    shape: tuple[int, ...]


@dataclass
class HelperSpec:
    """The parameter types and result types of a helper."""

    name: str
    takes: list[Type]
    gives: list[Type]


@dataclass
class Scope:
    """The values that an expression may use, and the targets that a statement may assign.

    Attributes:
        reads: Texts of values that may be read, by type.
        writes: Texts of own components that may be stored, with their types.
        locals: Variables that may be assigned.
        arrays: Arrays that may be read.
        array_writes: Arrays whose elements may be stored.
        refs: References that may be read, with their kinds.
        ref_writes: References that may be assigned.
        adds: Components of other rows and of the world that may be accumulated into: text, type and operation.
        rows: Other entities in scope, by name.
        bounded: Loop counters, with their exclusive upper bounds.
    """

    reads: dict[Any, list[str]] = field(default_factory=dict)
    writes: list[tuple[str, Type]] = field(default_factory=list)
    locals: list[tuple[str, Type]] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    array_writes: list[Array] = field(default_factory=list)
    refs: list[tuple[str, str]] = field(default_factory=list)
    ref_writes: list[tuple[str, str]] = field(default_factory=list)
    adds: list[tuple[str, Type, str]] = field(default_factory=list)
    rows: list[tuple[str, str]] = field(default_factory=list)
    bounded: list[tuple[str, int]] = field(default_factory=list)

    def copy(self) -> Scope:
        """The scope of an inner block. Additions to it are not visible outside."""
        return Scope(
            reads={kind: list(texts) for kind, texts in self.reads.items()},
            writes=list(self.writes),
            locals=list(self.locals),
            arrays=list(self.arrays),
            array_writes=list(self.array_writes),
            refs=list(self.refs),
            ref_writes=list(self.ref_writes),
            adds=list(self.adds),
            rows=list(self.rows),
            bounded=list(self.bounded),
        )

    def read(self, kind: Any, text: str) -> None:
        self.reads.setdefault(kind, []).append(text)
