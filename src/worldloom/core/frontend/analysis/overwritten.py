"""Arrays that a system overwrites: it assigns every element, in every run, before it reads any.

The previous values of such an array are not needed, so that its rows can be written somewhere else first. The analysis
follows the statements that every run executes: loops over ranges that are known when the system is translated, and
assignments. It may miss an array that is overwritten, and never reports another one.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from worldloom.core.frontend.bounds import reassigned
from worldloom.core.frontend.shared_loop import share
from worldloom.core.model.fields import Field

if TYPE_CHECKING:
    from worldloom.core.frontend.translator import Translator

Counters = dict[str, range]
"""The counters of the loops around a statement, and the values that they take."""

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_INT32 = range(-(2**31), 2**31)


def overwritten_arrays(flow: Translator, parameter: str, fields: dict[str, Field]) -> set[str]:
    """The names among ``fields``, arrays of the row that ``parameter`` stands for, that a system overwrites.

    ``flow`` has translated the system.
    """
    return {name for name, field in fields.items() if _Elements(flow, parameter, field).all_assigned()}


class _Elements:
    """The elements of one array that every run of a system has assigned."""

    def __init__(self, flow: Translator, parameter: str, field: Field) -> None:
        self.flow, self.parameter, self.field = flow, parameter, field
        self.size = math.prod(field.shape)
        self.assigned: set[int] = set()

    def all_assigned(self) -> bool:
        """Whether all elements are assigned before one is read and before the system can return."""
        for statement in self.flow.source.tree.body:
            if self._reads(statement) or any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                return False
            self._follow(statement, {})
            if len(self.assigned) == self.size:
                return True
        return False

    def _reads(self, statement: ast.stmt) -> bool:
        """Whether a statement uses the array other than by assigning elements of it."""
        targets = {
            id(target.value)
            for node in ast.walk(statement)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Subscript)
        }
        return any(self._is_array(node) and id(node) not in targets for node in ast.walk(statement))

    def _is_array(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == self.field.name
            and isinstance(node.value, ast.Name)
            and node.value.id == self.parameter
        )

    def _follow(self, statement: ast.stmt, counters: Counters) -> None:
        """Add the elements that a statement assigns for all values of the counters."""
        if isinstance(statement, ast.For):
            values = self._range(statement)
            if values is None or _interrupted(statement.body):
                return
            assert isinstance(statement.target, ast.Name)
            for inner in statement.body:
                self._follow(inner, {**counters, statement.target.id: values})
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Subscript) and self._is_array(target.value):
                self.assigned |= self._places(target, counters)

    def _range(self, loop: ast.For) -> range | None:
        """The values of a loop's counter; None where they are not known or where the loop changes it."""
        call = loop.iter
        if not (isinstance(call, ast.Call) and self.flow.static(call.func) in (range, share) and not call.keywords):
            return None
        if not isinstance(loop.target, ast.Name) or reassigned(loop.body, loop.target.id):
            return None
        numbers = [self._number(argument, {}) for argument in call.args]
        known = [number for number in numbers if number is not None]
        return range(*known) if 1 <= len(known) == len(numbers) <= 3 else None

    def _places(self, target: ast.Subscript, counters: Counters) -> set[int]:
        """The elements, by position in the row, that an assignment reaches; none where an index is not known."""
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        used = {n.id for index in indices for n in ast.walk(index) if isinstance(n, ast.Name)} & set(counters)
        if math.prod(len(counters[name]) for name in used) > self.size or any(not v for v in counters.values()):
            return set()
        names = sorted(used)
        places = {
            self._place(indices, dict(zip(names, values, strict=True)))
            for values in itertools.product(*(counters[name] for name in names))
        }
        return {place for place in places if place is not None} if None not in places else set()

    def _place(self, indices: list[ast.expr], values: dict[str, int]) -> int | None:
        place = 0
        for index, size in zip(indices, self.field.shape, strict=True):
            number = self._number(index, values)
            if number is None or not -size <= number < size:
                return None
            place = place * size + number % size
        return place

    def _number(self, node: ast.expr, values: dict[str, int]) -> int | None:
        """The value of an integer expression for some values of counters; None where it is not known."""
        number: int | None = None
        if isinstance(node, ast.Name) and node.id in values:
            number = values[node.id]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._number(node.operand, values)
            number = None if inner is None else -inner
        elif isinstance(node, ast.BinOp):
            left, right = self._number(node.left, values), self._number(node.right, values)
            divides = isinstance(node.op, (ast.FloorDiv, ast.Mod))
            if left is not None and right is not None and type(node.op) in _OPERATORS and (right > 0 or not divides):
                number = _OPERATORS[type(node.op)](left, right)
        else:
            constant = node.value if isinstance(node, ast.Constant) else self.flow.static(node)
            if isinstance(constant, (int, np.int32, np.int64)) and not isinstance(constant, bool):
                number = int(constant)
        return number if number is not None and number in _INT32 else None


def _interrupted(body: list[ast.stmt]) -> bool:
    """Whether an iteration of a loop with this body can end early."""
    return any(
        isinstance(statement, (ast.Break, ast.Continue))
        or (isinstance(statement, ast.If) and (_interrupted(statement.body) or _interrupted(statement.orelse)))
        for statement in body
    )
