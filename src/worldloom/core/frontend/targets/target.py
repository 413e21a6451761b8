"""The interface of a target: the operations for which compiled and interpreted code differ."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from typing import Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import Bounds
from worldloom.core.frontend.values import Value
from worldloom.core.kernels import exact
from worldloom.core.model.dtypes import canonical, narrowed
from worldloom.core.model.fields import Field

BITWISE: dict[str, ast.operator] = {"or": ast.BitOr(), "and": ast.BitAnd(), "xor": ast.BitXor()}


class Target(ABC):
    """Emits the code for numbers, rows, worlds and random numbers."""

    engine: bool = False
    """Whether the system belongs to the engine and may access the engine's fields."""
    location: str = ""
    """The system and the file, for messages; empty for a helper."""
    exact: bool = False
    """Whether functions must give the same bits on every device."""
    narrow: bool = False
    """Whether ``wl.float64`` means ``wl.float32``."""

    def describe_site(self, message: str, line: int) -> str:
        """The message of a fault at ``line``."""
        return message if self.engine else f"{message} ({self.location}:{line})"

    def component_type(self, annotation: Any) -> Any:
        """The component type that an annotation, or a function that is called, stands for; None for none."""
        return self.width(canonical(annotation))

    def width(self, kind: Any) -> Any:
        """A component type, several of them, or None, with the width of real numbers of this target."""
        if not self.narrow or kind is None:
            return kind
        return tuple(self.width(part) for part in kind) if isinstance(kind, tuple) else narrowed(kind)

    def math_call(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        """A call of a Warp function, or of its exact version."""
        version = exact.version(name, types) if self.exact else None
        if version is None:
            return self.function(name, types, arguments)
        called, kind = version
        if types[0] is wp.float16 and kind is not wp.float16:
            return self.cast(nodes.call(called, *[self.cast(a, kind) for a in arguments]), wp.float16)
        return nodes.call(called, *arguments)

    def function(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        """A call of a Warp function or operator for arguments of ``types``, in the device's own version."""
        return nodes.warp(name, *arguments)

    def integer(self, name: str, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        """``add``, ``sub``, ``mul``, ``lshift`` or ``neg`` of integers of type ``kind``; wraps in two's complement."""
        if name == "neg":
            return ast.UnaryOp(ast.USub(), arguments[0])
        operator = {"add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "lshift": ast.LShift()}[name]
        return nodes.binary(arguments[0], operator, arguments[1])

    def power(self, exponent: int, kind: Any, base: ast.expr) -> ast.expr:
        """The square or the cube of a number of type ``kind``."""
        return nodes.call("wl_square" if exponent == 2 else "wl_cube", base)

    def condition(self, test: ast.expr) -> ast.expr:
        """``test`` as the condition of an ``if`` whose branches may change the variables in it."""
        return test

    def loop_range(
        self, counter: str, bounds: list[ast.expr], step: int, overflows: bool, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Run ``body`` for ``range(*bounds)``; ``overflows``: whether the last number plus ``step`` may leave int32."""
        return [ast.For(ast.Name(counter, ast.Store()), nodes.call("range", *bounds), body, [], None)]

    @abstractmethod
    def local(self, name: str) -> str:
        """The name of the user's local variable in generated code."""

    @abstractmethod
    def literal(self, value: Any, kind: Any) -> ast.expr:
        """A number of type ``kind``."""

    @abstractmethod
    def cast(self, node: ast.expr, kind: Any) -> ast.expr:
        """A number converted to type ``kind``."""

    def as_variable(self, node: ast.expr, kind: Any) -> ast.expr:
        """``node`` in the form in which a variable is initialized."""
        return node

    @abstractmethod
    def construct(self, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        """A vector, matrix or quaternion."""

    @abstractmethod
    def component(self, node: ast.expr, kind: Any, indices: list[ast.expr]) -> ast.expr:
        """One number of a vector or matrix."""

    @abstractmethod
    def set_component(self, name: str, kind: Any, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """Store one number of the vector that the local variable ``name`` holds."""

    @abstractmethod
    def write_component(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """Store one number of a vector component of a row that no other thread accesses."""

    @abstractmethod
    def read(self, row: Value, field: Field) -> ast.expr:
        """A component of a row, or a field of the world."""

    @abstractmethod
    def raw(self, row: Value, field: Field) -> ast.expr:
        """An action as it was passed in, without the range check."""

    @abstractmethod
    def write(self, row: Value, field: Field, value: ast.expr) -> list[ast.stmt]:
        """Store a component of a row that no other thread accesses."""

    @abstractmethod
    def accumulate(
        self, row: Value, field: Field, operator: str, value: ast.expr, indices: list[ast.expr] | None
    ) -> list[ast.stmt]:
        """Accumulate (add, sub, or, and, xor, min, max) into a component that other threads accumulate into too."""

    def combine(self, operator: str, now: ast.expr, value: ast.expr, field: Field) -> ast.expr:
        """The value ``now`` of a component after ``value`` is accumulated into it."""
        if operator in ("or", "and") and field.dtype is wp.bool:
            return nodes.both_sides(ast.Or() if operator == "or" else ast.And(), [now, value])
        if operator in BITWISE:
            return nodes.binary(now, BITWISE[operator], value)
        return self.math_call(operator, (field.dtype, field.dtype), [now, value])

    @abstractmethod
    def array(self, row: Value, field: Field) -> ast.expr:
        """The array component itself."""

    @abstractmethod
    def element(self, row: Value, field: Field, indices: list[ast.expr]) -> ast.expr:
        """One element of an array component."""

    @abstractmethod
    def set_element(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """Store one element of an array component that no other thread accesses."""

    @abstractmethod
    def check_index(self, node: ast.expr, size: int, what: str, line: int) -> ast.expr:
        """``node`` where it is in 0 to ``size - 1``; otherwise 0, and a fault of this world."""

    @abstractmethod
    def slot(self, row: Value) -> ast.expr:
        """The row's slot: its index among its kind in its world."""

    def keep_row(self, row: Value) -> ast.expr:
        """The row index, for a variable."""
        return row.node

    @abstractmethod
    def follow(self, reference: ast.expr, kind: Any, line: int) -> ast.expr:
        """The row that a reference refers to."""

    @abstractmethod
    def at(self, slot: ast.expr, kind: Any, line: int, known: Bounds | None) -> ast.expr:
        """The row of the entity of ``kind`` in ``slot``; the first row, and a fault of this world, where there is none.

        ``known`` are the bounds of ``slot``, where they are known.
        """

    @abstractmethod
    def alive(self, reference: ast.expr, kind: Any) -> ast.expr:
        """Whether a reference refers to a living entity."""

    @abstractmethod
    def reference(self, row: Value) -> ast.expr:
        """The value of a reference to the row."""

    @abstractmethod
    def spawn(self, name: str, kind: Any, values: dict[str, ast.expr]) -> list[ast.stmt]:
        """Spawn an entity of ``kind`` with ``values`` of components; the variable ``name`` gets its reference."""

    @abstractmethod
    def despawn(self, row: Value) -> list[ast.stmt]:
        """Remove an entity from the world after the system."""

    @abstractmethod
    def world_id(self) -> ast.expr:
        """The id of the world."""

    @abstractmethod
    def count(self, kind: Any) -> ast.expr:
        """The number of entities of ``kind`` in the world."""

    @abstractmethod
    def loop_rows(self, name: str, kind: Any, body: list[ast.stmt]) -> list[ast.stmt]:
        """Run ``body`` for every entity of ``kind`` in this world."""

    def loop_shared(
        self,
        counter: str,
        iterations: ast.expr,
        body: list[ast.stmt],
        reductions: list[tuple[Value, Field]],
        disjoint: bool = False,
    ) -> list[ast.stmt]:
        """Run ``body`` for the numbers below ``iterations``, a variable or a literal; several threads may share them.

        ``reductions`` are the components of the own row that the iterations accumulate into. With ``disjoint`` the user
        promises that no iteration uses what another one writes.
        """
        return [ast.For(ast.Name(counter, ast.Store()), nodes.call("range", iterations), body, [], None)]

    def copy_components(self, rows: list[Value], components: list[tuple[Field, ...]]) -> list[ast.stmt] | None:
        """Copy components of ``rows[1]`` to ``rows[0]``, or clear those of ``rows[0]``; None where loops do it."""
        return None

    def prefetch(self, row: Value, array: Field, first: int, elements: int) -> list[ast.stmt]:
        """Prefetch the next rows, before a shared loop that stores ``elements`` of an array from index ``first``."""
        return []

    @abstractmethod
    def loop_near(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, radius: ast.expr, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Run ``body`` for every entity of ``kind`` whose ``field`` is within ``radius`` of ``point``.

        Names of the loop's variables begin with ``label``.
        """

    @abstractmethod
    def loop_nearest(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, k: int, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Run ``body`` for the ``k`` entities of ``kind`` whose ``field`` is nearest to ``point``."""

    @abstractmethod
    def random(self, function: str, draw: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        """Draw a random number."""

    @abstractmethod
    def end(self, row: Value, what: str) -> list[ast.stmt]:
        """End the episode of the world or of one agent: ``what`` is ``terminated`` or ``truncated``."""

    @abstractmethod
    def fault(self, what: str, line: int, value: ast.expr) -> list[ast.stmt]:
        """Report a fault of this world."""

    @abstractmethod
    def use_helper(self, helper: Any) -> None:
        """Record that the code calls ``helper``."""

    @abstractmethod
    def debug(self, statement: ast.Expr) -> list[ast.stmt]:
        """A ``print`` or ``breakpoint`` call."""
