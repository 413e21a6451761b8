"""Loops that set adjacent elements of an array to one value, as one call.

The loop ``for plane in range(26): player.sight[x, y, plane] = 0`` stores 26 bytes one by one. Since the elements are
adjacent, :func:`fold_fills` replaces it by one call that stores whole words; a nest of such loops over a whole array
becomes one call as well. It works on the statements of a generated function.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from worldloom.core.frontend import nodes

MIN_ELEMENTS = 16
"""Shorter loops stay: the compiler unrolls them."""
_PUT, _FILL = "wl_put_", "wl_fill_"


@dataclass
class _Fill:
    """``count`` adjacent elements from ``base * scale`` on get the value; ``base`` is None for the first element.

    ``counters`` are the last values of the loops' counters, which remain visible after the loops.
    """

    put: ast.Call
    base: ast.expr | None
    scale: int
    count: int
    counters: dict[str, int]

    def statements(self) -> list[ast.stmt]:
        column, row, size, _, value = self.put.args
        assert isinstance(self.put.func, ast.Name)
        start = nodes.constant(0) if self.base is None else _product(self.base, self.scale)
        name = _FILL + self.put.func.id.removeprefix(_PUT)
        fill = nodes.call(name, column, row, size, start, nodes.constant(self.count), value)
        last = [nodes.assign(counter, nodes.warp("int32", nodes.constant(n))) for counter, n in self.counters.items()]
        return [ast.Expr(fill), *last]


def fold_fills(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with a call for each loop that only fills adjacent elements."""
    folded: list[ast.stmt] = []
    for statement in body:
        fill = _fill(statement)
        if fill is not None and fill.count >= MIN_ELEMENTS:
            folded += fill.statements()
            continue
        for part in ("body", "orelse"):
            inner = getattr(statement, part, None)
            if isinstance(inner, list):
                setattr(statement, part, fold_fills(inner))
        folded.append(statement)
    return folded


def _fill(statement: ast.stmt) -> _Fill | None:
    """What a loop fills; None where it does something else or where its elements are not adjacent."""
    if not isinstance(statement, ast.For) or len(statement.body) != 2 or statement.orelse:
        return None
    length, counter = _length(statement.iter), _counter(statement)
    if not length or counter is None:
        return None
    inner = _single(statement.body[1]) or _fill(statement.body[1])
    if inner is None or inner.base is None or counter in inner.counters or inner.count != inner.scale:
        return None
    outer = _without(inner.base, counter)
    if outer is None or not all(_is_unchanged(argument, counter) for argument in inner.put.args[:3]):
        return None
    base, scale = outer
    return _Fill(inner.put, base, scale * inner.scale, length * inner.count, {**inner.counters, counter: length - 1})


def _single(statement: ast.stmt) -> _Fill | None:
    """The store of one element, as a fill of one."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    is_put = isinstance(call.func, ast.Name) and call.func.id.startswith(_PUT) and len(call.args) == 5
    return _Fill(call, call.args[3], 1, 1, {}) if is_put and _is_constant(call.args[4]) else None


def _is_constant(value: ast.expr) -> bool:
    """Whether a value is a number, or the conversion of one."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and all(map(_is_constant, value.args)) and not value.keywords
    return isinstance(value, ast.Constant)


def _length(iterable: ast.expr) -> int:
    """The number of iterations of a loop over ``range(n)``; 0 for another loop."""
    if isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "range" and len(iterable.args) == 1:
        (end,) = iterable.args
        if isinstance(end, ast.Constant) and isinstance(end.value, int):
            return end.value
    return 0


def _counter(loop: ast.For) -> str | None:
    """The variable that gets the number of the iteration in the first statement of a loop."""
    first = loop.body[0]
    if not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name):
        return None
    converted = f"wp.int32({ast.unparse(loop.target)})"
    return first.targets[0].id if ast.unparse(first.value) == converted else None


def _without(place: ast.expr, counter: str) -> tuple[ast.expr | None, int] | None:
    """A place of the form ``base * scale + counter`` as base and scale; None where it has another form."""
    if isinstance(place, ast.Name):
        return (None, 1) if place.id == counter else None
    if not (isinstance(place, ast.BinOp) and isinstance(place.op, ast.Add) and _is_name(place.right, counter)):
        return None
    product = place.left
    if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
        return None
    base, scale = product.left, product.right
    if not (isinstance(scale, ast.Constant) and isinstance(scale.value, int)):
        return None
    return (base, scale.value) if _is_unchanged(base, counter) else None


def _is_unchanged(value: ast.expr, counter: str) -> bool:
    """Whether an expression has one value in all iterations and no other effect, such as the check of an index."""
    return not any(isinstance(node, ast.Call) or _is_name(node, counter) for node in ast.walk(value))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _product(base: ast.expr, scale: int) -> ast.expr:
    return base if scale == 1 else nodes.binary(base, ast.Mult(), nodes.constant(scale))
