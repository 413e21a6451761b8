"""Conversions: values as a wanted type, as a condition or as a number."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.names import Names
from worldloom.core.frontend.values import RefType, RowType, Value, describe, is_number, is_plain, is_scalar, widens
from worldloom.core.model.dtypes import FLOATS


class Conversions(Names):
    """Translates an expression and converts its value. Subclassed by :class:`RowAccess`."""

    def expression(self, node: ast.expr) -> Value:
        """Translate one expression."""
        method = getattr(self, f"expr_{type(node).__name__}", None)
        if method is None:
            raise self.unsupported(f"'{ast.unparse(node)}'", node)
        value: Value = method(node)
        ast.copy_location(value.node, node)
        return value

    def plain(self, node: ast.expr) -> Value:
        """An expression that must be a number or a vector."""
        value = self.expression(node)
        if not is_plain(value.type):
            raise self.error(
                f"{describe(value.type)} cannot be used as a number here", "use one of its components", node
            )
        return value

    def number(self, node: ast.expr, kind: Any, what: str) -> ast.expr:
        """``node`` as a number of type ``kind``."""
        return self.convert(self.expression(node), kind, node, what)

    def truth(self, node: ast.expr) -> ast.expr:
        """``node`` as a condition."""
        value = self.expression(node)
        if value.type is wp.bool:
            return value.node if value.const is None else nodes.constant(bool(value.const))
        if is_number(value.type):
            zero = self.target.literal(0.0 if value.type in FLOATS else 0, value.type)
            return ast.Compare(value.node, [ast.NotEq()], [zero])
        if isinstance(value.type, RefType):
            return self.follow_alive(value, node)
        raise self.error(f"{describe(value.type)} is not a condition", "compare it with something", node)

    def follow_alive(self, reference: Value, node: ast.AST) -> ast.expr:
        """Whether a reference refers to a living entity."""
        self.access.kinds.setdefault(reference.type.kind, getattr(node, "lineno", 0))
        return self.target.alive(reference.node, reference.type.kind)

    def convert(self, value: Value, kind: Any, node: ast.AST, what: str) -> ast.expr:
        """The code of ``value`` as a ``kind``, for conversions without loss; DefinitionError otherwise."""
        if value.type is kind or value.type == kind:
            return self.target.literal(value.const, kind) if value.const is not None else value.node
        if isinstance(kind, RefType):
            if value.type is None:
                return self.target.literal(-1, wp.int64)
        elif value.weak and is_number(kind) and (kind in FLOATS or isinstance(value.const, int)):
            info = None if kind in FLOATS else np.iinfo(np.dtype(kind.__name__))
            if info is not None and not info.min <= value.const <= info.max:
                raise self.error(
                    f"overflow: {value.const} does not fit into {describe(kind)}",
                    "use a wider type, such as wl.int64",
                    node,
                )
            return self.target.literal(float(value.const) if kind in FLOATS else value.const, kind)
        elif is_scalar(kind) and is_scalar(value.type) and widens(value.type, kind):
            return self.target.cast(value.node, kind)
        raise self.error(
            f"wrong type: {what} is {describe(kind)}, but the value is {describe(value.type)}",
            self._how_to_convert(value.type, kind, what),
            node,
        )

    @staticmethod
    def _how_to_convert(source: Any, kind: Any, what: str) -> str:
        if what.startswith("variable") and is_number(kind) and source in FLOATS:
            return "start it as a real number, for example with 0.0"
        if isinstance(kind, RefType) and isinstance(source, RowType):
            return "write .ref behind the entity"
        if is_scalar(source) and is_scalar(kind):
            return f"convert it, for example with {describe(kind)}(...)"
        return f"give it a value that is {describe(kind)}"
