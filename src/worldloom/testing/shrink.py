"""Shrinking: the smallest world that still fails, without needless systems, statements, expressions and components."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

Test = Callable[[str], bool]
"""Returns whether the text of a world still fails."""

_PHASES = ("reset", "step", "observe")


class Shrinker:
    """Reduces a failing world.

    Args:
        text: The world.
        fails: Returns whether a text fails; False for a text that is refused.
        seconds: Time limit.
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
        """Keep a smaller world if it still fails."""
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
        """Remove systems: half of them, then quarters, down to single ones."""
        names = _scheduled(ast.parse(self.text))
        size = max(1, len(names) // 2)
        while names and size >= 1:
            start = 0
            while start < len(names):
                dropped = set(names[start : start + size])
                tree = ast.parse(self.text)
                unschedule(tree, dropped)
                if self._try(tree):
                    names = [n for n in names if n not in dropped]
                else:
                    start += size
            size //= 2

    def _drop_unused(self) -> None:
        """Remove functions that nothing uses."""
        for _ in range(3):
            tree = ast.parse(self.text)
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
            remaining = [n for n in tree.body if not (isinstance(n, ast.FunctionDef) and n.name not in used)]
            if len(remaining) == len(tree.body):
                return
            tree.body = remaining
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
        """Remove statements, or replace a branch or a loop by its body."""
        number = 0
        while not self._out_of_time():
            tree = ast.parse(self.text)
            statements = [(block, index) for block in _blocks(tree) for index in range(len(block))]
            if number >= len(statements):
                return
            if any(self._try(candidate) for candidate in self._without(tree, *statements[number])):
                continue
            number += 1

    def _without(self, tree: ast.Module, block: list[ast.stmt], index: int) -> Iterator[ast.Module]:
        """The world without a statement of a block, and with replacements for it."""
        statement = block[index]
        replacements: list[list[ast.stmt]] = [[]]
        for part in ("body", "orelse"):
            inner = getattr(statement, part, None)
            if isinstance(inner, list) and inner:
                replacements.append(inner)
        if isinstance(statement, ast.If) and statement.orelse:
            replacements.append([ast.If(statement.test, statement.body, [])])
        for replacement in replacements:
            original = block[:]
            block[index : index + 1] = copy.deepcopy(replacement) or ([] if len(block) > 1 else [ast.Pass()])
            smaller = ast.parse(ast.unparse(ast.fix_missing_locations(tree)))
            block[:] = original
            yield smaller

    # -- expressions -------------------------------------------------------------------------------------------------

    def _simpler_expressions(self) -> None:
        """Replace an expression by one of its parts, or by a number."""
        number = 0
        while not self._out_of_time():
            tree = ast.parse(self.text)
            sites = list(_expressions(tree))
            if number >= len(sites):
                return
            holder, name, index = sites[number]
            value = getattr(holder, name)
            node = value if index is None else value[index]
            for candidate in _parts(node):
                if index is None:
                    setattr(holder, name, candidate)
                else:
                    value[index] = candidate
                if self._try(ast.parse(ast.unparse(ast.fix_missing_locations(tree)))):
                    break
                if index is None:
                    setattr(holder, name, node)
                else:
                    value[index] = node
            else:
                number += 1

    # -- declarations ------------------------------------------------------------------------------------------------

    def _drop_declarations(self) -> None:
        """Remove components and kinds that nothing uses."""
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
                entries = [
                    (k, v)
                    for k, v in zip(counts.keys, counts.values, strict=True)
                    if not (isinstance(k, ast.Name) and k.id == name)
                ]
                counts.keys, counts.values = [k for k, _ in entries], [v for _, v in entries]
            self._try(tree)

    def _drop_components_singly(self) -> None:
        number = 0
        while not self._out_of_time():
            tree = ast.parse(self.text)
            sites = [(c, i) for c in tree.body if isinstance(c, ast.ClassDef) for i in range(len(c.body))]
            if number >= len(sites):
                return
            holder, index = sites[number]
            del holder.body[index]
            holder.body = holder.body or [ast.Pass()]
            if not self._try(tree):
                number += 1


def _scheduled(tree: ast.Module) -> list[str]:
    """The systems of the definition."""
    return [
        ast.unparse(item)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in _PHASES
        for item in getattr(node.value, "elts", [])
    ]


def unschedule(tree: ast.Module, names: set[str]) -> None:
    """Remove systems from a world."""
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
    """Every field of a function's nodes with an expression that can be simplified."""
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
    """Simpler replacements for an expression."""
    for number in (0, 1, True, False, 0.5):
        yield ast.Constant(number)
    yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    if isinstance(node, ast.Call):
        yield from (a for a in node.args)
