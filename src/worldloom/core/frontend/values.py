"""Types of expressions in systems: numbers, vectors, rows of tables, the world, references."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.core.model.dtypes import FLOATS, SCALARS, is_composite, type_name
from worldloom.core.model.entity import Components, Has, World
from worldloom.core.model.fields import Field

Owner = type[Components] | Has
"""What the parameter of a system refers to: a kind of entity, a world class, or a query."""

INTEGERS = tuple(t for t in SCALARS if t not in FLOATS and t is not wp.bool)
UNSIGNED_INTEGERS = (wp.uint8, wp.uint16, wp.uint32, wp.uint64)
_RANK = {t: rank for rank, t in enumerate(SCALARS)}


@dataclass(frozen=True)
class RowType:
    """An entity: the one that the system runs for (``own``), or another one of the same world."""

    owner: Owner
    own: bool


@dataclass(frozen=True)
class WorldType:
    """The world that the system runs in."""

    world: type[World]


@dataclass(frozen=True)
class ArrayType:
    """An array component of a row, which can only be indexed."""

    field: Field


@dataclass(frozen=True)
class RefType:
    """A reference to an entity of ``kind``, or to none."""

    kind: Any


@dataclass(frozen=True)
class TupleType:
    """Several values: the result of a helper, or a side of ``a, b = b, a``."""

    items: tuple[Any, ...]


@dataclass
class Value:
    """A translated expression.

    Attributes:
        node: Its code.
        type: Its type.
        const: Its number, where it is a literal.
        base: The row of an array component.
        parts: The values of a tuple.
    """

    node: ast.expr
    type: Any
    const: Any = None
    base: Value | None = None
    parts: list[Value] | None = None

    @property
    def weak(self) -> bool:
        """Whether it is a literal, which takes the type of the other operand."""
        return self.const is not None and not isinstance(self.const, bool)


def this_world() -> Value:
    """The world of the current thread, for accesses that the engine adds; they use no field of the user's class."""
    return Value(ast.Name("world", ast.Load()), WorldType(World))


def is_scalar(kind: Any) -> bool:
    return isinstance(kind, type) and kind in SCALARS


def is_number(kind: Any) -> bool:
    return is_scalar(kind) and kind is not wp.bool


def is_plain(kind: Any) -> bool:
    """Whether a local variable can hold it as a value."""
    return is_scalar(kind) or is_composite(kind)


def promoted_type(a: Value, b: Value) -> Any:
    """The common scalar type of two numbers: literals take the other type, integers become floats."""
    if a.type is b.type:
        return wp.int32 if a.type is wp.bool else a.type
    if a.weak != b.weak:
        literal, typed = (a, b) if a.weak else (b, a)
        if typed.type is wp.bool:
            return literal.type
        if isinstance(literal.const, float) and typed.type not in FLOATS:
            return wp.float32
        return typed.type
    floats = [t for t in (a.type, b.type) if t in FLOATS]
    if len(floats) == 1:
        return floats[0]
    return max(a.type, b.type, key=_RANK.__getitem__)


def widens(source: Any, target: Any) -> bool:
    """Whether ``source`` converts to ``target`` implicitly: to a wider type, or from an integer to a float."""
    if source is target or source is wp.bool:
        return True
    if target is wp.bool:
        return False
    if target in FLOATS:
        return source not in FLOATS or _RANK[source] <= _RANK[target]
    if source in FLOATS:
        return False
    if source in UNSIGNED_INTEGERS:
        return _RANK[source] <= _RANK[target] if target in UNSIGNED_INTEGERS else _RANK[source] < _RANK[target]
    return target not in UNSIGNED_INTEGERS and _RANK[source] <= _RANK[target]


def describe(kind: Any) -> str:
    """A type in the user's words."""
    if isinstance(kind, RowType):
        return f"an entity ({kind.owner.__name__})"
    if isinstance(kind, WorldType):
        return "the world"
    if isinstance(kind, ArrayType):
        return f"the array '{kind.field.name}'"
    if isinstance(kind, RefType):
        return f"a reference to {getattr(kind.kind, '__name__', kind.kind)}"
    if isinstance(kind, TupleType):
        return f"{len(kind.items)} values"
    return type_name(kind) if is_plain(kind) else "nothing" if kind is None else str(kind)
