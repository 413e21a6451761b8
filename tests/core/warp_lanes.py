"""Runs the text of CUDA kernels without a GPU.

The 32 threads of a warp run in any order between two votes, and meet at each vote.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.codegen.compaction_kernel import CompactionKernel
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.kernels.population_kernels import WARP_SIZE


def _votes(flags: list[Any]) -> list[Any]:
    return [sum(1 << lane for lane, (flag,) in enumerate(flags) if flag)] * WARP_SIZE


def _sums(given: list[Any]) -> list[Any]:
    return np.cumsum([value for value, _ in given]).tolist()


TOGETHER: dict[str, Callable[[list[Any]], list[Any]]] = {
    "warp_votes": _votes,
    "sum_up_to": _sums,
    "of_last_lane": lambda given: [given[-1][0]] * WARP_SIZE,
    "sync_warp": lambda given: [None] * WARP_SIZE,
}
"""What all threads of a warp do together: the arguments of each, to the result of each."""


class Memory:
    """A column as a kernel sees it: an element that was read does not change when the column does."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape = values, values.shape

    def __getitem__(self, place: Any) -> Any:
        self._check(place)
        found = self.values[place]
        return found.copy() if isinstance(found, np.ndarray) else found.item()

    def __setitem__(self, place: Any, value: Any) -> None:
        self._check(place)
        self.values[place] = value

    def _check(self, place: Any) -> None:
        row = place[0] if isinstance(place, tuple) else place
        assert 0 <= row < len(self.values), f"row {row} of {len(self.values)}"


def _get(column: Memory, row: int, size: int = 1, place: int | None = None) -> Any:
    """What the accessors of columns do: the value of a row, or one element of it."""
    return column[row] if place is None else column[(row, *np.unravel_index(place, column.shape[1:]))]


def _put(column: Memory, row: int, *rest: Any) -> None:
    *inner, value = rest
    column[(row, *np.unravel_index(inner[1], column.shape[1:])) if inner else row] = value


class _Warp:
    """Warp's own functions, where numbers are Python's."""

    min, max, int32, int64, float32, bool = min, max, int, int, float, bool

    def __getattr__(self, name: str) -> Any:
        return lambda *numbers: numbers  # a vector

    @staticmethod
    def atomic_add(column: Memory, place: int, value: int) -> int:
        found = column[place]
        column[place] = found + value
        return found


class _Lanes(ast.NodeTransformer):
    """Whole numbers divide as in C, and what a warp does together waits for all its threads."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return ast.BinOp(node.left, ast.FloorDiv(), node.right) if isinstance(node.op, ast.Div) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id.startswith(("wl_get_", "wl_put_")):
            return ast.Call(ast.Name(node.func.id[3:6], ast.Load()), node.args, [])
        if isinstance(node.func, ast.Name) and node.func.id in TOGETHER:
            return ast.Yield(ast.Tuple([ast.Constant(node.func.id), *node.args], ast.Load()))
        return node


def run_kernel(
    kernel: CompactionKernel, columns: dict[tuple[str, str], np.ndarray], num_worlds: int, order: random.Random
) -> None:
    """Run one kernel of a compaction on the memory of ``columns``."""
    text = "def kernel(thread, rows):\n" + "\n".join("    " + line for line in kernel.lines) + "\n    yield None"
    space: dict[str, Any] = {column_argument(c): Memory(columns[c]) for c in kernel.columns}
    space.update(get=_get, put=_put, wp=_Warp(), report_fault=lambda *facts: None, errors=None, offset=0, alarm=[0])
    space.update(
        votes_before=lambda votes, lane: bin(votes & ((1 << lane) - 1)).count("1"),
        vote_count=lambda votes: bin(votes).count("1"),
    )
    tree = ast.fix_missing_locations(_Lanes().visit(ast.parse(text)))
    exec(compile(tree, "<kernel>", "exec"), space)
    rows = num_worlds * kernel.rows if kernel.total is None else kernel.total
    warps = list(range(0, rows, WARP_SIZE))
    order.shuffle(warps)
    for first in warps:
        lanes = range(WARP_SIZE if kernel.whole_warps else min(WARP_SIZE, rows - first))
        _run_warp([space["kernel"](first + lane, rows) for lane in lanes], order)


def _run_warp(threads: list[Any], order: random.Random) -> None:
    answers: list[Any] = [None] * len(threads)
    while True:
        met: list[Any] = [None] * len(threads)
        places = list(range(len(threads)))
        order.shuffle(places)
        for place in places:
            try:
                met[place] = threads[place].send(answers[place])
            except StopIteration:
                met[place] = None
        if all(each is None for each in met):
            return
        names = {each[0] for each in met if each is not None}
        assert len(names) == 1 and None not in met and len(met) == WARP_SIZE, (
            f"the threads of a warp diverge at {names}"
        )
        answers = TOGETHER[names.pop()]([each[1:] for each in met])


__all__ = ["run_kernel"]
