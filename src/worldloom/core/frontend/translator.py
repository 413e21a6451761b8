"""One translation of one function, and the function made of its code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import warp as wp

from worldloom.core.arithmetic.functions import python_math
from worldloom.core.arithmetic.values import component, with_component
from worldloom.core.base.source import Source
from worldloom.core.frontend import nodes
from worldloom.core.frontend.statements import Statements
from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.frontend.targets.python_target import NOTES, PythonTarget
from worldloom.core.frontend.values import RefType, is_plain
from worldloom.core.kernels.exact import INTERPRETED
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.model.dtypes import FLOATS, is_composite


class Translator(Statements):
    """One translation of one function: its code, and the variables assigned at each of its exits."""

    def run(self) -> None:
        self.body: list[ast.stmt] = []
        self.exits: list[tuple[ast.Return, set[Any]]] = []
        self.body += self.block(self.source.tree.body)

    def emit_exit(self) -> list[ast.stmt]:
        exit = ast.Return(None)
        self.exits.append((exit, set(self.assigned or ())))
        return [exit]

    def declarations(self, types: dict[str, Any], skip: set[str] | None = None) -> list[ast.stmt]:
        """Assignments of zero to every local variable, so that its type is defined before the first branch."""
        return [
            nodes.assign(
                self.target.local(name),
                zero(kind if is_plain(kind) else wp.int64 if isinstance(kind, RefType) else wp.int32, types),
            )
            for name, kind in self.locals.items()
            if name not in (skip or ())
        ]


def zero(kind: Any, types: dict[str, Any]) -> ast.expr:
    code = type_code(kind, types)
    value = "" if is_composite(kind) else "False" if kind is wp.bool else "0.0" if kind in FLOATS else "0"
    return ast.parse(f"{code}({value})", mode="eval").body


def body_text(body: list[ast.stmt]) -> str:
    _add_line_numbers(body)
    return "\n".join("    " + line for line in ast.unparse(ast.Module(body or [ast.Pass()], [])).splitlines())


def _add_line_numbers(body: list[ast.stmt]) -> None:
    """Give every statement a line number, which ``ast.unparse`` requires; expressions need none."""
    for statement in body:
        statement.lineno = getattr(statement, "lineno", 1)
        for part in ("body", "orelse"):
            _add_line_numbers(getattr(statement, part, []))


def function_text(name: str, head: str, body: list[ast.stmt]) -> str:
    return f"@wp.func\ndef {name}({head}):\n{body_text(body)}\n"


def compile_python(
    source: Source, flow: Translator, names: list[str], target: PythonTarget, runtime: Any
) -> Callable[..., Any]:
    arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    start: list[ast.stmt] = [nodes.assign("wl_draw", nodes.constant(0))]
    function = ast.FunctionDef(source.name, arguments, start + flow.body, [], None, None)
    ast.copy_location(function, source.tree)
    for item in start:
        ast.copy_location(item, source.tree)
    module = ast.fix_missing_locations(ast.Module([function], []))
    space = dict(source.names())  # for print and breakpoint, which are copied unchanged
    space.update(wp=python_math, wl_runtime=runtime, wl_component=component, wl_replace=with_component)
    space.update({name: python for name, (_, python) in HELPERS.items()})
    space.update(INTERPRETED)
    space.update(target.objects)
    if target.promised:
        space.update({f"wl_note_{name}": getattr(runtime.promises, name) for name in NOTES})
    space.update({f"wl_helper_{name}": helper.python_function(target.exact) for name, helper in target.helpers.items()})
    exec(compile(module, source.file, "exec"), space)  # noqa: S102
    compiled: Callable[..., Any] = space[source.name]
    return compiled
