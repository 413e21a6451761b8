"""Control flow that is uniform over a warp: each world of a warp does what it does alone, in random functions."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import Any

import pytest

from worldloom.core.frontend.targets.uniform import BARRIER, UniformControl

WORLDS = 4
"""Worlds of a warp; each has one thread here."""
_TOGETHER = {BARRIER: "sync", "warp_votes": "votes", "across_max_int32": "max"}


class _Functions:
    """Writes random bodies of functions: loops, branches and jumps around barriers, and a log of what a world does."""

    def __init__(self, seed: int) -> None:
        self.rng, self.names = random.Random(seed), 0

    def text(self) -> str:
        return "\n".join(self.block(3, False))

    def block(self, depth: int, in_loop: bool) -> list[str]:
        return [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(depth, in_loop)]

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        sorts = ["log", "barrier", *["if", "else", "for", "while"] * (depth > 0), *["jump", "jump"] * in_loop]
        match self.rng.choice(sorts):
            case "log":
                return [f"log.append(({self.name()}, {', '.join(f'v{k}' for k in range(3))}))", self.change()]
            case "barrier":
                return [f"{BARRIER}()"]
            case "jump":
                jump = self.rng.choice(("break", "continue"))
                before = self.rng.choice(([], [self.change()], [f"{BARRIER}()"]))
                lines = [f"if {self.test()}:", *[f"    {line}" for line in (*before, jump)]]
                return [jump] if self.rng.random() < 0.1 else lines
            case "if":
                return [f"if {self.test()}:", *self.indented(depth, in_loop)]
            case "else":
                return [f"if {self.test()}:", *self.indented(depth, in_loop), "else:", *self.indented(depth, in_loop)]
            case "for":
                bounds = self.rng.choice(("wp.int32(3)", "v0 % 4", "v1 % 3, 3", "world", "1, v2 % 4"))
                name = f"n{self.name()}"
                return [f"for {name} in range({bounds}):", f"    v0 = v0 + {name}", *self.indented(depth, True)]
            case _:
                name = f"n{self.name()}"
                head = [f"{name} = 0", f"while {name} < v1 % 4:", f"    {name} = {name} + 1"]
                return [*head, *self.indented(depth, True)]

    def indented(self, depth: int, in_loop: bool) -> list[str]:
        return ["    " + line for line in self.block(depth - 1, in_loop)]

    def name(self) -> int:
        self.names += 1
        return self.names

    def change(self) -> str:
        target, source = self.rng.sample(("v0", "v1", "v2"), 2)
        return f"{target} = ({target} * 5 + {source} + world + {self.rng.randint(0, 9)}) % 97"

    def test(self) -> str:
        return f"(v{self.rng.randrange(3)} + {self.rng.choice(('world', '0'))}) % {self.rng.randint(2, 4)} == 0"


class _Lockstep(ast.NodeTransformer):
    """Makes everything that threads of a warp do together a ``yield``, with what it is and where."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _TOGETHER:
            place = ast.Constant(f"{node.func.id} {id(node)}")
            return ast.Yield(ast.Tuple([place, *node.args], ast.Load()))
        return node


class _Warp:
    """Warp's types."""

    int32, uint32, bool = int, int, bool


def _generator(body: list[ast.stmt], name: str) -> Any:
    head = ast.parse(f"def {name}(world, present, log):\n    v0 = v1 = v2 = 3 * world + 1\n    if False: yield").body[0]
    assert isinstance(head, ast.FunctionDef)
    head.body += [_Lockstep().visit(statement) for statement in body]
    space: dict[str, Any] = {"wp": _Warp, "wl_wrapping_range_turns": lambda *bounds: len(range(*bounds))}
    exec(compile(ast.fix_missing_locations(ast.Module([head], [])), name, "exec"), space)
    return space[name]


def _alone(text: str, world: int) -> list[Any]:
    log: list[Any] = []
    for _ in _generator(ast.parse(text).body, "alone")(world, 1, log):
        pass
    return log


def _in_warp(text: str, present: list[bool]) -> list[list[Any]]:
    """The logs of all worlds; AssertionError where the threads of the warp do not go through the same barriers."""
    logs: list[list[Any]] = [[] for _ in present]
    function = _generator(UniformControl().rewrite(ast.parse(text).body), "in_warp")
    threads: list[Iterator[Any]] = [function(w, int(p), logs[w]) for w, p in enumerate(present)]
    answer: Any = None
    while True:
        met = [_advance(thread, answer) for thread in threads]
        assert len({each and each[0] for each in met}) == 1, "the threads of a warp are at different places"
        if met[0] is None:
            return logs
        values = [each[1] for each in met if len(each) > 1]
        answer = max(values) if met[0][0].startswith("across_max") else sum(1 << k for k, v in enumerate(values) if v)


def _advance(thread: Any, answer: Any) -> Any:
    try:
        return thread.send(answer)
    except StopIteration:
        return None


@pytest.mark.parametrize("first", range(0, 120, 60))
def test_each_world_of_a_warp_does_what_it_does_alone(first: int) -> None:
    """The invariant of the flags, in random functions with and without a world for the last thread."""
    jumps = 0
    for seed in range(first, first + 60):
        text = _Functions(seed).text()
        jumps += text.count("break") + text.count("continue")
        present = [True] * (WORLDS - seed % 2) + [False] * (seed % 2)
        expected = [_alone(text, world) if there else [] for world, there in enumerate(present)]
        assert _in_warp(text, present) == expected, text
    assert jumps > 20
