"""Control flow that is uniform over a warp, for systems whose worlds have a part of a warp each.

The worlds of a warp would run loops of different lengths, and their threads, once apart, would go on apart: each world
would fetch and issue every instruction of its own. Here all worlds of a warp go through the same statements around
barriers: a loop lasts as long as that of the longest world, a branch is taken if one world takes it, and a flag of each
world says whether it takes part.

Every block of statements has a flag, ``here``. The invariant: before each statement of the block, ``here`` is set in
the threads of those worlds whose own program would execute the statement now, and in no others. Therefore

- every statement of the user, and every statement that changes the flag of an outer block (``break`` and ``continue``
  clear the flags from the current block up to the loop), is guarded by ``here``;
- a barrier, a vote and a reduction over the warp are guarded by nothing but votes, so that all threads execute them;
- a flag is cleared in all threads before a block with that flag, and then set where ``here`` and the block's condition
  hold: flags are nested, and a world that left a block is in none of its inner ones.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.kernels.warp_reductions import warp_reduce_name
from worldloom.core.kernels.wrapping import PREFIX as WRAPS

BARRIER = "sync_warp"
PRESENT = "present"
"""The parameter of a function that is 0 for threads without a world."""


@dataclass
class _Loop:
    """An enclosing loop with barriers: the flag of worlds that have not left it, and those of blocks inside of it."""

    alive: str
    inside: list[str]


class UniformControl:
    """Rewrites the body of one Warp function."""

    def __init__(self) -> None:
        self.flags = 0

    def rewrite(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function, whose last one may return."""
        last = body[-1:] if body and isinstance(body[-1], ast.Return) else []
        here = self._flag()
        takes_part = ast.Compare(nodes.name(PRESENT), [ast.Gt()], [nodes.constant(0)])
        start = [*_cleared(here), ast.If(takes_part, [_set(here, True)], [])]
        return [*start, *self._block(body[: len(body) - len(last)], here, None), *last]

    def _flag(self) -> str:
        self.flags += 1
        return f"wl_on{self.flags}"

    def _block(self, body: list[ast.stmt], here: str, loop: _Loop | None) -> list[ast.stmt]:
        """Statements of which the worlds with the flag ``here`` take part."""
        code: list[ast.stmt] = []
        plain: list[ast.stmt] = []
        for statement in body:
            if _has_barrier(statement) or (loop is not None and _jumps(statement)):
                code += [ast.If(nodes.name(here), plain, [])] if plain else []
                plain = []
                code += self._statement(statement, here, loop)
            else:
                plain.append(statement)
        return code + ([ast.If(nodes.name(here), plain, [])] if plain else [])

    def _statement(self, node: ast.stmt, here: str, loop: _Loop | None) -> list[ast.stmt]:
        """A statement with a barrier, or one that leaves a loop with barriers."""
        if isinstance(node, ast.If):
            return self._if(node, here, loop)
        if isinstance(node, ast.For):
            return self._for(node, here)
        if isinstance(node, ast.While):
            return self._while(node, here)
        if isinstance(node, ast.Break | ast.Continue):
            assert loop is not None
            left = [loop.alive] if isinstance(node, ast.Break) else []
            return [ast.If(nodes.name(here), [_set(flag, False) for flag in (*left, *loop.inside)], [])]
        return [node]  # the barrier itself

    def _if(self, node: ast.If, here: str, loop: _Loop | None) -> list[ast.stmt]:
        if not _has_barrier(node):
            branches = self._block(node.body, here, loop), self._block(node.orelse, here, loop)
            return [ast.If(nodes.name(here), [ast.If(node.test, *branches)], [])]
        taken, other = self._flag(), self._flag()
        decide = ast.If(node.test, [_set(taken, True)], [_set(other, True)] if node.orelse else [])
        code = [*_cleared(taken), *_cleared(other), ast.If(nodes.name(here), [decide], [])]
        for flag, body in ((taken, node.body), (other, node.orelse)):
            if body:
                if loop is not None:
                    loop.inside.append(flag)
                code.append(ast.If(_any(flag), self._block(body, flag, loop), []))
                if loop is not None:
                    loop.inside.pop()
        return code

    def _for(self, node: ast.For, here: str) -> list[ast.stmt]:
        """A loop over a range: as many turns as the world with the most has."""
        assert isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
        bounds = node.iter.args
        alive, turn = self._flag(), self._flag()
        first, number, counter = f"{alive}_first", f"{alive}_number", f"{alive}_turn"
        start, stop = bounds[:2] if len(bounds) > 1 else (nodes.constant(0), bounds[0])
        zero = ast.parse("wp.int32(0)", mode="eval").body
        offset: ast.expr = nodes.name(counter)
        length: ast.expr = nodes.warp("int32", stop)
        if len(bounds) > 1:  # the difference of two bounds may exceed int32
            step = nodes.warp("int32", bounds[2]) if len(bounds) > 2 else nodes.constant(1)  # a literal
            offset = nodes.binary(offset, ast.Mult(), step)
            length = nodes.call(f"{WRAPS}range_turns", nodes.name(first), length, step)
        count = [
            nodes.assign(first, nodes.warp("int32", start)),
            nodes.assign(number, length),
            _set(alive, True),
        ]
        left = ast.Compare(nodes.name(counter), [ast.Lt()], [nodes.name(number)])
        more = ast.BoolOp(ast.And(), [nodes.name(alive), left])
        body: list[ast.stmt] = [
            *_cleared(turn),
            ast.If(more, [_set(turn, True)], []),
            ast.If(ast.UnaryOp(ast.Not(), _any(turn)), [ast.Break()], []),
            nodes.assign(node.target.id, nodes.binary(nodes.name(first), ast.Add(), offset)),
            *self._block(node.body, turn, _Loop(alive, [turn])),
        ]
        turns = nodes.call(warp_reduce_name("max", wp.int32), nodes.name(number))
        return [
            nodes.assign(first, zero),
            nodes.assign(number, zero),
            *_cleared(alive),
            ast.If(nodes.name(here), count, []),
            ast.For(ast.Name(counter, ast.Store()), nodes.call("range", turns), body, [], None),
        ]

    def _while(self, node: ast.While, here: str) -> list[ast.stmt]:
        alive, turn = self._flag(), self._flag()
        leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [_set(alive, False)], [])
        body: list[ast.stmt] = [
            ast.If(nodes.name(alive), [leave], []),
            *_cleared(turn),
            ast.If(nodes.name(alive), [_set(turn, True)], []),
            *self._block(node.body, turn, _Loop(alive, [turn])),
        ]
        started = [*_cleared(alive), ast.If(nodes.name(here), [_set(alive, True)], [])]
        return [*started, ast.While(_any(alive), body, [])]


def _has_barrier(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == BARRIER for n in ast.walk(node)
    )


def _jumps(node: ast.AST) -> bool:
    """Whether a statement leaves or continues the loop that it is in."""
    if isinstance(node, ast.For | ast.While):
        return False
    return isinstance(node, ast.Break | ast.Continue) or any(map(_jumps, ast.iter_child_nodes(node)))


def _any(flag: str) -> ast.expr:
    """Whether a flag is set in one of the threads of the warp."""
    none = ast.parse("wp.uint32(0)", mode="eval").body
    return ast.Compare(nodes.call("warp_votes", nodes.name(flag)), [ast.NotEq()], [none])


def _set(flag: str, value: bool) -> ast.stmt:
    return nodes.assign(flag, ast.parse(f"wp.bool({value})", mode="eval").body)


def _cleared(flag: str) -> list[ast.stmt]:
    return [_set(flag, False)]
