"""Expressions: from the user's syntax to typed code, the same for compiled and interpreted systems."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from typing import Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import bounds_of
from worldloom.core.frontend.calls.dispatch import translate_call
from worldloom.core.frontend.expressions.operators import Operators
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.values import (
    INTEGERS,
    ArrayType,
    RefType,
    RowType,
    TupleType,
    Value,
    WorldType,
    describe,
    is_scalar,
    promoted_type,
)
from worldloom.core.model.dtypes import is_composite, scalar_of, shape_of

COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3}


class Expressions(Operators):
    """Translates expressions. Subclassed by :class:`Accumulation`; ``target`` decides what code comes out."""

    def expr_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node.value, node)

    def expr_Name(self, node: ast.Name) -> Value:
        if node.id in self.parameters:
            known = self.parameters[node.id]
            return replace(known, node=copy.copy(known.node))  # a new node, which gets its own line number
        if node.id in self.locals:
            if self.assigned is not None and node.id not in self.assigned:
                raise self.error(
                    f"'{node.id}' may be unassigned here",
                    f"give '{node.id}' a value before the branch or the loop",
                    node,
                )
            return Value(nodes.name(self.target.local(node.id)), self.locals[node.id])
        if node.id in self.stored:
            raise self.error(f"'{node.id}' may be unassigned here", f"give '{node.id}' a value before it is used", node)
        constant = self.static(node)
        if constant is MISSING:
            raise self.error(f"unknown name '{node.id}'", "define it before the system, or correct the spelling", node)
        return self.static_value(constant, node)

    def expr_Attribute(self, node: ast.Attribute) -> Value:
        constant = self.static(node)
        if constant is not MISSING:
            return self.static_value(constant, node)
        self.refuse_unknown_member(node)
        value = self.expression(node.value)
        if self.target.engine and node.attr.startswith("raw__"):
            owner = value.type.world if isinstance(value.type, WorldType) else value.type.owner
            action = owner.fields[node.attr.removeprefix("raw__")]
            return Value(self.target.raw(value, action), action.dtype)
        if isinstance(value.type, RowType):
            return self.row_attribute(value, node)
        if isinstance(value.type, WorldType):
            return self.world_attribute(value, node)
        if isinstance(value.type, RefType):
            if node.attr == "alive":
                return Value(self.follow_alive(value, node), wp.bool)
            raise self.error(
                f"a reference has no '{node.attr}'",
                f"follow it first: .get().{node.attr}, or test it with .alive",
                node,
            )
        if is_composite(value.type):
            return Value(
                self.target.component(value.node, value.type, [nodes.constant(self.component_index(value.type, node))]),
                scalar_of(value.type),
            )
        raise self.error(
            f"{describe(value.type)} has no '{node.attr}'", "use a component of an entity or of the world", node
        )

    def component_index(self, kind: Any, node: ast.Attribute) -> int:
        """The index of ``.x``, ``.y``, ``.z`` or ``.w`` in a vector or quaternion."""
        index = COMPONENTS.get(node.attr, 99)
        if len(shape_of(kind)) != 1 or index >= shape_of(kind)[0]:
            raise self.error(
                f"{describe(kind)} has no '{node.attr}'", "use one of x, y, z, w that it has, or an index", node
            )
        return index

    def expr_Subscript(self, node: ast.Subscript) -> Value:
        value = self.expression(node.value)
        kind, indices = self.indices(value, node)
        if isinstance(value.type, ArrayType):
            assert value.base is not None
            if self.shared_loop is not None:
                self.shared_loop.add_read(self, value, node, node.lineno)
            return Value(self.target.element(value.base, value.type.field, indices), kind)
        return Value(self.target.component(value.node, value.type, indices), kind)

    def indices(self, value: Value, node: ast.Subscript) -> tuple[Any, list[ast.expr]]:
        """The type of one element and the checked indices of ``value[...]``."""
        if isinstance(value.type, ArrayType):
            shape, kind = value.type.field.shape, value.type.field.dtype
        elif is_composite(value.type):
            shape, kind = shape_of(value.type), scalar_of(value.type)
        else:
            raise self.error(f"{describe(value.type)} cannot be indexed", "index an array component or a vector", node)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(i, ast.Slice) for i in items):
            raise self.unsupported("a slice", node, "loop over the indices with range()")
        if len(items) != len(shape):
            raise self.error(
                f"{describe(value.type)} takes {len(shape)} indices, not {len(items)}",
                "give one index per dimension",
                node,
            )
        checked: list[ast.expr] = []
        for item, size in zip(items, shape, strict=True):
            index = self.expression(item)
            if index.type not in INTEGERS:
                raise self.error(
                    f"wrong type: an index is int, not {describe(index.type)}", "convert it with int(...)", item
                )
            if isinstance(index.const, int):
                if not -size <= index.const < size:
                    raise self.error(
                        f"overflow: index {index.const} is outside {describe(value.type)} of {size}",
                        f"use 0 to {size - 1}",
                        item,
                    )
                checked.append(nodes.constant(index.const % size))
                continue
            converted, known = self.convert(index, wp.int32, item, "an index"), bounds_of(self, item)
            if known is None or not 0 <= known[0] <= known[1] < size:
                converted = self.target.check_index(
                    converted, size, f"index of {self.source_text(node.value)} (size {size})", item.lineno
                )
            checked.append(converted)
        return kind, checked

    def expr_IfExp(self, node: ast.IfExp) -> Value:
        test = self.truth(node.test)
        one, two = self.expression(node.body), self.expression(node.orelse)
        if isinstance(one.type, TupleType) or isinstance(two.type, TupleType):
            raise self.unsupported("a conditional expression of several values", node, "write an 'if' statement")
        if is_scalar(one.type) and is_scalar(two.type):
            kind = wp.bool if one.type is two.type is wp.bool else promoted_type(one, two)
        else:
            kind = one.type if one.type is not None else two.type
        sides = [self.convert(side, kind, node, "the other branch") for side in (one, two)]
        if isinstance(test, ast.Constant):  # Warp would make both names one variable
            return Value(sides[0] if test.value else sides[1], kind)
        return Value(ast.IfExp(test, sides[0], sides[1]), kind)

    def expr_Tuple(self, node: ast.Tuple) -> Value:
        parts = [self.expression(item) for item in node.elts]
        return Value(
            ast.Tuple([p.node for p in parts], ast.Load()), TupleType(tuple(p.type for p in parts)), parts=parts
        )

    def expr_Call(self, node: ast.Call) -> Value:
        return translate_call(self, node)
