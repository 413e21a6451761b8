"""Expressions: from the user's syntax to typed code, the same for compiled and interpreted systems."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import NoOverloadError, result_type
from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import bounds_of
from worldloom.core.frontend.names import MISSING, Names
from worldloom.core.frontend.values import (
    INTEGERS,
    UNSIGNED_INTEGERS,
    ArrayType,
    RefType,
    RowType,
    TupleType,
    Value,
    WorldType,
    describe,
    is_number,
    is_plain,
    is_scalar,
    promoted_type,
    widens,
)
from worldloom.core.kernels.exact import NoExactVersionError
from worldloom.core.model.entity import AGENT_FIELDS, ENGINE_FIELDS, Components, Entity, Has
from worldloom.core.model.fields import FLOATS, SCALARS, Field, Role, is_composite, scalar_of, shape_of

COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3}
_COMPARE = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Is: "is",
    ast.IsNot: "is not",
}


class Expressions(Names):
    """Understands expressions. Subclassed by :class:`Statements`; ``target`` decides what code comes out."""

    # -- conversions -------------------------------------------------------------------------------------------------

    def convert(self, value: Value, kind: Any, node: ast.AST, what: str) -> ast.expr:
        """The code of ``value`` as a ``kind``, converted where nothing is lost; DefinitionError otherwise."""
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
        raise self.error(f"{describe(value.type)} is no condition", "compare it with something", node)

    def number(self, node: ast.expr, kind: Any, what: str) -> ast.expr:
        """``node`` as a number of type ``kind``."""
        return self.convert(self.expression(node), kind, node, what)

    # -- expressions -------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Value:
        """Understand one expression."""
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

    def expr_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node.value, node)

    def expr_Name(self, node: ast.Name) -> Value:
        if node.id in self.parameters:
            known = self.parameters[node.id]
            return replace(known, node=copy.copy(known.node))  # a node of its own, for a line of its own
        if node.id in self.locals:
            if self.assigned is not None and node.id not in self.assigned:
                raise self.error(
                    f"'{node.id}' may have no value yet",
                    f"give '{node.id}' a value before the branch or the loop",
                    node,
                )
            return Value(nodes.name(self.target.local(node.id)), self.locals[node.id])
        if node.id in self.stored:
            raise self.error(f"'{node.id}' may have no value yet", f"give '{node.id}' a value before it is used", node)
        found = self.static(node)
        if found is MISSING:
            raise self.error(f"unknown name '{node.id}'", "define it before the system, or correct the spelling", node)
        return self.static_value(found, node)

    def expr_Attribute(self, node: ast.Attribute) -> Value:
        found = self.static(node)
        if found is not MISSING:
            return self.static_value(found, node)
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
                f"follow it first: .get().{node.attr}, or ask whether it leads somewhere: .alive",
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

    def follow_alive(self, reference: Value, node: ast.AST) -> ast.expr:
        """Whether a reference refers to an entity that is there."""
        self.access.kinds.setdefault(reference.type.kind, getattr(node, "lineno", 0))
        return self.target.alive(reference.node, reference.type.kind)

    def component_index(self, kind: Any, node: ast.Attribute) -> int:
        """The place of ``.x``, ``.y``, ``.z`` or ``.w`` in a vector or quaternion."""
        place = COMPONENTS.get(node.attr, 99)
        if len(shape_of(kind)) != 1 or place >= shape_of(kind)[0]:
            raise self.error(
                f"{describe(kind)} has no '{node.attr}'", "use x, y, z, w as far as it is long, or an index", node
            )
        return place

    def row_attribute(self, row: Value, node: ast.Attribute) -> Value:
        if node.attr == "id":
            return Value(self.target.slot(row), wp.int32)
        if node.attr == "ref":
            if isinstance(row.type.owner, Has):
                raise self.error(
                    "an entity found with wl.Has has no reference", "write the system over one kind of entity", node
                )
            return Value(self.target.reference(row), RefType(row.type.owner))
        field = self.field(row, node)
        if field.role is Role.ENGINE and field.name != "active" and not self.target.engine:
            raise self.error(f"'{field.name}' is read from outside, not in systems", "read 'active' instead", node)
        self.record_access(row, field, "read", node)
        return self.read(row, field, node)

    def read(self, row: Value, field: Field, node: ast.AST) -> Value:
        if field.is_array:
            return Value(self.target.array(row, field), ArrayType(field), base=row)
        return Value(self.target.read(row, field), self.kind_of(field, node))

    def kind_of(self, field: Field, node: ast.AST) -> Any:
        """The type of a component that is no array; a reference given by name is looked up where the system stands."""
        if field.ref is None:
            return field.dtype
        kind = self.names.get(field.ref, field.ref) if isinstance(field.ref, str) else field.ref
        if not (isinstance(kind, type) and issubclass(kind, Entity)) and not self.target.engine:
            raise self.error(
                f"'{field.name}' refers to '{kind}', which is no kind of entity here",
                "name a wl.Entity class that this file knows",
                node,
            )
        return RefType(kind)

    def world_attribute(self, world: Value, node: ast.Attribute) -> Value:
        if node.attr == "id":
            return Value(self.target.world_id(), wp.int32)
        field = self.field(world, node)
        if field.role is Role.ENGINE and field.name not in ("step", "episode") and not self.target.engine:
            raise self.error(
                f"'world.{field.name}' is read from outside, not in systems", "keep a field of your own for it", node
            )
        self.record_access(world, field, "read", node)
        return self.read(world, field, node)

    def field(self, row: Value, node: ast.Attribute) -> Field:
        """The field that ``row.attr`` names."""
        owner = row.type.world if isinstance(row.type, WorldType) else row.type.owner
        found = owner.fields.get(node.attr)
        if found is None and isinstance(row.type, RowType):
            found = AGENT_FIELDS.get(node.attr)
            if found is not None:
                self.note_agent(row)
        if found is None and node.attr in owner.reserved:
            raise self.error(f"'{node.attr}' is a method", f"write {ast.unparse(node)}(...)", node)
        if found is None:
            known = [n for n in owner.fields if n not in ENGINE_FIELDS]
            raise self.error(
                f"unknown component '{node.attr}': {owner.__name__} has {', '.join(known) or 'none'}",
                "correct the name, or declare it",
                node,
            )
        return found

    def note_agent(self, row: Value) -> None:
        """Entities of this kind leave the episode one by one."""
        self.access.agents.add(None if row.type.own else row.type.owner)

    def record_access(self, row: Value, field: Field, mode: str, node: ast.AST) -> None:
        """Note a read or a write for the race rules."""
        line = getattr(node, "lineno", 0)
        if isinstance(row.type, WorldType):
            own = self.world_system
            table: dict[Any, int] = (
                (self.access.own_read if mode == "read" else self.access.own_write)
                if own
                else (self.access.world_read if mode == "read" else self.access.world_write)
            )
            table.setdefault(field.name, line)
        elif row.type.own:
            if self.turns is not None and mode == "read" and not field.is_array:
                self.turns.seen.setdefault(field.name, line)
            (self.access.own_read if mode == "read" else self.access.own_write).setdefault(field.name, line)
        else:
            others: dict[Any, int] = self.access.other_read if mode == "read" else self.access.other_write
            others.setdefault((row.type.owner, field.name), line)

    def expr_Subscript(self, node: ast.Subscript) -> Value:
        value = self.expression(node.value)
        kind, indices = self.indices(value, node)
        if isinstance(value.type, ArrayType):
            assert value.base is not None
            if self.turns is not None:
                self.turns.add_read(self, value, node, node.lineno)
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
        written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(i, ast.Slice) for i in written):
            raise self.unsupported("a slice", node, "loop over the indices with range()")
        if len(written) != len(shape):
            raise self.error(
                f"{describe(value.type)} takes {len(shape)} indices, not {len(written)}",
                "give one index per dimension",
                node,
            )
        checked: list[ast.expr] = []
        for item, size in zip(written, shape, strict=True):
            place = self.expression(item)
            if place.type not in INTEGERS:
                raise self.error(
                    f"wrong type: an index is int, not {describe(place.type)}", "convert it with int(...)", item
                )
            if isinstance(place.const, int):
                if not -size <= place.const < size:
                    raise self.error(
                        f"overflow: index {place.const} is outside {describe(value.type)} of {size}",
                        f"use 0 to {size - 1}",
                        item,
                    )
                checked.append(nodes.constant(place.const % size))
                continue
            index, known = self.convert(place, wp.int32, item, "an index"), bounds_of(self, item)
            if known is None or not 0 <= known[0] <= known[1] < size:
                index = self.target.check_index(
                    index, size, f"index of {self.written(node.value)} (size {size})", item.lineno
                )
            checked.append(index)
        return kind, checked

    def expr_BinOp(self, node: ast.BinOp) -> Value:
        return self.binary(self.expression(node.left), node.op, self.expression(node.right), node)

    def binary(self, left: Value, operator: ast.operator, right: Value, node: ast.AST) -> Value:
        symbol = SYMBOLS.get(type(operator), type(operator).__name__)
        for side in (left, right):
            if not is_plain(side.type):
                raise self.error(
                    f"wrong type: {describe(side.type)} cannot be calculated with", "use its components", node
                )
        if is_composite(left.type) or is_composite(right.type):
            return self.composite_binary(left, operator, right, node)
        if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor)) and left.type is wp.bool and right.type is wp.bool:
            if isinstance(operator, ast.BitXor):
                return Value(ast.Compare(left.node, [ast.NotEq()], [right.node]), wp.bool)
            joined = ast.And() if isinstance(operator, ast.BitAnd) else ast.Or()
            return Value(ast.BoolOp(joined, [left.node, right.node]), wp.bool)
        if isinstance(operator, ast.Pow):
            return self.power(left, right, node)
        kind = promoted_type(left, right)
        if isinstance(operator, ast.Div) and kind not in FLOATS:
            kind = wp.float32
        a, b = (self.convert(side, kind, node, f"a side of '{symbol}'") for side in (left, right))
        if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)):
            if kind in FLOATS:
                raise self.error("wrong type: bits are taken of whole numbers only", "convert with int(...)", node)
            if isinstance(operator, (ast.LShift, ast.RShift)):
                b = nodes.binary(b, ast.BitAnd(), self.target.literal(8 * np.dtype(SCALARS[kind]).itemsize - 1, kind))
            if isinstance(operator, ast.LShift):
                return Value(self.target.integer("lshift", kind, [a, b]), kind)
            return Value(nodes.binary(a, operator, b), kind)
        if isinstance(operator, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            if kind in FLOATS or (
                kind is wp.int32 and isinstance(node, ast.BinOp) and bounds_of(self, node) is not None
            ):
                return Value(nodes.binary(a, operator, b), kind)
            return Value(self.target.integer(nodes.BINARY[type(operator)], kind, [a, b]), kind)
        if isinstance(operator, ast.FloorDiv):
            if kind in FLOATS:
                return Value(self.target.function("floor", (kind,), [nodes.binary(a, ast.Div(), b)]), kind)
            return Value(
                nodes.call("wl_unsigned_divide" if kind in UNSIGNED_INTEGERS else "wl_floor_divide", a, b), kind
            )
        if isinstance(operator, ast.Mod):
            called = (
                "wl_float_modulo"
                if kind in FLOATS
                else "wl_unsigned_modulo"
                if kind in UNSIGNED_INTEGERS
                else "wl_floor_modulo"
            )
            return Value(nodes.call(called, a, b), kind)
        raise self.unsupported(f"the operator '{symbol}'", node)

    def composite_binary(self, left: Value, operator: ast.operator, right: Value, node: ast.AST) -> Value:
        called = nodes.BINARY.get(type(operator))
        if called is None:
            raise self.error(
                f"vectors have no operator '{SYMBOLS[type(operator)]}'", "calculate component by component", node
            )
        whole = scalar_of(left.type) if is_composite(left.type) else scalar_of(right.type)
        if called == "div" and whole in INTEGERS:
            raise self.error("vectors of whole numbers are not divided", "divide component by component with //", node)
        sides = []
        for side, other in ((left, right), (right, left)):
            if is_scalar(side.type):
                sides.append(
                    (self.convert(side, scalar_of(other.type), node, "a factor of a vector"), scalar_of(other.type))
                )
            else:
                sides.append((side.node, side.type))
        try:
            kind = result_type(called, (sides[0][1], sides[1][1]))
        except NoOverloadError:
            raise self.error(
                f"wrong type: no operator '{SYMBOLS[type(operator)]}' for {describe(left.type)} and {describe(right.type)}",
                "use wl.cw_mul or wl.cw_div for products component by component, and equal lengths",
                node,
            ) from None
        return Value(self.target.math_call(called, (sides[0][1], sides[1][1]), [sides[0][0], sides[1][0]]), kind)

    def power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        if base.type is wp.bool:
            raise self.error("wrong type: a truth value has no power", "convert it with float(...)", node)
        if exponent.const in (2, 3) and not isinstance(exponent.const, bool):
            kind = wp.float32 if isinstance(exponent.const, float) and base.type not in FLOATS else base.type
            return Value(self.target.power(int(exponent.const), kind, self.convert(base, kind, node, "a base")), kind)
        kind = promoted_type(base, exponent)
        kind = kind if kind in FLOATS else wp.float32
        if exponent.const == 0.5:
            return Value(self.target.function("sqrt", (kind,), [self.convert(base, kind, node, "a base")]), kind)
        sides = [self.convert(side, kind, node, "a power") for side in (base, exponent)]
        return Value(self.math_call("pow", (kind, kind), sides, node), kind)

    def math_call(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr], node: ast.AST) -> ast.expr:
        """A call of one of Warp's functions for arguments of ``types``."""
        try:
            return self.target.math_call(name, types, arguments)
        except NoExactVersionError as error:
            raise self.error(
                str(error), "calculate with numbers of 32 bits here, or leave exact mode off", node
            ) from None

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(ast.UnaryOp(ast.Not(), self.truth(node.operand)), wp.bool)
        value = self.plain(node.operand)
        if isinstance(node.op, ast.USub):
            if value.weak:
                return self.constant(-value.const, node)
            if is_composite(value.type):
                return Value(self.target.math_call("neg", (value.type,), [value.node]), value.type)
            if value.type is wp.bool:
                raise self.error("wrong type: a truth value cannot be negated with '-'", "use 'not'", node)
            if value.type in FLOATS:  # a product, since Warp takes a number from 0, and 0 - 0 has no sign
                return Value(nodes.binary(value.node, ast.Mult(), self.target.literal(-1.0, value.type)), value.type)
            return Value(self.target.integer("neg", value.type, [value.node]), value.type)
        if isinstance(node.op, ast.UAdd):
            return value
        if value.type not in INTEGERS:
            raise self.error("wrong type: '~' takes whole numbers only", "use 'not' for truth values", node)
        return Value(ast.UnaryOp(ast.Invert(), value.node), value.type)

    def expr_BoolOp(self, node: ast.BoolOp) -> Value:
        return Value(ast.BoolOp(node.op, [self.truth(item) for item in node.values]), wp.bool)

    def expr_Compare(self, node: ast.Compare) -> Value:
        links: list[ast.expr] = []
        left_node, taken = node.left, self.draw_count
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            links.append(self.compare(left_node, operator, right_node, node))
            left_node = right_node
        if self.draw_count != taken and (len(links) > 1 or isinstance(node.ops[0], (ast.In, ast.NotIn))):
            raise self.error(
                "a random number cannot be drawn in a comparison of several parts",
                "draw it into a variable first",
                node,
            )
        return Value(links[0] if len(links) == 1 else ast.BoolOp(ast.And(), links), wp.bool)

    def compare(self, left_node: ast.expr, operator: ast.cmpop, right_node: ast.expr, node: ast.AST) -> ast.expr:
        if isinstance(operator, (ast.In, ast.NotIn)):
            if not isinstance(right_node, (ast.Tuple, ast.List, ast.Set)):
                raise self.unsupported("'in' with anything but a list of values", node, "write it out: x in (1, 2, 3)")
            if not right_node.elts:
                raise self.error("nothing is in an empty list", "list the values", node)
            same: list[ast.expr] = [self.compare(left_node, ast.Eq(), item, node) for item in right_node.elts]
            joined: ast.expr = ast.BoolOp(ast.Or(), same) if len(same) > 1 else same[0]
            return joined if isinstance(operator, ast.In) else ast.UnaryOp(ast.Not(), joined)
        left, right = self.expression(left_node), self.expression(right_node)
        if isinstance(left.type, RowType) and isinstance(right.type, RowType):
            raise self.error(
                "two entities cannot be compared", "compare their references, a.ref == b.ref, or their ids", node
            )
        if isinstance(left.type, RefType) or isinstance(right.type, RefType):
            return self.compare_references(left, operator, right, node)
        if type(operator) not in _COMPARE:
            raise self.unsupported(f"'{SYMBOLS[type(operator)]}'", node, "compare numbers with ==, !=, <, <=, >, >=")
        if left.type is wp.bool and right.type is wp.bool:
            return ast.Compare(left.node, [operator], [right.node])
        if is_scalar(left.type) and is_scalar(right.type):
            kind = promoted_type(left, right)
            sides = [self.convert(side, kind, node, "a side of the comparison") for side in (left, right)]
            return ast.Compare(sides[0], [operator], [sides[1]])
        raise self.error(
            f"wrong type: {describe(left.type)} and {describe(right.type)} cannot be compared",
            "compare numbers, for example of single components",
            node,
        )

    def compare_references(self, left: Value, operator: ast.cmpop, right: Value, node: ast.AST) -> ast.expr:
        equal = isinstance(operator, (ast.Eq, ast.Is))
        if not equal and not isinstance(operator, (ast.NotEq, ast.IsNot)):
            raise self.error("references can be equal or not, no more", "compare with == or !=", node)
        sides = []
        for side, other in ((left, right), (right, left)):
            if side.type is not None and (
                not isinstance(side.type, RefType) or (other.type is not None and side.type != other.type)
            ):
                raise self.error(
                    f"wrong type: {describe(left.type)} and {describe(right.type)} cannot be compared",
                    "compare references to one kind, or with None",
                    node,
                )
            sides.append(self.target.literal(-1, wp.int64) if side.type is None else side.node)
        return ast.Compare(sides[0], [ast.Eq() if equal else ast.NotEq()], [sides[1]])

    def expr_IfExp(self, node: ast.IfExp) -> Value:
        test = self.truth(node.test)
        one, two = self.expression(node.body), self.expression(node.orelse)
        if isinstance(one.type, TupleType) or isinstance(two.type, TupleType):
            raise self.unsupported("a choice between several values at once", node, "write an 'if' statement")
        if is_scalar(one.type) and is_scalar(two.type):
            kind = wp.bool if one.type is two.type is wp.bool else promoted_type(one, two)
        else:
            kind = one.type if one.type is not None else two.type
        sides = [self.convert(side, kind, node, "the other branch") for side in (one, two)]
        if isinstance(test, ast.Constant):  # Warp would make both names stand for one variable
            return Value(sides[0] if test.value else sides[1], kind)
        return Value(ast.IfExp(test, sides[0], sides[1]), kind)

    def expr_Tuple(self, node: ast.Tuple) -> Value:
        parts = [self.expression(item) for item in node.elts]
        return Value(
            ast.Tuple([p.node for p in parts], ast.Load()), TupleType(tuple(p.type for p in parts)), parts=parts
        )

    def expr_Call(self, node: ast.Call) -> Value:
        from worldloom.core.frontend.calls import translate_call

        return translate_call(self, node)

    # -- rows --------------------------------------------------------------------------------------------------------

    def kind_argument(self, node: ast.Call, method: str, looks: bool = True) -> type[Components]:
        """The kind of entity that ``world.all(Kind)`` or ``world.count(Kind)`` names; ``looks`` tells whether the rows it has matter."""
        found = self.static(node.args[0]) if len(node.args) == 1 and not node.keywords else MISSING
        if (
            found is MISSING
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id not in self.locals
        ):
            raise self.error(
                f"unknown name '{node.args[0].id}'",
                "define the kind of entity before the system, or correct the spelling",
                node,
            )
        if self.target.engine and isinstance(found, Has):
            return found  # type: ignore[return-value]
        if not (isinstance(found, type) and issubclass(found, Entity)):
            raise self.error(
                f"world.{method} takes one kind of entity",
                f"write world.{method}(Kind) with a class derived from wl.Entity",
                node,
            )
        if looks:
            self.access.kinds.setdefault(found, node.lineno)
        return found
