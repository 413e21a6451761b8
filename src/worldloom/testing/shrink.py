"""Shrinking: the smallest world that still fails, found by leaving out systems, statements, parts of expressions, components and kinds."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

Test = Callable[[str], bool]
"""Whether the text of a world still fails."""

_PHASES = ("reset", "step", "observe")


class Shrinker:
    """Makes a failing world smaller.

    Args:
        text: The world.
        fails: Whether a text fails; a text that is refused does not.
        seconds: How long to try.
    """

    def __init__(self, text: str, fails: Test, seconds: float) -> None:
        self.text, self.fails = ast.unparse(ast.parse(text)), fails
        self.deadline = time.monotonic() + seconds
        self.tried: set[str] = {self.text}

    def run(self) -> str:
        """The smallest text found."""
        passes = (
            self._drop_systems,
            self._drop_unused,
            self._drop_declarations,
            self._simpler_run,
            self._drop_statements,
            self._drop_unused,
            self._simpler_expressions,
        )
        before = ""
        while before != self.text and not self._out_of_time():
            before = self.text
            for one in passes:
                one()
        return self.text

    def _out_of_time(self) -> bool:
        return time.monotonic() > self.deadline

    def _try(self, tree: ast.Module) -> bool:
        """Take a smaller world if it still fails."""
        if self._out_of_time():
            return False
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text in self.tried:
            return False
        self.tried.add(text)
        if not self.fails(text):
            return False
        self.text = text
        return True

    # -- systems -----------------------------------------------------------------------------------------------------

    def _drop_systems(self) -> None:
        """Leave out systems: half of them, then quarters, down to single ones."""
        names = _scheduled(ast.parse(self.text))
        size = max(1, len(names) // 2)
        while names and size >= 1:
            place = 0
            while place < len(names):
                dropped = set(names[place : place + size])
                tree = ast.parse(self.text)
                unschedule(tree, dropped)
                if self._try(tree):
                    names = [n for n in names if n not in dropped]
                else:
                    place += size
            size //= 2

    def _drop_unused(self) -> None:
        """Leave out helpers that nothing calls, and constants that nothing reads."""
        for _ in range(3):
            tree = ast.parse(self.text)
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
            kept = [n for n in tree.body if not (isinstance(n, ast.FunctionDef) and n.name not in used)]
            if len(kept) == len(tree.body):
                return
            tree.body = kept
            self._try(tree)

    def _simpler_run(self) -> None:
        """Fewer worlds and steps, and no resets."""
        for name, values in (
            ("steps", (1, 2, 3)),
            ("num_worlds", (1, 2)),
            ("autoreset", ("disabled",)),
            ("resets", ((),)),
            ("fill", (None, 0, 1, 2)),
        ):
            for value in values:
                tree = ast.parse(self.text)
                for node in tree.body:
                    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RUN":
                        settings = ast.literal_eval(node.value)
                        if settings.get(name) == value or (name in ("steps", "num_worlds") and settings[name] <= value):
                            break
                        node.value = ast.parse(repr({**settings, name: value}), mode="eval").body
                else:
                    if self._try(tree):
                        break
        tree = ast.parse(self.text)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call):
                call.keywords = [k for k in call.keywords if k.arg not in ("max_steps", "overflow")]
        self._try(tree)

    # -- statements --------------------------------------------------------------------------------------------------

    def _drop_statements(self) -> None:
        """Leave out statements, or put the body of a branch or a loop in its place."""
        place = 0
        while not self._out_of_time():
            tree = ast.parse(self.text)
            blocks = list(_blocks(tree))
            flat = [(block, index) for block in blocks for index in range(len(block))]
            if place >= len(flat):
                return
            block, index = flat[place]
            statement = block[index]
            if any(self._try(candidate) for candidate in self._without(tree, flat, place, statement)):
                continue
            place += 1

    def _without(
        self, tree: ast.Module, flat: list[tuple[list[ast.stmt], int]], place: int, statement: ast.stmt
    ) -> Iterator[ast.Module]:
        replacements: list[list[ast.stmt]] = [[]]
        for part in ("body", "orelse"):
            inner = getattr(statement, part, None)
            if isinstance(inner, list) and inner:
                replacements.append(inner)
        if isinstance(statement, ast.If) and statement.orelse:
            replacements.append([ast.If(statement.test, statement.body, [])])
        for made in replacements:
            block, index = flat[place]
            kept = block[:]
            block[index : index + 1] = copy.deepcopy(made) or ([] if len(block) > 1 else [ast.Pass()])
            smaller = ast.parse(ast.unparse(ast.fix_missing_locations(tree)))
            block[:] = kept
            yield smaller

    # -- expressions -------------------------------------------------------------------------------------------------

    def _simpler_expressions(self) -> None:
        """Put a part of an expression, or a number, in the place of the whole."""
        place = 0
        while not self._out_of_time():
            tree = ast.parse(self.text)
            sites = list(_expressions(tree))
            if place >= len(sites):
                return
            holder, name, index = sites[place]
            held = getattr(holder, name)
            node = held if index is None else held[index]
            for candidate in _parts(node):
                if index is None:
                    setattr(holder, name, candidate)
                else:
                    held[index] = candidate
                if self._try(ast.parse(ast.unparse(ast.fix_missing_locations(tree)))):
                    break
                if index is None:
                    setattr(holder, name, node)
                else:
                    held[index] = node
            else:
                place += 1

    # -- declarations ------------------------------------------------------------------------------------------------

    def _drop_declarations(self) -> None:
        """Leave out components that nothing uses, and kinds of which nothing is left."""
        tree = ast.parse(self.text)
        used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} | {
            k.arg for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords
        }
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                node.body = [
                    i for i in node.body if not isinstance(i, ast.AnnAssign) or ast.unparse(i.target) in used
                ] or [ast.Pass()]
        if not self._try(tree):
            self._drop_components_singly()
        for name in [n.name for n in ast.parse(self.text).body if isinstance(n, ast.ClassDef)]:
            tree = ast.parse(self.text)
            tree.body = [n for n in tree.body if not (isinstance(n, ast.ClassDef) and n.name == name)]
            for counts in [n for n in ast.walk(tree) if isinstance(n, ast.Dict)]:
                kept = [
                    (k, v)
                    for k, v in zip(counts.keys, counts.values, strict=True)
                    if not (isinstance(k, ast.Name) and k.id == name)
                ]
                counts.keys, counts.values = [k for k, _ in kept], [v for _, v in kept]
            self._try(tree)

    def _drop_components_singly(self) -> None:
        place = 0
        while not self._out_of_time():
            tree = ast.parse(self.text)
            sites = [(c, i) for c in tree.body if isinstance(c, ast.ClassDef) for i in range(len(c.body))]
            if place >= len(sites):
                return
            holder, index = sites[place]
            del holder.body[index]
            holder.body = holder.body or [ast.Pass()]
            if not self._try(tree):
                place += 1


def _scheduled(tree: ast.Module) -> list[str]:
    """The systems of the definition."""
    return [
        ast.unparse(item)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in _PHASES
        for item in getattr(node.value, "elts", [])
    ]


def unschedule(tree: ast.Module, names: set[str]) -> None:
    """Take systems out of a world."""
    tree.body = [n for n in tree.body if not (isinstance(n, ast.FunctionDef) and n.name in names)]
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in _PHASES and isinstance(node.value, (ast.Tuple, ast.List)):
            node.value.elts = [item for item in node.value.elts if ast.unparse(item) not in names]


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                for part in ("body", "orelse"):
                    block = getattr(node, part, None)
                    if isinstance(block, list) and block:
                        yield block


def _expressions(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Every place of a function that holds an expression that might be a simpler one."""
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (n for s in function.body for n in ast.walk(s)):
            for name, value in ast.iter_fields(node):
                if name in ("func", "target", "targets", "iter", "annotation", "ctx"):
                    continue
                if isinstance(value, ast.expr) and not isinstance(value, (ast.Name, ast.Constant)):
                    yield node, name, None
                elif isinstance(value, list):
                    yield from (
                        (node, name, i)
                        for i, item in enumerate(value)
                        if isinstance(item, ast.expr) and not isinstance(item, (ast.Name, ast.Constant))
                    )


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """Simpler expressions in the place of one."""
    for number in (0, 1, True, False, 0.5):
        yield ast.Constant(number)
    yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    if isinstance(node, ast.Call):
        yield from (a for a in node.args)
