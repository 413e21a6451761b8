"""Statements: branches, loops and calls of a system or a helper, from the user's syntax to typed code."""

from __future__ import annotations

import ast
import functools
from typing import Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.assignments import Assignments
from worldloom.core.frontend.bounds import bounds_of, range_bounds, reassigned, stays_in_range
from worldloom.core.frontend.calls import effects
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.neighbours import QUERIES, translate_query
from worldloom.core.frontend.row_copy import CopyComponents, translate_copy
from worldloom.core.frontend.shared_loop import share, translate_shared_loop
from worldloom.core.frontend.unrolled_loop import translate_unrolled_loop, unroll
from worldloom.core.frontend.values import RowType, TupleType, Value, WorldType, describe, is_plain

LOOP_LIMIT = 100_000
_HINTS = {
    "With": "systems have no resources to open or close",
    "Try": "systems cannot raise; test the condition with 'if'",
    "Raise": "end the episode with world.terminate(), or test the condition with 'if'",
    "Assert": "test the condition with 'if' and end the episode with world.terminate()",
    "FunctionDef": "define the function outside, with @wl.function",
    "Import": "import at the top of the file",
    "ImportFrom": "import at the top of the file",
    "Global": "keep state in components; a system has no other memory",
    "Nonlocal": "keep state in components; a system has no other memory",
    "Delete": "give the variable another value instead",
    "Match": "use if, elif and else",
}


class Statements(Assignments):
    """Translates statements. ``in_helper`` makes ``return value`` possible."""

    in_helper = False
    returns: Any = None

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Translate the statements of one block; code after a return, break or continue is dropped."""
        out: list[ast.stmt] = []
        for statement in body:
            if self.assigned is None:
                break
            out += self.statement(statement)
        return out or [ast.Pass()]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        kind = type(node).__name__
        method = getattr(self, f"stmt_{kind}", None)
        if method is None:
            raise self.unsupported(
                f"'{ast.unparse(node).splitlines()[0]}'",
                node,
                _HINTS.get(kind, "see docs/python.md for the Python that systems may use"),
            )
        outer, self.draws, self.draw_count = (self.draws, self.draw_count), [], 0
        code: list[ast.stmt] = method(node)
        if self.draw_count:
            for constant, index in self.draws:
                constant.value = index - self.draw_count
            step = nodes.binary(nodes.name("wl_draw"), ast.Add(), nodes.constant(self.draw_count))
            code = [nodes.assign("wl_draw", step), *code]
        if self.shared_loop is not None:
            self.shared_loop.check_draws(self, self.draw_count, node)
        self.draws, self.draw_count = outer
        for item in code:
            ast.copy_location(item, node)
        return code

    def refuse_draws(self, before: int, node: ast.AST) -> None:
        if self.draw_count != before:
            raise self.error(
                "a random number cannot be drawn in the condition of a loop",
                "draw it into a variable first",
                node,
            )

    def stmt_If(self, node: ast.If) -> list[ast.stmt]:
        test = self.target.condition(self.truth(node.test))
        before = set(self.assigned or ())
        body = self.block(node.body)
        after_body, self.assigned = self.assigned, set(before)
        orelse = self.block(node.orelse) if node.orelse else []
        self.assigned = _merge(after_body, self.assigned)
        return [ast.If(test, body, orelse)]

    def stmt_While(self, node: ast.While) -> list[ast.stmt]:
        if node.orelse:
            raise self.unsupported("'else' after a loop", node, "set a variable before 'break' and test it")
        draws = self.draw_count
        test = self.truth(node.test)
        self.refuse_draws(draws, node.test)
        body = self.loop_body(node.body)
        endless = isinstance(test, ast.Constant) and test.value is True and not _breaks(node.body)
        if self.in_helper:
            self.assigned = None if endless else self.assigned
            return [ast.While(test, body, [])]
        loop: list[ast.stmt] = self.limited_while(test, body, node)
        if endless:  # no statement of the user follows
            self.refuse_leaving(node)
            loop += self.emit_exit()
            self.assigned = None
        return loop

    def limited_while(self, test: ast.expr, body: list[ast.stmt], node: ast.While) -> list[ast.stmt]:
        """A loop that ends with a fault after LOOP_LIMIT iterations: an endless loop is undefined behaviour in C++."""
        self.temporary_count += 1
        counter = f"wl_turns{self.temporary_count}"
        over = ast.Compare(nodes.name(counter), [ast.Gt()], [self.target.literal(LOOP_LIMIT, wp.int32)])
        fault = self.target.fault(
            f"a loop ran more than {LOOP_LIMIT:,} times", node.lineno, self.target.literal(0, wp.int32)
        )
        count = nodes.assign(counter, nodes.binary(nodes.name(counter), ast.Add(), self.target.literal(1, wp.int32)))
        zero = nodes.assign(counter, self.target.as_variable(self.target.literal(0, wp.int32), wp.int32))
        return [zero, ast.While(test, [count, ast.If(over, [*fault, ast.Break()], []), *body], [])]

    def stmt_For(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            raise self.unsupported("'else' after a loop", node, "set a variable before 'break' and test it")
        if not isinstance(node.target, ast.Name):
            raise self.unsupported("a loop over several names", node, "loop over one name")
        call = node.iter
        if isinstance(call, ast.Call) and self.static(call.func) is range and not call.keywords:
            return self.for_range(node.target.id, call, node)
        if isinstance(call, ast.Call) and self.static(call.func) is share:
            return translate_shared_loop(self, node.target.id, call, node)
        if isinstance(call, ast.Call) and self.static(call.func) is unroll:
            return translate_unrolled_loop(self, node.target.id, call, node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("all", *QUERIES):
            holder = self.expression(call.func.value)
            if isinstance(holder.type, WorldType):
                translate = self.for_rows if call.func.attr == "all" else functools.partial(translate_query, self)
                return translate(node.target.id, call, node)
        raise self.unsupported(
            f"a loop over '{ast.unparse(call)}'",
            node,
            "loop over range(...), world.all(Kind), world.near(...) or world.nearest(...)",
        )

    def for_range(self, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
        if not 1 <= len(call.args) <= 3:
            raise self.error("range() takes one to three numbers", "give it a bound", node)
        bounds = [self.bound(a) for a in call.args]
        step = 1 if len(call.args) < 3 else self.expression(call.args[2]).const
        if step in (None, 0):
            raise self.error(
                "the step of range() is an integer literal other than 0",
                "write for example range(10, 0, -1)",
                call.args[2],
            )
        overflows = abs(step) > 1 and not stays_in_range(bounds_of(self, call.args[1]), step)
        counter = f"wl_i_{name}"
        before = set(self.assigned or ())
        first = self.assign_local(name, Value(self.target.cast(nodes.name(counter), wp.int32), wp.int32), node)
        body = first + self.counted_body(name, call.args, node.body)
        self.assigned = before
        return self.target.loop_range(counter, bounds, step, overflows, body)

    def bound(self, node: ast.expr) -> ast.expr:
        """A bound of range(), as a literal where it is known: compilers unroll loops of a constant length."""
        code, known = self.number(node, wp.int32, "a bound of range()"), bounds_of(self, node)
        return nodes.constant(known[0]) if known is not None and known[0] == known[1] else code

    def for_rows(self, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
        kind = self.kind_argument(call, "all")
        return self.target.loop_rows(self.target.local(name), kind, self.rows_body(name, kind, node))

    def rows_body(self, name: str, kind: Any, node: ast.For) -> list[ast.stmt]:
        """The body of a loop whose variable ``name`` is one entity of ``kind`` after the other."""
        known = self.locals.setdefault(name, RowType(kind, own=False))
        if known != RowType(kind, own=False) or name in self.parameters:
            raise self.error(f"'{name}' is already {describe(known)}", "use another name in the loop", node)
        if self.shared_loop is not None:
            self.shared_loop.check_local(self, name, node)
        before = set(self.assigned or ())
        if self.assigned is not None:
            self.assigned.add(name)
        body = self.loop_body(node.body)
        self.assigned = before
        return body

    def counted_body(self, name: str, bounds: list[ast.expr], body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a loop over ``range(*bounds)``; the bounds of the counter ``name`` are recorded where known."""
        known = None if reassigned(body, name) else range_bounds(self, bounds)
        outer = self.counters.pop(name, None)
        if known is not None:
            self.counters[name] = known
        code = self.loop_body(body)
        self.counters.pop(name, None)
        if outer is not None:
            self.counters[name] = outer
        return code

    def loop_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        before = set(self.assigned or ())
        self.loop_depth += 1
        code = self.block(body)
        self.loop_depth -= 1
        self.assigned = before
        return code

    def refuse_leaving(self, node: ast.AST) -> None:
        """Raise DefinitionError where an iteration of a shared loop would end the whole loop."""
        if self.shared_loop is not None:
            raise self.error(
                "an iteration of a shared loop cannot leave the loop, since the others run at the same time",
                "use 'continue' to end the iteration",
                node,
            )

    def stmt_Break(self, node: ast.Break) -> list[ast.stmt]:
        if self.shared_loop is not None and self.loop_depth == self.shared_loop.depth:
            self.refuse_leaving(node)
        self.assigned = None
        return [ast.Break()]

    def stmt_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        self.assigned = None
        return [ast.Continue()]

    def stmt_Pass(self, node: ast.Pass) -> list[ast.stmt]:
        return [ast.Pass()]

    def stmt_Return(self, node: ast.Return) -> list[ast.stmt]:
        if not self.in_helper:
            if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
                raise self.error("a system returns nothing", "write its result into a component", node)
            self.refuse_leaving(node)
            code: list[ast.stmt] = self.emit_exit()
        else:
            code = [self.return_value(node)]
        self.assigned = None
        return code

    def emit_exit(self) -> list[ast.stmt]:
        """The end of one run of a system."""
        raise NotImplementedError  # Translator records the assigned variables at every exit

    def return_value(self, node: ast.Return) -> ast.stmt:
        if node.value is None:
            raise self.error("a helper returns a value", "return a number or a vector", node)
        value = self.expression(node.value)
        kinds = value.type.items if isinstance(value.type, TupleType) else (value.type,)
        if not all(is_plain(k) for k in kinds):
            raise self.error(f"{describe(value.type)} cannot be returned", "return numbers or vectors", node)
        if self.returns is None:
            self.returns = value.type
        if isinstance(value.type, TupleType):
            if self.returns != value.type:
                raise self.error(
                    f"wrong type: it returned {describe(self.returns)} before, and {describe(value.type)} here",
                    "return the same types everywhere",
                    node,
                )
            return ast.Return(value.node)
        return ast.Return(self.convert(value, self.returns, node, "what it returned before"))

    def stmt_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return []
        if isinstance(value, ast.Call):
            if self.static(value.func) in (print, breakpoint):
                return self.target.debug(node)
            copy = self.static(value.func)
            if isinstance(copy, CopyComponents):
                return translate_copy(self, copy, value)
            if effects.is_spawn(value, self):
                return effects.spawn(self, value)[0]
            if isinstance(value.func, ast.Attribute) and self.static(value.func) is MISSING:
                code = effects.method_statement(self, value, value.func)
                if code is not None:
                    return code
        self.expression(value)
        raise self.error(f"'{ast.unparse(value)}' has no effect", "assign its value, or remove the line", node)


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a loop with this body can be left with 'break'."""
    inner = (ast.For, ast.While)
    return any(
        isinstance(s, ast.Break)
        or (not isinstance(s, inner) and any(_breaks(getattr(s, part, [])) for part in ("body", "orelse")))
        for s in body
    )


def _merge(one: set[Any] | None, two: set[Any] | None) -> set[Any] | None:
    if one is None or two is None:
        return one if two is None else two
    return one & two
