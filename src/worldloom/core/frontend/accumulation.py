"""Accumulation into components that several threads write: which targets are shared, and what may be accumulated."""

from __future__ import annotations

import ast
import builtins
from typing import Any

import warp as wp

from worldloom.core.arithmetic.functions import FUNCTIONS
from worldloom.core.frontend import nodes
from worldloom.core.frontend.expressions.expressions import Expressions
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.race_checks import (
    REFERENCE_RACE,
    TWO_OPERATORS_RACE,
    VECTOR_ELEMENT_RACE,
    XOR_OF_BOOLS_RACE,
    store_race,
)
from worldloom.core.frontend.values import INTEGERS, ArrayType, RowType, Value, WorldType, describe
from worldloom.core.model.dtypes import scalar_of
from worldloom.core.model.fields import Role

_NARROW = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.float16)


class Accumulation(Expressions):
    """Translates accumulation into shared components. Subclassed by :class:`Assignments`."""

    self_accumulated: frozenset[str] = frozenset()
    """Components that the system also accumulates into from other rows; its own row then accumulates in memory too."""

    def shared_target(self, target: ast.expr) -> tuple[Value, ast.Attribute, ast.Subscript | None] | None:
        """The row, component and index of a target that other threads may write; None for a private target."""
        subscript = target if isinstance(target, ast.Subscript) else None
        attribute = subscript.value if subscript is not None else target
        if not isinstance(attribute, ast.Attribute) or self.static(attribute.value) is not MISSING:
            return None
        row = self.expression(nodes.as_load(attribute.value))
        if isinstance(row.type, RowType) and row.type.own and attribute.attr in self.self_accumulated:
            row = Value(self.target.keep_row(row), RowType(row.type.owner, own=False))
        shared = (isinstance(row.type, RowType) and not self.is_own(row, attribute, subscript)) or isinstance(
            row.type, WorldType
        )
        loop = self.shared_loop  # whose iterations are threads of one entity, with a promise of their own
        if self.disjoint and isinstance(row.type, RowType) and (loop is None or (loop.disjoint and not row.type.own)):
            return None
        return (row, attribute, subscript) if shared and not self.world_system else None

    def is_own(self, row: Value, attribute: ast.Attribute, subscript: ast.Subscript | None) -> bool:
        """Whether only this thread writes the target: it is in the own row, and in a shared loop of this iteration."""
        if self.shared_loop is None or not row.type.own:
            return bool(row.type.own)
        field = row.type.owner.fields.get(attribute.attr)
        return field is not None and self.shared_loop.own(self, field, subscript)

    def writable(self, row: Value, attribute: ast.Attribute, node: ast.AST) -> Any:
        """The field of ``row.attr``; DefinitionError where systems may not write it."""
        if attribute.attr in ("id", "ref"):
            raise self.error(f"'{attribute.attr}' cannot be changed", "declare a component of your own", node)
        field = self.field(row, attribute)
        if field.role is Role.CONFIG and not self.target.engine:
            raise self.error(
                f"configuration '{field.name}' cannot be changed by a system",
                f"declare '{field.name}' as a field of the world",
                node,
            )
        if field.role is Role.ENGINE and not self.target.engine:
            raise self.error(
                f"'{field.name}' is written by the engine and cannot be changed",
                "use terminate() or truncate() to end an episode",
                node,
            )
        return field

    def accumulate(
        self, shared: tuple[Value, ast.Attribute, ast.Subscript | None], operator: str, value: Value, node: ast.AST
    ) -> list[ast.stmt]:
        row, attribute, subscript = shared
        field = self.writable(row, attribute, node)
        kind, indices = field.dtype, None
        if subscript is not None:
            if not field.is_array:
                raise self.error(*VECTOR_ELEMENT_RACE, node)
            kind, indices = self.indices(Value(self.target.array(row, field), ArrayType(field), base=row), subscript)
        elif field.is_array:
            raise self.error(f"the array '{field.name}' is changed element by element", f"write {field.name}[i]", node)
        bitwise = operator in ("or", "and", "xor")
        if (kind not in (wp.bool, *INTEGERS)) if bitwise else (kind is wp.bool):
            raise self.error(
                f"wrong type: '{operator}' cannot be accumulated into '{field.name}', which is {describe(kind)}",
                "use |=, &= and ^= for bool and integers, += and -= for numbers",
                node,
            )
        if operator == "xor" and kind is wp.bool:
            raise self.error(*XOR_OF_BOOLS_RACE, node)
        logical = bitwise and kind is wp.bool
        if field.ref is not None:
            raise self.error(*REFERENCE_RACE.about(field.name), node)
        if scalar_of(kind) in _NARROW and not logical:
            raise self.error(
                f"'{field.name}' is {describe(kind)}, too narrow for accumulation by several entities",
                "declare it as int, wl.int64, float or wl.float64",
                node,
            )
        family = "add" if operator == "sub" else operator
        owner = row.type.world if isinstance(row.type, WorldType) else row.type.owner
        if self.access.families.setdefault((owner, field.name), family) != family:
            raise self.error(*TWO_OPERATORS_RACE.about(field.name), node)
        self.record_access(row, field, "write", node)
        if self.shared_loop is not None and isinstance(row.type, RowType) and row.type.own:
            self.shared_loop.add_reduction(self, row, field, operator, kind, node)
        return self.target.accumulate(row, field, operator, self.convert(value, kind, node, f"'{field.name}'"), indices)

    def min_max_assignment(self, target: ast.expr, value: ast.expr) -> list[ast.stmt] | None:
        """``other.best = max(x, other.best, y)``: the one assignment to a shared target that is order-free."""
        if not (isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(value, ast.Call)):
            return None
        function = self.static(value.func)
        operator = next(
            (name for name in ("min", "max") if function is getattr(builtins, name) or function is FUNCTIONS[name]),
            None,
        )
        if operator is None or len(value.args) < 2:
            return None
        rest = [a for a in value.args if ast.unparse(a) != ast.unparse(target)]
        if len(rest) != len(value.args) - 1:
            return None
        shared = self.shared_target(target)
        if shared is None:
            return None
        bound = rest[0] if len(rest) == 1 else ast.copy_location(ast.Call(value.func, rest, []), value)
        return self.accumulate(shared, operator, self.expression(bound), target)

    def stores_world_in_loop(self, row: Value) -> bool:
        """Whether a target is a field of the world in a shared loop of a system over the world."""
        return self.shared_loop is not None and self.world_system and isinstance(row.type, WorldType)

    def store_race_error(self, row: Value, name: str, node: ast.AST) -> Exception:
        """The error for a plain store of component ``name`` of a shared row."""
        if self.shared_loop is not None and isinstance(row.type, RowType) and row.type.own:
            return self.shared_loop.store_error(self, name, node)
        return self.error(*store_race(row, name), node)
