"""What is in scope where the generator writes an expression or a statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from worldloom.testing.types import Type


@dataclass
class Array:
    """An array component in scope: its text, the type and the shape of its elements."""

    text: str
    type: Type
    shape: tuple[int, ...]


@dataclass
class HelperSpec:
    """What a helper takes and gives."""

    name: str
    takes: list[Type]
    gives: list[Type]


@dataclass
class Scope:
    """What an expression may be made of, and what a statement may change.

    Attributes:
        reads: Texts of values that may be read, by type.
        writes: Texts of own components that may be stored, with their types.
        locals: Variables that may be given another value.
        arrays: Arrays that may be read.
        array_writes: Arrays whose elements may be stored.
        refs: References that may be read, with their kinds.
        ref_writes: References that may be set.
        adds: Places of other rows and the world that may be accumulated into: text, type, and how.
        rows: Entities in scope that are not the own one, by name.
        bounded: Counters of loops, with the number that they stay below.
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
        """A scope for a block inside: what is added to it is not seen outside."""
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
