"""Miscompilations planted in the code generator, one at a time, and the number of systems until the fuzzer finds each.

The script, ``python tests/fuzz/planted_faults.py``, prints a table. Each fault affects only compiled code, and only
some systems, so that finding it takes varied worlds.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.expressions.expressions import Expressions
from worldloom.core.frontend.statements import Statements
from worldloom.core.frontend.targets.kernel_reductions import KernelReductions
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.frontend.targets.uniform import UniformControl
from worldloom.core.schedule import row_lists
from worldloom.testing.campaign import fuzz_world, scratch
from worldloom.testing.coverage import NEAR

Plant = Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def patched(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """``owner.name`` replaced by what ``make`` makes of it."""
    before = getattr(owner, name)
    setattr(owner, name, make(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


def compiled(flow: Any) -> bool:
    return isinstance(flow.target, KernelTarget)


def dropped_store() -> contextlib.AbstractContextManager[None]:
    """Components of 16 bits are not stored."""

    def make(write: Any) -> Any:
        def planted(self: Any, row: Any, field: Any, value: ast.expr) -> list[ast.stmt]:
            made = write(self, row, field, value)
            return (
                [nodes.assign("wl_planted", value)]
                if field.dtype in (wp.int16, wp.uint16) and not self.engine
                else made
            )

        return planted

    return patched(KernelTarget, "write", make)


def swapped_branch() -> contextlib.AbstractContextManager[None]:
    """The branches of an ``if`` with an ``elif`` are swapped."""

    def make(statement: Any) -> Any:
        def planted(self: Any, node: ast.If) -> list[ast.stmt]:
            made = statement(self, node)
            branch = made[-1]
            if compiled(self) and isinstance(branch, ast.If) and node.orelse and isinstance(node.orelse[0], ast.If):
                branch.body, branch.orelse = branch.orelse, branch.body
            return list(made)

        return planted

    return patched(Statements, "stmt_If", make)


def wrong_bound() -> contextlib.AbstractContextManager[None]:
    """A loop over entities leaves out the last one."""

    def make(loop: Any) -> Any:
        def planted(self: Any, name: str, kind: Any, body: list[ast.stmt]) -> list[ast.stmt]:
            made = loop(self, name, kind, body)
            call = made[-1].iter
            call.args[0] = nodes.binary(call.args[0], ast.Sub(), nodes.constant(1))
            return list(made)

        return planted

    return patched(KernelTarget, "loop_rows", make)


def off_by_one_range() -> contextlib.AbstractContextManager[None]:
    """A loop that counts down takes one turn too many."""

    def make(statement: Any) -> Any:
        def planted(self: Any, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
            if compiled(self) and len(call.args) == 3 and ast.unparse(call.args[2]) == "-1":
                longer = ast.copy_location(ast.BinOp(call.args[1], ast.Sub(), ast.Constant(1)), call)
                call = ast.fix_missing_locations(
                    ast.copy_location(ast.Call(call.func, [call.args[0], longer, call.args[2]], []), call)
                )
            made: list[ast.stmt] = statement(self, name, call, node)
            return made

        return planted

    return patched(Statements, "for_range", make)


def lost_accumulate() -> contextlib.AbstractContextManager[None]:
    """The smallest and the largest number of many are not kept."""

    def make(accumulate: Any) -> Any:
        def planted(self: Any, row: Any, field: Any, operator: str, value: ast.expr, indices: Any) -> list[ast.stmt]:
            made: list[ast.stmt] = accumulate(self, row, field, operator, value, indices)
            return [ast.Pass()] if operator in ("min", "max") else made

        return planted

    return patched(KernelTarget, "accumulate", make)


def wrong_operator() -> contextlib.AbstractContextManager[None]:
    """Differences of numbers of 64 bits are sums."""

    def make(integer: Any) -> Any:
        return lambda self, name, kind, arguments: integer(
            self, "add" if name == "sub" and kind is wp.int64 else name, kind, arguments
        )

    return patched(KernelTarget, "integer", make)


def wrong_index() -> contextlib.AbstractContextManager[None]:
    """The last two indices of an array of three dimensions are swapped."""

    def make(element: Any) -> Any:
        def planted(self: Any, row: Any, field: Any, indices: list[ast.expr]) -> ast.expr:
            found: ast.expr = element(
                self, row, field, [indices[0], indices[2], indices[1]] if len(indices) == 3 else indices
            )
            return found

        return planted

    return patched(KernelTarget, "element", make)


def skipped_system() -> contextlib.AbstractContextManager[None]:
    """A system over pairs is left out."""

    def make(group: Any) -> Any:
        def planted(entries: Any, schedule: Any, functions: Any, fuse: bool) -> Any:
            return group([e for e in entries if "__with__" not in getattr(e, "table", "")], schedule, functions, fuse)

        return planted

    return patched(sys.modules["worldloom.core.codegen.program"], "group", make)


def wrong_cast() -> contextlib.AbstractContextManager[None]:
    """A number cut down to 8 bits loses its sign."""

    def make(cast: Any) -> Any:
        def planted(self: Any, node: ast.expr, kind: Any) -> ast.expr:
            if kind is wp.int8 and not isinstance(node, ast.Constant):
                return cast(self, nodes.binary(cast(self, node, wp.int32), ast.BitAnd(), nodes.constant(127)), kind)
            return cast(self, node, kind)

        return planted

    return patched(KernelTarget, "cast", make)


def swapped_ternary() -> contextlib.AbstractContextManager[None]:
    """A choice between two truth values gives the other one."""

    def make(expression: Any) -> Any:
        def planted(self: Any, node: ast.IfExp) -> Any:
            value = expression(self, node)
            if compiled(self) and value.type is wp.bool and isinstance(value.node, ast.IfExp):
                value.node.body, value.node.orelse = value.node.orelse, value.node.body
            return value

        return planted

    return patched(Expressions, "expr_IfExp", make)


def stale_condition() -> contextlib.AbstractContextManager[None]:
    """The condition of a branch is read again behind it."""
    return patched(KernelTarget, "condition", lambda condition: lambda self, test: test)


def short_circuit() -> contextlib.AbstractContextManager[None]:
    """``or`` is ``and`` in a comparison of several parts."""

    def make(expression: Any) -> Any:
        def planted(self: Any, node: ast.Compare) -> Any:
            value = expression(self, node)
            if compiled(self) and len(node.ops) > 1 and isinstance(value.node, ast.BoolOp):
                value.node.op = ast.Or()
            return value

        return planted

    return patched(Expressions, "expr_Compare", make)


def unguarded_jump() -> contextlib.AbstractContextManager[None]:
    """A world that leaves a loop takes all worlds of its warp along."""

    def make(statement: Any) -> Any:
        def planted(self: Any, node: ast.stmt, here: str, loop: Any) -> list[ast.stmt]:
            made: list[ast.stmt] = statement(self, node, here, loop)
            jumps = isinstance(node, ast.Break | ast.Continue)
            return list(made[0].body) if jumps and isinstance(made[0], ast.If) else made

        return planted

    return patched(UniformControl, "_statement", make)


def missing_barrier() -> contextlib.AbstractContextManager[None]:
    """Threads go on while others are still in the shared loop."""

    def make(loop: Any) -> Any:
        def planted(self: Any, *arguments: Any) -> list[ast.stmt]:
            made: list[ast.stmt] = loop(self, *arguments)
            return made[:-1] if self.threads > 1 else made

        return planted

    return patched(KernelReductions, "loop_shared", make)


def unlisted_choices() -> contextlib.AbstractContextManager[None]:
    """Entities with an action that does not exist are in no list."""
    return patched(row_lists, "_num_choices", lambda choices: lambda node: 0)


PLANTED: dict[str, Plant] = {
    "dropped store": dropped_store,
    "swapped branch": swapped_branch,
    "wrong bound": wrong_bound,
    "off-by-one range": off_by_one_range,
    "lost accumulate": lost_accumulate,
    "wrong operator": wrong_operator,
    "wrong index": wrong_index,
    "skipped system": skipped_system,
    "wrong cast": wrong_cast,
    "swapped ternary": swapped_ternary,
    "stale condition": stale_condition,
    "comparison of several parts": short_circuit,
    "unguarded jump": unguarded_jump,
    "missing barrier": missing_barrier,
    "unlisted choices": unlisted_choices,
}
"""The faults, by name."""
ON_CUDA = ("unguarded jump", "missing barrier", "unlisted choices")
"""Those in the text of kernels for CUDA."""


def systems_until_found(name: str, systems: int, most: int, seed: int = 0) -> tuple[int, str]:
    """The number of systems until a planted fault was found, and its difference; 0 if ``most`` worlds did not."""
    compared = 0
    variant, avoid = ("cuda-text", NEAR) if name in ON_CUDA else ("cpu-unfused", ())
    with PLANTED[name](), scratch() as folder:
        for world in range(most):
            report = fuzz_world(seed + world, systems, [variant], folder, avoid)
            compared += report.systems
            if report.differences:
                return compared, report.differences[0]
    return 0, ""


def main() -> None:
    missed = 0
    for name in sys.argv[1:] or PLANTED:
        start = time.perf_counter()
        count, how = systems_until_found(name, 30, 12)
        missed += not count
        result = f"found within {count} systems" if count else "NOT FOUND"
        print(f"{name:28s} {result} ({time.perf_counter() - start:.0f} s) {how.partition(chr(10))[0]}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
