"""The types of world files: scalars of all widths, vectors, matrices, quaternions, arrays and references.

Written from docs/python.md without code of ``worldloom.core``, so that its faults are not repeated here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

SCALARS = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)
"""Every scalar type, from the narrowest to the widest. The common type of two numbers is the later one."""

FLOATS = ("float16", "float32", "float64")
INTEGERS = tuple(s for s in SCALARS if s != "bool" and s not in FLOATS)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NUMPY: dict[str, Any] = {name: np.dtype(name).type for name in SCALARS}


@dataclass(frozen=True)
class Type:
    """A scalar, vector, matrix or quaternion type. Of a scalar, ``family`` is "" and ``shape`` is ()."""

    scalar: str
    shape: tuple[int, ...] = ()
    family: str = ""

    @property
    def is_float(self) -> bool:
        return self.scalar in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.scalar in INTEGERS

    @property
    def numpy(self) -> Any:
        return NUMPY[self.scalar]

    @property
    def element(self) -> Type:
        return Type(self.scalar)

    def zero(self) -> Any:
        return np.zeros(self.shape, self.scalar) if self.shape else self.numpy(0)

    def __str__(self) -> str:
        return spelled(self)


@dataclass(frozen=True)
class _OfKind:
    """A type that belongs to a kind of entity."""

    kind: str


class RefType(_OfKind):
    """A reference to an entity of a kind."""


class RowType(_OfKind):
    """An entity of a kind; the world's own row has the kind "World"."""


@dataclass(frozen=True)
class TupleType:
    """The type of a tuple of values."""

    items: tuple[Any, ...]


BOOL, INT, FLOAT = Type("bool"), Type("int32"), Type("float32")
NAMED: dict[str, Type] = {
    "bool": BOOL,
    "int": INT,
    "float": FLOAT,
    **{f"wl.{s}": Type(s) for s in SCALARS if s != "bool"},
    **{f"wl.vec{n}": Type("float32", (n,), "vec") for n in (2, 3, 4)},
    **{f"wl.vec{n}i": Type("int32", (n,), "vec") for n in (2, 3, 4)},
    **{f"wl.mat{n}{n}": Type("float32", (n, n), "mat") for n in (2, 3, 4)},
    "wl.quat": Type("float32", (4,), "quat"),
    **{f"Vec{n}": Type("float32", (n,), "vec") for n in (8, 12, 16)},
}
"""Types by their text in a world file, which names long vectors: ``Vec8 = wl.vec(8)``."""

_SPELLED = {kind: text for text, kind in reversed(NAMED.items())}


def spelled(kind: Any) -> str:
    """The text of a type in a world file."""
    return f'wl.Ref("{kind.kind}")' if isinstance(kind, RefType) else _SPELLED[kind]


@dataclass(frozen=True)
class Component:
    """A component of an entity, or a field of a world.

    Attributes:
        name: Its name.
        type: The type of one value, or of one element of an array.
        shape: The dimensions of an array; () for a single value.
        role: "state", "config", "action", "observation", "reward", "persistent" or "transient".
        default: Its value after a reset.
        choices: Number of choices of a discrete action.
        finite: Whether a value that is not finite is a fault.
    """

    name: str
    type: Any
    shape: tuple[int, ...] = ()
    role: str = "state"
    default: Any = 0
    choices: int = 0
    finite: bool = False

    @property
    def scalar(self) -> str:
        return "int64" if isinstance(self.type, RefType) else str(self.type.scalar)

    @property
    def value_shape(self) -> tuple[int, ...]:
        return self.shape + (() if isinstance(self.type, RefType) else self.type.shape)


def component(name: str, annotation: ast.expr, default: ast.expr | None) -> Component:
    """The component that ``name: annotation = default`` declares."""
    text = ast.unparse(annotation)
    value: Any = 0 if default is None else _default(default)
    if text in NAMED:
        return Component(name, NAMED[text], default=value)
    if text == "wl.Workload":
        return Component(name, INT, role="transient")
    if text == "wl.Reward":
        return Component(name, FLOAT, role="reward", finite=True)
    if text == "wl.Config":
        if isinstance(value, np.ndarray):
            return Component(name, Type(str(value.dtype)), value.shape, "config", value)
        kind = BOOL if isinstance(value, bool) else FLOAT if isinstance(value, float) else INT
        return Component(name, kind, (), "config", value)
    assert isinstance(annotation, ast.Call), text
    head, arguments = ast.unparse(annotation.func), annotation.args
    if head == "wl.Ref":
        target = arguments[0]
        kind_name = str(target.value) if isinstance(target, ast.Constant) else ast.unparse(target)
        return Component(name, RefType(kind_name), default=-1)
    if head == "wl.Array":
        shape = tuple(ast.literal_eval(size) for size in arguments[1:])
        return Component(name, NAMED[ast.unparse(arguments[0])], shape, default=value)
    if head in ("wl.Persistent", "wl.Finite", "wl.Transient"):
        inner = component(name, arguments[0], default)
        role = {"wl.Persistent": "persistent", "wl.Finite": "state", "wl.Transient": "transient"}[head]
        return Component(name, inner.type, inner.shape, role, inner.default, finite=head == "wl.Finite")
    if head == "wl.Observation":
        size = ast.literal_eval(arguments[0])
        return Component(name, Type("float32", (size,), "vec"), role="observation")
    if head == "wl.Action":
        assert isinstance(arguments[0], ast.Call)
        return Component(name, INT, role="action", choices=ast.literal_eval(arguments[0].args[0]))
    raise ValueError(f"the reference knows no component '{text}'")


def _default(node: ast.expr) -> Any:
    text = ast.unparse(node)
    if text.startswith("np."):
        return eval(text, {"np": np})  # noqa: S307
    if text.startswith("wl."):
        assert isinstance(node, ast.Call)
        return np.array([ast.literal_eval(a) for a in node.args])
    return ast.literal_eval(node)


def common(one: Type, one_bare: Any, two: Type, two_bare: Any) -> Type:
    """The common type of two numbers; ``bare`` is the number of a literal, and None otherwise."""
    if one == two:
        return INT if one == BOOL else one
    if (one_bare is not None) != (two_bare is not None):
        bare, kind, typed = (one_bare, one, two) if one_bare is not None else (two_bare, two, one)
        if typed == BOOL:
            return kind
        return FLOAT if isinstance(bare, float) and not typed.is_float else typed
    floats = [t for t in (one, two) if t.is_float]
    return floats[0] if len(floats) == 1 else max(one, two, key=lambda t: SCALARS.index(t.scalar))


def widens(source: str, target: str) -> bool:
    """Whether numbers of one scalar type convert implicitly to another, up to rounding."""
    if source == target or source == "bool":
        return True
    if target == "bool":
        return False
    ranks = SCALARS.index(source), SCALARS.index(target)
    if target in FLOATS:
        return source not in FLOATS or ranks[0] <= ranks[1]
    if source in FLOATS:
        return False
    if source in UNSIGNED:
        return ranks[0] <= ranks[1] if target in UNSIGNED else ranks[0] < ranks[1]
    return target not in UNSIGNED and ranks[0] <= ranks[1]
