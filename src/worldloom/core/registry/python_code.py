"""Python code in a schedule: the syntax trees of callables, launches and Warp's kernels, and the values that they use.

Systems have no such values: what they use is fixed when they are defined. Python code may read anything: its
constants count, and what the program changes while it runs does not.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.model.entity import Components
from worldloom.core.registry.fingerprint import MISSING, class_text

_LIBRARIES = (
    Path(__file__).parents[2],
    *(Path(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Folders of code that is not followed: worldloom's, Python's, and that of packages."""
_MUTATORS = (
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill"),
    *("update", "setdefault", "popitem", "add", "discard"),
)
"""Methods that change an object in place."""


class PythonCode:
    """The code of a function, a class, a method, a callable object, or a kernel or function of Warp.

    Attributes:
        part: The function or class.
        values: Everything else that determines what it does: the values of default arguments, the arguments of a
            ``functools.partial``, and C++ code.
        others: Further code that it may call: the class of a bound method, the variants of a ``singledispatch``.
    """

    def __init__(self, part: Any) -> None:
        values: list[Any] = []
        self.others: list[Any] = []
        while (inner := _inner(part)) is not None:
            if isinstance(part, functools.partial):
                values += [*part.args, *part.keywords.items()]
            elif isinstance(part, MethodType):
                self.others.append(_class_of(part.__self__))
            elif isinstance(registry := getattr(part, "registry", None), Mapping):
                self.others += registry.values()
            values.append(getattr(part, "native_snippet", None))
            part = inner
        if isinstance(part, FunctionType):
            values += [*(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).items()]
        self.values = [value for value in (constant(value, deep=True) for value in values) if value is not MISSING]
        self.part: FunctionType | type = part if isinstance(part, FunctionType | type) else type(part)

    @functools.cached_property
    def tree(self) -> Any:
        """Its syntax tree; its text where that is no whole statement; empty where it has no source."""
        if isinstance(self.part, type) and (text := class_text(self.part)):
            return _parsed(text)
        return [node for function in self._functions() for node in _function_tree(function.__code__)]

    @property
    def file(self) -> str:
        """Its file; empty where it has none."""
        return _file(self.part)

    def used(self, names: Mapping[str, ast.expr]) -> Iterator[tuple[str, Any]]:
        """The values of outer names that count: code of the user's files, and constants as plain values.

        Args:
            names: The names in its tree, plain or dotted.
        """
        seen, own = self._outer(), _bound(self.tree)
        for key, node in names.items():
            value = _find(node, seen, own)
            if value is MISSING or key.startswith("__"):  # such as __file__
                continue
            others = [_class_of(_find(node.value, seen, own))] if isinstance(node, ast.Attribute) else []
            is_deep = key.rpartition(".")[2].isupper()
            if self._is_followed(value):
                yield key, PythonCode(value)
            elif not self._is_state(node, seen):
                fixed = constant(value, is_deep)
                if fixed is not MISSING:
                    yield key, fixed
                others += _functions_in(value) if is_deep else []
            yield from ((key, PythonCode(other)) for other in others if self._is_followed(other))
        bases = self.part.__bases__ if isinstance(self.part, type) else ()
        yield from ((part.__name__, PythonCode(part)) for part in (*bases, *self.others) if self._is_followed(part))

    def _outer(self) -> dict[str, Any]:
        """The globals and the closure of the code."""
        seen: dict[str, Any] = {}
        for function in self._functions():
            seen |= {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        return seen

    def _functions(self) -> list[FunctionType]:
        """The function, or those of the class."""
        values = [self.part] if isinstance(self.part, FunctionType) else vars(self.part).values()
        return [value for value in values if isinstance(value, FunctionType)]

    def _is_followed(self, value: Any) -> bool:
        """Whether ``value`` is code of the same module, or of another file of the user's."""
        while (inner := _inner(value)) is not None:
            value = inner
        if not isinstance(value, FunctionType | type) or (
            isinstance(value, type) and issubclass(value, Components | enum.Enum)
        ):
            return False
        return value.__module__ == self.part.__module__ or not _is_library(_file(value))

    def _is_state(self, node: ast.expr, seen: Mapping[str, Any]) -> bool:
        """Whether a name may get other values while the program runs.

        It may where a function of its file changes it. Attributes of objects may, except of one in capitals.
        """
        if not isinstance(node, ast.Attribute):
            return isinstance(node, ast.Name) and node.id in _changing(_lines(self.part))
        owner = _find(node.value, seen, set())
        if isinstance(owner, ModuleType):
            return _is_library(getattr(owner, "__file__", None) or "") or node.attr in _changing(_lines(owner))
        return not isinstance(owner, type) and not _root(node).isupper()


def constant(value: Any, deep: bool) -> Any:
    """``value`` as lists and plain values; MISSING where it may change while the program runs, or is no data.

    Args:
        value: A value.
        deep: Whether lists, dicts, sets, arrays and dataclasses that are not frozen are constants. Functions in them
            count by name.
    """
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, bool | int | float | str | enum.Enum | np.generic):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        frozen = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return value if deep or frozen else MISSING
    if isinstance(value, np.ndarray):
        return value if deep else MISSING
    if isinstance(value, FunctionType | type):
        return value.__qualname__ if deep else MISSING
    if isinstance(value, dict):
        value = tuple(value.items()) if deep else None
    elif isinstance(value, set | frozenset):
        value = tuple(sorted(value, key=repr)) if deep or isinstance(value, frozenset) else None
    elif isinstance(value, list):
        value = tuple(value) if deep else None
    if not isinstance(value, tuple):
        return MISSING
    items = [constant(item, deep) for item in value]
    return MISSING if any(item is MISSING for item in items) else items


def _inner(part: Any) -> Any:
    """The function in a ``functools.partial``, a bound method, a kernel or function of Warp, or a library's wrapper.

    None for all else. Such wrappers are those of ``functools.lru_cache`` and ``contextlib.contextmanager``.
    """
    if isinstance(part, MethodType):
        return part.__func__
    if isinstance(part, functools.partial | wp.Kernel | wp.Function):
        return part.func
    is_own = isinstance(part, type) or (isinstance(part, FunctionType) and not _is_library(_file(part)))
    return None if is_own else inspect.getattr_static(part, "__wrapped__", None)


def _class_of(owner: Any) -> Any:
    """The class whose methods the attributes of ``owner`` are; MISSING for modules and where there is no owner."""
    if owner is MISSING or isinstance(owner, ModuleType):
        return MISSING
    return owner if isinstance(owner, type) else type(owner)


def _functions_in(value: Any) -> list[Any]:
    """The functions and classes in a list, tuple, set or dict, at any depth."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return [inner for item in value for inner in _functions_in(item)]
    return [value] if isinstance(value, FunctionType | type | functools.partial | MethodType) else []


def _find(node: ast.expr, seen: Mapping[str, Any], own: set[str]) -> Any:
    """The object that a name, plain or dotted, stands for; MISSING where only a call, such as a property, says it."""
    if isinstance(node, ast.Name):
        return MISSING if node.id in own else seen.get(node.id, MISSING)
    owner = _find(node.value, seen, own) if isinstance(node, ast.Attribute) else MISSING
    if owner is MISSING or not isinstance(node, ast.Attribute):
        return MISSING
    if isinstance(owner, enum.EnumMeta):
        return getattr(owner, node.attr, MISSING)
    return inspect.getattr_static(owner, node.attr, MISSING)


def _root(node: ast.expr) -> str:
    """``a`` of the expression ``a.b[c].d``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _file(value: FunctionType | type) -> str:
    """The file of a function or a class; empty where it has none."""
    if isinstance(value, FunctionType):
        return value.__code__.co_filename
    try:
        return inspect.getfile(value)
    except (TypeError, OSError):
        return ""


def is_users(kind: type) -> bool:
    """Whether a class is in a file of the user's, and without a text that stands for it."""
    return not _is_library(_file(kind)) and "fingerprint_source" not in vars(kind)


def _is_library(file: str) -> bool:
    """Whether a file is worldloom's, Python's or a package's; so is what has no file."""
    path = Path(file)
    return not path.is_absolute() or any(folder in path.parents for folder in _LIBRARIES)


def _lines(part: Any) -> str:
    """The text of the file with a function, a class, a module or code; empty where there is none."""
    try:
        return "".join(inspect.findsource(part)[0])
    except (OSError, TypeError, IndexError):
        return ""


@functools.lru_cache(maxsize=16)
def _changing(text: str) -> frozenset[str]:
    """The names whose values functions of a file change: they bind them, or change lists, dicts or arrays in place."""
    functions = [node for node in ast.walk(ast.Module(_parsed(text), [])) if isinstance(node, ast.FunctionDef)]
    names: set[str] = set()
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(_root(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            names.add(_root(node.func.value))
    return frozenset(names)


def _function_tree(code: CodeType) -> Any:
    """The syntax tree of a function; for a lambda those of the lambdas in its line."""
    try:
        text = textwrap.dedent(inspect.getsource(code))
    except (OSError, TypeError):
        return []
    if code.co_name != "<lambda>":
        return _parsed(text)
    nodes = ast.walk(ast.Module(_parsed(_lines(code)), []))
    return [node for node in nodes if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno] or text


def _bound(tree: Any) -> set[str]:
    """The names that code binds itself: its parameters and variables."""
    names: set[str] = set()
    for node in ast.walk(ast.Module(tree, [])):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _parsed(text: str) -> Any:
    """The statements of a program, or its text where it is none."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return text
