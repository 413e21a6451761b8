"""Statements of the reference: each becomes a function of the run that returns how the block continues."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.testing.reference import arithmetic as m
from worldloom.testing.reference.expressions import COMPONENTS, Expressions
from worldloom.testing.reference.neighbours import near, nearest
from worldloom.testing.reference.typed import Eval, Typed
from worldloom.testing.reference.types import INT, NAMED, RefType, RowType, TupleType, Type
from worldloom.testing.reference.world_functions import call_world_function

if TYPE_CHECKING:
    from worldloom.testing.reference.tables import Run

Do = Callable[["Run"], int]
NEXT, BREAK, CONTINUE, RETURN = range(4)
"""How a block continues after a statement."""


def _part(index: int) -> Eval:
    """One element of the tuple that is being unpacked."""
    return lambda e: e.parts[index]


def _repeat(e: Run, iterations: Iterable[Any], block: Do) -> int:
    """Run a block in every iteration, until it breaks or returns."""
    for _ in iterations:
        code = block(e)
        if code == BREAK:
            break
        if code == RETURN:
            return RETURN
    return NEXT


class Statements(Expressions):
    """Translates the statements of one system or helper."""

    def __init__(self, world: Any, helper: bool) -> None:
        super().__init__(world, helper)
        self.iteration_draws = 0
        self.returns: Any = None

    def block(self, body: list[ast.stmt]) -> Do:
        statements = [self.statement(node) for node in body]

        def run(e: Run) -> int:
            for do in statements:
                code = do(e)
                if code:
                    return code
            return NEXT

        return run

    def statement(self, node: ast.stmt) -> Do:
        outer, self.draws = self.draws, 0
        do: Do = getattr(self, f"stmt_{type(node).__name__}")(node)
        count, self.draws = self.draws, outer
        self.iteration_draws += count
        if not count:
            return do

        def run(e: Run) -> int:
            e.base, e.draw = e.draw, e.draw + count
            return do(e)

        return run

    def expr_Call(self, node: ast.Call) -> Typed:
        tree = self.world.world_functions.get(ast.unparse(node.func))
        return super().expr_Call(node) if tree is None else call_world_function(self, tree, node)

    # -- assignments -------------------------------------------------------------------------------------------------

    def stmt_Assign(self, node: ast.Assign) -> Do:
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            return self.unpack(target, node.value)
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "world.spawn":
            return self.store(target, self.spawn(node.value))
        return self.store(target, self.expression(node.value))

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> Do:
        assert isinstance(node.target, ast.Name) and node.value is not None
        text = ast.unparse(node.annotation)
        kind = NAMED[text] if text in NAMED else RefType(text.split("(")[1].strip(")'\""))
        self.locals[node.target.id] = kind
        return self.store(node.target, self.expression(node.value))

    def stmt_AugAssign(self, node: ast.AugAssign) -> Do:
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        return self.store(node.target, self.binary(self.expression(load), node.op, self.expression(node.value)))

    def unpack(self, target: ast.Tuple, value: ast.expr) -> Do:
        several = self.expression(value)
        run, count = several.run, len(target.elts)
        elements = several.parts or [Typed(kind, run) for kind in several.type.items]
        stores = []
        for index, (item, element) in enumerate(zip(target.elts, elements, strict=True)):
            bare = element.bare if several.parts else None
            stores.append(self.store(item, Typed(element.type, _part(index), bare)))

        def do(e: Run) -> int:
            parts = run(e)
            assert len(parts) == count
            for one in stores:
                e.parts = parts
                one(e)
            return NEXT

        return do

    def store(self, target: ast.expr, value: Typed) -> Do:
        if isinstance(target, ast.Name):
            return self.store_local(target.id, value)
        if isinstance(target, ast.Attribute) and target.attr in COMPONENTS:
            holder = self.expression(target.value)
            if isinstance(holder.type, Type):
                index = (COMPONENTS[target.attr],)
                return self.store_part(target.value, holder, lambda e: index, value)
        if isinstance(target, ast.Attribute):
            row, name = self.expression(target.value), target.attr
            component, columns = self.world.field(row.type.kind, name), self.world.tables[row.type.kind]
            evaluate, at = self.value_for(component.type, value), row.run

            def write(e: Run) -> int:
                new = evaluate(e)
                columns[name][e.world, at(e)] = new
                return NEXT

            return write
        assert isinstance(target, ast.Subscript)
        holder = self.expression(target.value)
        if holder.array is None:
            return self.store_part(target.value, holder, self.index(target, holder.type.shape), value)
        (component, at), columns = holder.array, self.world.tables[self.kind_of(target.value)]
        indices, name = self.index(target, component.shape), component.name
        evaluate = self.value_for(component.type, value)

        def element(e: Run) -> int:
            new = evaluate(e)
            columns[name][(e.world, at(e), *indices(e))] = new
            return NEXT

        return element

    def value_for(self, kind: Any, value: Typed) -> Eval:
        return value.run if isinstance(kind, Type) and kind.shape else self.convert(value, kind)

    def store_local(self, name: str, value: Typed) -> Do:
        kind = self.locals.setdefault(name, value.type)
        evaluate = value.run if isinstance(kind, RowType) else self.value_for(kind, value)

        def write(e: Run) -> int:
            e.locals[name] = evaluate(e)
            return NEXT

        return write

    def store_part(self, target: ast.expr, holder: Typed, index: Callable[[Run], tuple[int, ...]], value: Typed) -> Do:
        """Store one element of a vector or matrix, in a variable or in a component."""
        evaluate = self.convert(value, holder.type.element)
        if isinstance(target, ast.Name):
            name = target.id

            def local(e: Run) -> int:
                new = evaluate(e)
                changed = e.locals[name].copy()
                changed[index(e)] = new
                e.locals[name] = changed
                return NEXT

            return local
        assert isinstance(target, ast.Attribute)
        row, column = self.expression(target.value), target.attr
        columns, at = self.world.tables[row.type.kind], row.run

        def write(e: Run) -> int:
            new = evaluate(e)
            columns[column][(e.world, at(e), *index(e))] = new
            return NEXT

        return write

    # -- flow --------------------------------------------------------------------------------------------------------

    def stmt_If(self, node: ast.If) -> Do:
        test, body, orelse = self.truth(node.test), self.block(node.body), self.block(node.orelse)
        return lambda e: body(e) if test(e) else orelse(e)

    def stmt_While(self, node: ast.While) -> Do:
        test, body = self.truth(node.test), self.block(node.body)
        return lambda e: _repeat(e, iter(lambda: bool(test(e)), False), body)

    def stmt_For(self, node: ast.For) -> Do:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        name, call = node.target.id, node.iter
        function = ast.unparse(call.func)
        if function == "wl.share":
            return self.share(name, call, node)
        if function == "range":
            bounds = [self.convert(self.expression(a), INT) for a in call.args]
            self.locals[name] = INT
            return self.loop(name, lambda e: map(np.int32, range(*[int(b(e)) for b in bounds])), node.body)
        kind = ast.unparse(call.args[0])
        self.locals[name] = RowType(kind)
        if function == "world.all":
            return self.loop(name, lambda e: range(e.count(kind)), node.body)
        by = next((ast.literal_eval(k.value) for k in call.keywords if k.arg == "by"), "position")
        point, last = self.expression(call.args[1]).run, self.expression(call.args[2])
        if function == "world.nearest":
            k = ast.literal_eval(call.args[2])
            return self.loop(name, lambda e: nearest(e.column(kind, by), point(e), k), node.body)
        radius, room = self.convert(last, Type("float32")), self.world.room(kind)
        return self.loop(name, lambda e: near(e.column(kind, by), point(e), radius(e), room), node.body)

    def loop(self, name: str, values: Callable[[Run], Any], body: list[ast.stmt]) -> Do:
        block = self.block(body)

        def iterations(e: Run) -> Iterator[None]:
            for value in values(e):
                e.locals[name] = value
                yield

        return lambda e: _repeat(e, iterations(e), block)

    def share(self, name: str, call: ast.Call, node: ast.For) -> Do:
        """A shared loop: a plain loop in which each iteration has random numbers of its own."""
        iterations = self.convert(self.expression(call.args[0]), INT)
        self.locals[name] = INT
        outer, self.iteration_draws = self.iteration_draws, 0
        block = self.block(node.body)
        each, self.iteration_draws = self.iteration_draws, outer

        def run(e: Run) -> int:
            count, base = int(iterations(e)), e.draw
            for iteration in range(count):
                e.locals[name] = np.int32(iteration)
                e.draw = base + iteration * each
                block(e)
            e.draw = base + max(count, 0) * each
            return NEXT

        return run

    def stmt_Break(self, node: ast.Break) -> Do:
        return lambda e: BREAK

    def stmt_Continue(self, node: ast.Continue) -> Do:
        return lambda e: CONTINUE

    def stmt_Pass(self, node: ast.Pass) -> Do:
        return lambda e: NEXT

    def stmt_Return(self, node: ast.Return) -> Do:
        if node.value is None:
            return lambda e: RETURN
        value = self.expression(node.value)
        self.returns = self.returns or value.type
        scalar = isinstance(self.returns, Type) and not self.returns.shape
        evaluate = self.convert(value, self.returns) if scalar else value.run
        if isinstance(self.returns, TupleType):
            parts = value.parts or []
            runs = [p.run for p in parts]
            evaluate = (lambda e: tuple(run(e) for run in runs)) if runs else value.run

        def leave(e: Run) -> int:
            e.result = evaluate(e)
            return RETURN

        return leave

    # -- calls with effects -------------------------------------------------------------------------------------

    def stmt_Expr(self, node: ast.Expr) -> Do:
        call = node.value
        if isinstance(call, ast.Constant):
            return lambda e: NEXT
        assert isinstance(call, ast.Call)
        if isinstance(call.func, ast.Name):  # a function of the world that returns nothing
            do = self.expression(call).run
            return lambda e: (do(e), NEXT)[1]
        assert isinstance(call.func, ast.Attribute)
        name, row = call.func.attr, self.expression(call.func.value)
        if name == "spawn":
            spawn = self.spawn(call).run
            return lambda e: spawn(e) * 0 and NEXT
        at, kind = row.run, row.type.kind
        if name == "shuffle":
            return self.shuffle(call)
        if name == "fail":
            return lambda e: e.fault()
        if name == "despawn":
            return lambda e: e.despawn(kind, at(e))
        ended = f"{name}d"
        return lambda e: e.end(kind, at(e), ended)

    def spawn(self, call: ast.Call) -> Typed:
        kind = ast.unparse(call.args[0])
        values = {
            k.arg or "": self.value_for(self.world.field(kind, k.arg).type, self.expression(k.value))
            for k in call.keywords
        }
        return Typed(RefType(kind), lambda e: e.spawn(kind, {name: run(e) for name, run in values.items()}))

    def shuffle(self, call: ast.Call) -> Do:
        """The Fisher-Yates shuffle."""
        array = self.expression(call.args[0]).array
        assert array is not None
        (component, row), columns = array, self.world.tables[self.kind_of(call.args[0])]
        size, name = component.shape[0], component.name
        first = self.draw(max(size - 1, 1))

        def run(e: Run) -> int:
            values = columns[name][e.world, row(e)]
            for i in range(size - 1):
                j = int(m.integer(e.word(first + i), np.int32(i), np.int32(size)))
                values[[i, j]] = values[[j, i]]
            return NEXT

        return run
