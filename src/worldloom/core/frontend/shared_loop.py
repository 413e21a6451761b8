"""Shared loops: ``for ray in wl.share(30)``, whose iterations are divided among the threads of one entity.

Outside such loops all threads of an entity compute the same values. Inside, one thread runs each iteration, in no
particular order. An iteration may therefore write only its own element of an array, and sums and extremes that do not
depend on the order. The rules are checked for any number of threads: a loop has the same meaning on every device.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base.errors import DefinitionError
from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import bounds_of
from worldloom.core.frontend.values import ArrayType, RowType, Value
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.dtypes import FLOATS, is_composite
from worldloom.core.model.fields import Field

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.conversions import Conversions
    from worldloom.core.frontend.statements import Statements

MAX_SERIAL_STORES = 56
"""With ``threads="auto"`` an entity gets one thread if its shared loops store at most this many array elements."""


def share(iterations: int, disjoint: bool = False) -> range:
    """The numbers 0 to ``iterations - 1``, for a loop whose iterations the threads of one entity share.

    Written ``for ray in wl.share(30):`` in a system. It is a plain loop without ``@wl.system(threads=...)``, on the
    CPU, and in the interpreter.

    ``wl.share(n, disjoint=True)`` promises that no iteration uses what another one writes: in a system over the world
    components of entities, in a system over an entity elements of its arrays, at any index. Only the interpreter
    checks it: where it is broken, results of compiled code depend on the order.
    """
    return range(iterations)


@dataclass
class SharedLoop:
    """The shared loop that is being translated.

    Attributes:
        variable: The name of the loop variable.
        iterations: The number of iterations, where it is known at translation time.
        before_loop: Variables that are assigned before the loop, and so belong to all threads.
        depth: The loop depth of its body.
        draws: Random numbers that one iteration draws at most.
        reductions: Components of the own row that iterations accumulate into, each with the line.
        stored: Arrays of the own row whose elements iterations store, each with the line.
        stores: The stores of iterations: the row, the array, and the offset of the element from the iteration number.
        reads: Components of the own row that iterations read, each with the line; an iteration's own elements of
            arrays are left out.
        offsets: The offsets at which iterations access their own elements of an array, each with the line:
            ``row.array[8 + ray]``.
        serial: Whether one thread must run the loop because iterations store elements of a vector.
        disjoint: Whether the user promises that no iteration uses an element of an array that another one stores.
    """

    variable: str
    iterations: int | None
    before_loop: set[Any]
    depth: int
    draws: int = 0
    reductions: dict[str, tuple[Value, Field, int]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    stores: list[tuple[Value, Field, int]] = field(default_factory=list)
    reads: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    serial: bool = False
    disjoint: bool = False

    def own_offset(self, flow: Conversions, array: Field, subscript: ast.Subscript | None) -> int | None:
        """The offset of ``row.array[...]`` from the iteration number; None where it may be another iteration's element.

        The element is the iteration's own where the first index is the loop variable plus a known offset of at least 0.
        """
        if subscript is None or not array.is_array:
            return None
        first = (
            subscript.slice.elts[0]
            if isinstance(subscript.slice, ast.Tuple) and subscript.slice.elts
            else subscript.slice
        )
        return self._offset(flow, first)

    def _offset(self, flow: Conversions, index: ast.expr) -> int | None:
        if isinstance(index, ast.Name) and index.id == self.variable:
            return 0
        if not (isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add)):
            return None
        for base, offset in ((index.left, index.right), (index.right, index.left)):
            inner, known = self._offset(flow, base), bounds_of(flow, offset)
            if inner is not None and known is not None and known[0] == known[1] >= 0:
                return inner + known[0]
        return None

    def own(self, flow: Conversions, array: Field, subscript: ast.Subscript | None) -> bool:
        """Whether an element belongs to this iteration; its offset is recorded."""
        if self.disjoint and array.is_array and subscript is not None:
            return True
        offset = self.own_offset(flow, array, subscript)
        if offset is None or subscript is None:
            return False
        self.offsets.setdefault(array.name, {}).setdefault(offset, subscript.lineno)
        return True

    def add_read(self, flow: Conversions, array: Value, subscript: ast.Subscript | None, line: int) -> None:
        """Record that an iteration reads an element of an array that another iteration may write."""
        assert array.base is not None
        if (
            isinstance(array.base.type, RowType)
            and array.base.type.own
            and not self.own(flow, array.type.field, subscript)
        ):
            self.reads.setdefault(array.type.field.name, line)

    def store(self, flow: Conversions, row: Value, array: Field, subscript: ast.Subscript) -> None:
        """Record that an iteration stores its element of an array of the own row."""
        self.stored.setdefault(array.name, subscript.lineno)
        offset = self.own_offset(flow, array, subscript)
        if offset is not None and row.type.own and not self.disjoint:
            self.stores.append((row, array, offset))

    def check_local(self, flow: Conversions, name: str, node: ast.AST) -> None:
        """Raise DefinitionError where an iteration changes a variable that belongs to all threads."""
        if name == self.variable:
            raise flow.error(
                f"'{name}' is the loop variable of a shared loop and cannot be assigned", "use another name", node
            )
        if name in self.before_loop:
            raise flow.error(
                "race: iterations of a shared loop run at the same time,"
                f" and all would change '{name}', which is defined outside of it",
                "write each iteration's result into an array component, or accumulate into a component;"
                " or give the variable another name inside the loop",
                node,
            )

    def check_draws(self, flow: Conversions, count: int, node: ast.AST) -> None:
        """Count the random numbers of one iteration; each iteration draws a fixed number of its own."""
        if count and flow.loop_depth > self.depth:
            raise flow.error(
                "a loop inside a shared loop cannot draw random numbers, since each iteration draws a fixed number",
                "draw before the inner loop",
                node,
            )
        self.draws += count

    def vector_store_error(self, flow: Conversions, name: str, node: ast.AST) -> DefinitionError:
        """The error for a store into one number of a vector of the own row."""
        return flow.error(
            f"race: iterations of a shared loop run at the same time, and all would store '{name}', a vector",
            f"declare an array beside it, such as wl.Array(float, 8), and write its element [{self.variable}]",
            node,
        )

    def store_error(self, flow: Conversions, name: str, node: ast.AST) -> DefinitionError:
        """The error for a plain store into the own row."""
        return flow.error(
            f"race: iterations of a shared loop run at the same time, and all would store '{name}'",
            f"write the iteration's own element of an array component, {name}[{self.variable}],"
            " or accumulate with +=, -=, |=, &=, min or max",
            node,
        )

    def add_reduction(
        self, flow: Conversions, row: Value, component: Field, operator: str, kind: Any, node: ast.AST
    ) -> None:
        """Record an accumulation into the own row; DefinitionError where the result would depend on the order."""
        if is_composite(kind) or (operator in ("add", "sub") and kind in FLOATS):
            raise flow.error(
                f"the sum '{component.name}' would depend on the order of the iterations, which run at the same time",
                f"write the terms into an array component, terms[{self.variable}] = ...,"
                " and add them up in a plain loop after this one",
                node,
            )
        self.reductions.setdefault(component.name, (row, component, getattr(node, "lineno", 0)))

    def finish(self, flow: Conversions) -> None:
        """Raise DefinitionError where one iteration reads what another writes."""
        written = {**{name: line for name, (_, _, line) in self.reductions.items()}, **self.stored}
        for name, line in self.reads.items():
            if name in written:
                raise flow.source.error(
                    f"race: an iteration reads '{name}' while other iterations of the same loop write it",
                    f"read it after the loop, or in a second shared loop (line {written[name]} writes)",
                    line,
                )
        both = next((n for n in self.stored if n in self.reductions), None)
        if both is not None:
            raise flow.source.error(
                f"race: iterations store their own elements of '{both}' and accumulate into others",
                "use two loops, or two arrays",
                self.reductions[both][2],
            )
        for name in self.stored:
            self._check_offsets(flow, name)

    def _check_offsets(self, flow: Conversions, name: str) -> None:
        """Raise DefinitionError where two offsets into an array are so close that two iterations share an element."""
        offsets = self.offsets.get(name, {})  # none where the user promises that iterations are disjoint
        for low, high in itertools.pairwise(sorted(offsets)):
            if self.iterations is None or high - low < self.iterations:
                fix = "share a constant number of iterations"
                if self.iterations is not None:
                    fix = f"share at most {high - low} iterations, the difference of the offsets"
                raise flow.source.error(
                    f"race: two iterations use the same element of '{name}', at offsets {low} and {high}",
                    f"{fix}, or use two loops",
                    max(offsets[low], offsets[high]),
                )


def translate_shared_loop(flow: Statements, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
    """The code of ``for name in wl.share(iterations)``."""
    if flow.shared_loop is not None:
        raise flow.error(
            "a shared loop inside a shared loop", "share the outer loop, and write range(...) in the inner one", node
        )
    if not flow.world_system and not any(isinstance(v.type, RowType) and v.type.own for v in flow.parameters.values()):
        raise flow.error(
            "a shared loop needs a system over one entity or over the world, whose threads share it",
            "write range(...)",
            node,
        )
    disjoint = _promises_disjoint(flow, call)
    if flow.assigned is not None and name in flow.assigned:
        raise flow.error(f"'{name}' is assigned before the shared loop", "use another name in the loop", node)
    bound = flow.expression(call.args[0])
    code = flow.convert(bound, wp.int32, call.args[0], "the number of iterations")
    flow.temporary_count += 1
    counter, total, base = f"wl_i_{name}", f"wl_turns{flow.temporary_count}", f"wl_base{flow.temporary_count}"
    before = set(flow.assigned or ())
    start_of_body = flow.assign_local(name, Value(flow.target.cast(nodes.name(counter), wp.int32), wp.int32), node)
    known = bounds_of(flow, call.args[0])
    shared_loop = SharedLoop(
        name,
        known[0] if known is not None and known[0] == known[1] else None,
        before,
        flow.loop_depth + 1,
        disjoint=disjoint and not flow.world_system,
    )
    flow.shared_loop = shared_loop
    body = start_of_body + flow.counted_body(name, call.args, node.body)
    flow.shared_loop, flow.assigned = None, before
    shared_loop.finish(flow)
    flow.shared_loops.append(shared_loop)
    count: ast.expr = nodes.name(total) if shared_loop.iterations is None else nodes.constant(shared_loop.iterations)
    start: list[ast.stmt] = (
        [nodes.assign(total, flow.target.as_variable(code, wp.int32))] if shared_loop.iterations is None else []
    )
    end: list[ast.stmt] = []
    if shared_loop.draws:
        start.append(nodes.assign(base, nodes.name("wl_draw")))
        draws = nodes.constant(shared_loop.draws)
        body = [
            nodes.assign(
                "wl_draw",
                nodes.binary(nodes.name(base), ast.Add(), nodes.binary(nodes.name(counter), ast.Mult(), draws)),
            ),
            *body,
        ]
        total_iterations = nodes.warp("max", count, flow.target.literal(0, wp.int32))
        end.append(
            nodes.assign(
                "wl_draw", nodes.binary(nodes.name(base), ast.Add(), nodes.binary(total_iterations, ast.Mult(), draws))
            )
        )
    reductions = [(row, component) for row, component, _ in shared_loop.reductions.values() if not component.is_array]
    if shared_loop.iterations is not None:
        for row, component, first_index in {
            (component.name, first_index): (row, component, first_index)
            for row, component, first_index in shared_loop.stores
        }.values():
            start += flow.target.prefetch(row, component, first_index, shared_loop.iterations)
    return [*start, *flow.target.loop_shared(counter, count, body, reductions, disjoint), *end]


def _promises_disjoint(flow: Statements, call: ast.Call) -> bool:
    """Whether ``wl.share`` is called with ``disjoint=True``; DefinitionError where that does not suit its system."""
    given = {k.arg: k.value.value if isinstance(k.value, ast.Constant) else None for k in call.keywords}
    if len(call.args) != 1 or given.keys() - {"disjoint"} or type(given.get("disjoint", False)) is not bool:
        raise flow.error("wl.share takes the number of iterations", "write for example wl.share(30)", call)
    disjoint = given.get("disjoint") is True
    if flow.world_system and not flow.in_helper and not disjoint:
        raise flow.error(
            "race: iterations of a shared loop run at the same time, and may change the same entity",
            "write wl.share(..., disjoint=True) if no iteration uses what another one writes, else range(...)",
            call,
        )
    return disjoint


def auto_threads(loops: list[SharedLoop]) -> int:
    """Threads per entity for a system with ``threads="auto"``: a warp if its shared loops have enough work."""
    if any(loop.serial for loop in loops):
        return 1
    if any(loop.iterations is None or loop.reductions or not loop.stores for loop in loops):
        return WARP_SIZE
    stores = sum(loop.iterations * len(loop.stores) for loop in loops if loop.iterations is not None)
    return WARP_SIZE if stores > MAX_SERIAL_STORES else 1


def check_array_size(flow: Conversions, array: Value, subscript: ast.Subscript) -> None:
    """Raise DefinitionError where the iterations of a shared loop exceed the array that they index."""
    assert flow.shared_loop is not None and isinstance(array.type, ArrayType)
    if flow.shared_loop.disjoint:  # a step checks the index
        return
    size, iterations = array.type.field.shape[0], flow.shared_loop.iterations
    offset = flow.shared_loop.own_offset(flow, array.type.field, subscript)
    if iterations is not None and offset is not None and offset + iterations > size:
        start = f" from index {offset}" if offset else ""
        raise flow.error(
            f"overflow: {iterations} iterations{start} do not fit into '{array.type.field.name}' of size {size}",
            f"share {max(size - offset, 0)} iterations at most",
            subscript,
        )
