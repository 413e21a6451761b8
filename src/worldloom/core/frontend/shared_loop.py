"""Shared loops: ``for ray in wl.share(30)``, whose turns the threads of one entity share among them.

Outside such loops all threads of an entity compute the same. Inside, a turn is run by one of them, in no order, so that a turn may
only touch what no other turn does: its own element of an array, and sums and extremes whose order does not matter. The rules are
checked whatever the number of threads, so that a loop means the same on every device.
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
from worldloom.core.model.fields import FLOATS, Field, is_composite

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions import Expressions
    from worldloom.core.frontend.statements import Statements


def share(turns: int) -> range:
    """The numbers 0 to ``turns - 1``, for a loop in a system whose turns the threads of one entity share: ``for ray in wl.share(30):``.

    Without ``@wl.system(threads=...)``, on the CPU and interpreted it is a plain loop.
    """
    return range(turns)


@dataclass
class SharedLoop:
    """The shared loop that is being understood.

    Attributes:
        variable: The name that holds the number of the turn.
        turns: How many turns there are, where that is known beforehand.
        outside: Variables that have a value before the loop, and so belong to all threads.
        depth: How many loops there are around its body.
        draws: Random numbers that one turn draws at most.
        gathered: Components of the own row that turns accumulate into, each with the line.
        stored: Arrays of the own row whose elements turns store, each with the line.
        places: Where turns store: the row, the array, and how far the elements lie behind the turns' numbers.
        seen: What turns read of the own row, likewise; of arrays only what is not the turn's own element.
        offsets: How far the turns' own elements of an array lie behind their numbers, each with the line: ``row.array[8 + ray]``.
    """

    variable: str
    turns: int | None
    before_loop: set[Any]
    depth: int
    draws: int = 0
    reductions: dict[str, tuple[Value, Field, int]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    places: list[tuple[Value, Field, int]] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)

    def own_offset(self, flow: Expressions, array: Field, subscript: ast.Subscript | None) -> int | None:
        """How far behind the turn's number the element ``row.array[...]`` lies that belongs to this turn; None where it need not.

        It does where the first index is the turn's number, or that and a number known beforehand that is not negative.
        """
        if subscript is None or not array.is_array:
            return None
        first = (
            subscript.slice.elts[0]
            if isinstance(subscript.slice, ast.Tuple) and subscript.slice.elts
            else subscript.slice
        )
        return self._offset(flow, first)

    def _offset(self, flow: Expressions, index: ast.expr) -> int | None:
        if isinstance(index, ast.Name) and index.id == self.variable:
            return 0
        if not (isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add)):
            return None
        for turn, more in ((index.left, index.right), (index.right, index.left)):
            inner, known = self._offset(flow, turn), bounds_of(flow, more)
            if inner is not None and known is not None and known[0] == known[1] >= 0:
                return inner + known[0]
        return None

    def own(self, flow: Expressions, array: Field, subscript: ast.Subscript | None) -> bool:
        """Whether an element belongs to this turn, which is noted."""
        offset = self.own_offset(flow, array, subscript)
        if offset is None or subscript is None:
            return False
        self.offsets.setdefault(array.name, {}).setdefault(offset, subscript.lineno)
        return True

    def add_read(self, flow: Expressions, array: Value, subscript: ast.Subscript | None, line: int) -> None:
        """Note that a turn reads an element of an array, one that another turn may write."""
        assert array.base is not None
        if (
            isinstance(array.base.type, RowType)
            and array.base.type.own
            and not self.own(flow, array.type.field, subscript)
        ):
            self.seen.setdefault(array.type.field.name, line)

    def store(self, flow: Statements, row: Value, array: Field, subscript: ast.Subscript) -> None:
        """Note that a turn stores its element of an array of the own row."""
        self.stored.setdefault(array.name, subscript.lineno)
        offset = self.own_offset(flow, array, subscript)
        if offset is not None:
            self.places.append((row, array, offset))

    def check_local(self, flow: Statements, name: str, node: ast.AST) -> None:
        """DefinitionError where a turn changes a variable that belongs to all threads."""
        if name == self.variable:
            raise flow.error(f"'{name}' is the number of the turn and cannot be replaced", "use another name", node)
        if name in self.before_loop:
            raise flow.error(
                f"race: turns of a shared loop run at the same time, and all would change '{name}', which lives outside of it",
                "write each turn's result into an array component, or accumulate into a component; or give the variable another name inside the loop",
                node,
            )

    def check_draws(self, flow: Statements, count: int, node: ast.AST) -> None:
        """Each turn has random numbers of its own, as many as its statements draw once."""
        if count and flow.loop_depth > self.depth:
            raise flow.error(
                "a loop inside a shared loop cannot draw random numbers, since each turn has a fixed number of its own",
                "draw before the inner loop",
                node,
            )
        self.draws += count

    def vector_store_error(self, flow: Statements, name: str, node: ast.AST) -> DefinitionError:
        """What is said of a store into a part of a vector of the own row."""
        return flow.error(
            f"race: turns of a shared loop run at the same time, and all would store '{name}', a vector",
            f"declare an array beside it, such as wl.Array(float, 8), and write its element [{self.variable}]",
            node,
        )

    def store_error(self, flow: Statements, name: str, node: ast.AST) -> DefinitionError:
        """What is said of a plain store into the own row."""
        return flow.error(
            f"race: turns of a shared loop run at the same time, and all would store '{name}'",
            f"write an array component at the turn's own place, {name}[{self.variable}], or accumulate with +=, -=, |=, &=, min or max",
            node,
        )

    def add_reduction(self, flow: Statements, row: Value, held: Field, operator: str, kind: Any, node: ast.AST) -> None:
        """Note that turns accumulate into a component of the own row; DefinitionError where the order of the turns would show."""
        if is_composite(kind) or (operator in ("add", "sub") and kind in FLOATS):
            raise flow.error(
                f"the sum '{held.name}' would depend on the order of the turns, which run at the same time",
                f"write the terms into an array component, terms[{self.variable}] = ..., and add them up in a plain loop after this one",
                node,
            )
        self.reductions.setdefault(held.name, (row, held, getattr(node, "lineno", 0)))

    def finish(self, flow: Statements) -> None:
        """DefinitionError where one turn reads what another writes."""
        written = {**{name: line for name, (_, _, line) in self.reductions.items()}, **self.stored}
        for name, line in self.seen.items():
            if name in written:
                raise flow.source.error(
                    f"race: a turn reads '{name}' while other turns of the same loop write it",
                    f"read it after the loop, or in a second shared loop (line {written[name]} writes)",
                    line,
                )
        both = next((n for n in self.stored if n in self.reductions), None)
        if both is not None:
            raise flow.source.error(
                f"race: turns store their own elements of '{both}' and accumulate into others",
                "use two loops, or two arrays",
                self.reductions[both][2],
            )
        for name in self.stored:
            self._check_apart(flow, name)

    def _check_apart(self, flow: Statements, name: str) -> None:
        """DefinitionError where the element of one turn is that of another too, since they lie too close behind each other."""
        offsets = self.offsets[name]
        for low, high in itertools.pairwise(sorted(offsets)):
            if self.turns is None or high - low < self.turns:
                apart = (
                    "as many turns as they differ by, at most"
                    if self.turns is not None
                    else "a number of turns that is known beforehand"
                )
                raise flow.source.error(
                    f"race: a turn's element of '{name}' is another turn's too, {high - low} places behind its own",
                    f"share {apart}, or use two loops",
                    max(offsets[low], offsets[high]),
                )


def translate_shared_loop(flow: Statements, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
    """The code of ``for name in wl.share(turns)``."""
    if flow.turns is not None:
        raise flow.error(
            "a shared loop inside a shared loop", "share the outer loop, and write range(...) in the inner one", node
        )
    if not any(isinstance(v.type, RowType) and v.type.own for v in flow.parameters.values()):
        raise flow.error(
            "a shared loop stands in a system over one entity, whose threads share it", "write range(...)", node
        )
    if len(call.args) != 1 or call.keywords:
        raise flow.error("wl.share takes the number of turns", "write for example wl.share(30)", call)
    if flow.assigned is not None and name in flow.assigned:
        raise flow.error(f"'{name}' has a value before the shared loop", "use another name in the loop", node)
    bound = flow.expression(call.args[0])
    code = flow.convert(bound, wp.int32, call.args[0], "the number of turns")
    flow.temporary_count += 1
    counter, total, base = f"wl_i_{name}", f"wl_turns{flow.temporary_count}", f"wl_base{flow.temporary_count}"
    before = set(flow.assigned or ())
    first = flow.assign_local(name, Value(flow.target.cast(nodes.name(counter), wp.int32), wp.int32), node)
    known = bounds_of(flow, call.args[0])
    turns = SharedLoop(
        name, known[0] if known is not None and known[0] == known[1] else None, before, flow.loop_depth + 1
    )
    flow.turns = turns
    body = first + flow.counted_body(name, call.args, node.body)
    flow.turns, flow.assigned = None, before
    turns.finish(flow)
    count: ast.expr = nodes.name(total) if turns.turns is None else nodes.constant(turns.turns)
    start: list[ast.stmt] = (
        [nodes.assign(total, flow.target.as_variable(code, wp.int32))] if turns.turns is None else []
    )
    end: list[ast.stmt] = []
    if turns.draws:
        start.append(nodes.assign(base, nodes.name("wl_draw")))
        each = nodes.constant(turns.draws)
        body = [
            nodes.assign(
                "wl_draw",
                nodes.binary(nodes.name(base), ast.Add(), nodes.binary(nodes.name(counter), ast.Mult(), each)),
            ),
            *body,
        ]
        taken = nodes.warp("max", count, flow.target.literal(0, wp.int32))
        end.append(
            nodes.assign("wl_draw", nodes.binary(nodes.name(base), ast.Add(), nodes.binary(taken, ast.Mult(), each)))
        )
    reductions = [(row, held) for row, held, _ in turns.reductions.values() if not held.is_array]
    if turns.turns is not None:
        for row, held, place in {(held.name, place): (row, held, place) for row, held, place in turns.places}.values():
            start += flow.target.prefetch(row, held, place, turns.turns)
    return [*start, *flow.target.share(counter, count, body, reductions), *end]


def check_array_size(flow: Statements, array: Value, subscript: ast.Subscript) -> None:
    """DefinitionError where the turns of a shared loop do not fit into the array that they index."""
    assert flow.turns is not None and isinstance(array.type, ArrayType)
    size, turns = array.type.field.shape[0], flow.turns.turns
    offset = flow.turns.own_offset(flow, array.type.field, subscript)
    if turns is not None and offset is not None and offset + turns > size:
        behind = f" from {offset} on" if offset else ""
        raise flow.error(
            f"overflow: {turns} turns{behind} do not fit into '{array.type.field.name}', which has {size} places",
            f"share {max(size - offset, 0)} turns at most",
            subscript,
        )
