"""Source of the user's functions and classes: the file, the line and the syntax tree."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any

from worldloom.core.base.errors import DefinitionError, misuse


@dataclass(frozen=True)
class Source:
    """A user's function with its syntax tree, whose line numbers are those of its file.

    The names that it uses from outside are read once, when it is defined. Later changes have no effect.
    """

    function: FunctionType
    tree: ast.FunctionDef
    file: str
    seen: dict[str, Any] = field(init=False, compare=False, hash=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", self._names())

    @property
    def name(self) -> str:
        return self.function.__name__

    def error(self, problem: str, fix: str, node: ast.AST | int | None = None) -> DefinitionError:
        """An error at ``node``, or at the head of the function."""
        line = node if isinstance(node, int) else getattr(node, "lineno", self.tree.lineno)
        return DefinitionError(f"in '{self.name}': {problem}", fix, self.file, line)

    def names(self) -> dict[str, Any]:
        """The function's globals and closure, as they were when it was defined."""
        return self.seen

    @cached_property
    def stored(self) -> frozenset[str]:
        """Every name that the function assigns to."""
        return frozenset(n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))

    def _names(self) -> dict[str, Any]:
        seen = dict(self.function.__globals__)
        closure = self.function.__closure__ or ()
        for name, cell in zip(self.function.__code__.co_freevars, closure, strict=True):
            try:
                seen[name] = cell.cell_contents
            except ValueError:  # not yet assigned when the decorator ran
                continue
        return seen

    def rewritten(self, tree: ast.FunctionDef, names: dict[str, Any]) -> Source:
        """The same function with another syntax tree, which also uses ``names``."""
        source = Source(self.function, tree, self.file)
        source.seen.update({**self.seen, **names})
        return source

    def annotations(self) -> dict[str, Any]:
        """The annotations of the parameters, evaluated where they are strings."""
        seen = self.names()
        evaluated = {}
        for name, annotation in self.function.__annotations__.items():
            if isinstance(annotation, str):
                parameter = next((a for a in self.tree.args.args if a.arg == name), self.tree)
                try:
                    annotation = eval(annotation, dict(seen))  # noqa: S307 - the user's own annotation
                except Exception as error:
                    raise self.error(
                        f"the annotation of '{name}' cannot be evaluated ({error})",
                        "import or define what it names",
                        parameter,
                    ) from None
            evaluated[name] = annotation
        return evaluated


def read(function: Callable[..., Any]) -> Source:
    """The source of a user's function. Raises DefinitionError if it is not a plain function in a file."""
    if not isinstance(function, FunctionType):
        raise misuse("only a plain Python function can become part of a world", "write it with 'def'")
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, SyntaxError, IndexError):
        raise DefinitionError(
            f"the source of '{function.__name__}' cannot be read",
            "keep the function in a file; a lambda or text typed at the prompt has none",
            file,
            line,
        ) from None
    if not isinstance(tree, ast.FunctionDef):
        raise DefinitionError(
            f"'{function.__name__}' is not a plain function",
            "write it with 'def'; lambdas and coroutines have no systems",
            file,
            first,
        )
    ast.increment_lineno(tree, first - 1)
    return Source(function, tree, file)


def class_line(file: str, name: str, member: str | None, fallback: int) -> int:
    """The line of class ``name`` in ``file``, or of the annotation of its ``member``."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return fallback
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name]
    nearest = min(classes, key=lambda n: abs(n.lineno - fallback), default=None)
    if nearest is None:
        return fallback
    for item in nearest.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == member:
            return item.lineno
    return nearest.lineno
