"""The rules of a world, part by part, so that two versions of it can be compared and the difference named.

A fingerprint says whether two definitions differ; these parts say where. Comments, formatting, docstrings, annotations
of parameters, renderers, files, line numbers and the version of Python do not change them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from worldloom.core.base.source import Source
from worldloom.core.frontend.helper import Helper
from worldloom.core.frontend.system import System
from worldloom.core.model.dtypes import type_name
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.launch import Launch, label_of
from worldloom.core.registry.fingerprint import (
    MISSING,
    component_values,
    find_name,
    json_value,
    launch_columns,
    system_values,
)
from worldloom.core.registry.python_code import PythonCode, is_users

if TYPE_CHECKING:
    from worldloom.core.registry.definition import Definition

MAX_TEXT = 40
"""Longest value that is stored as text; of others a digest is."""
NAMED = 3
"""How many differences a sentence names."""
_WITH_TEXT = ("system", "function", "launch", "callable")
"""The kinds of parts that are programs, in the order in which differences are named."""
_DATA = "data of launch "
_PART = re.compile(
    r"(system|function|launch|callable|constant|component|number of|order of(?: the components of)?) (.*)"
)
_IGNORED = ("ctx", "kind", "type_comment", "type_params", "decorator_list", "returns")
"""Fields of syntax nodes that do not change what a function computes."""


class Rules(NamedTuple):
    """What determines the behaviour of a world.

    Attributes:
        parts: A short text for every part, by the part's name, such as ``system score``, ``function pay``,
            ``constant REWARD``, ``component Ball.height``, ``number of Ball``, ``max_steps`` and ``order of step``.
        files: The files with its systems, functions and Python code.
    """

    parts: dict[str, str]
    files: frozenset[str]


def rules_of(definition: Definition) -> Rules:
    """The rules of ``definition``."""
    rules = _Rules()
    rules.add("max_steps", definition.max_steps)
    rules.add("cuda_float32", definition.cuda_float32)
    rules.components("World", definition.world.fields)
    for kind, count in definition.entities.items():
        rules.add(f"number of {kind.__name__}", json_value(count))
        rules.components(kind.__name__, kind.fields)
    rules.add("order of the kinds", [kind.__name__ for kind in definition.entities])
    for phase in ("reset", "step", "observe"):
        rules.add(f"order of {phase}", [rules.entry(entry) for entry in getattr(definition, phase)])
    return Rules(rules.parts, frozenset(rules.files))


class _Rules:
    """Collects the parts of a definition."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.files: set[str] = set()
        self._names: dict[int, str] = {}
        """The part of each entry and function that was added, by its ``id()``."""

    def add(self, name: str, value: Any) -> None:
        self.parts[name] = _text(value)

    def components(self, owner: str, fields: Mapping[str, Field]) -> None:
        for values in component_values(dict(fields)):
            self.add(f"component {owner}.{values[0]}", values)
        own = [f.name for f in fields.values() if f.role is not Role.ENGINE]
        self.add(f"order of the components of {owner}", own)

    def entry(self, entry: Any) -> str:
        """Add an entry of the schedule; returns the name of its part."""
        if id(entry) not in self._names:
            if isinstance(entry, System):
                name = self._name(entry, f"system {entry.name}")
                self._function(name, entry.source, system_values(entry))
            elif isinstance(entry, Launch):
                name = self._name(entry, f"launch {label_of(entry)}")
                columns = [type(entry).__qualname__, launch_columns(entry)]
                self._code(name, PythonCode(type(entry)), columns, follow=is_users(type(entry)))
                self.add(f"{_DATA}{name.removeprefix('launch ')}", entry.portable_digest())
            else:
                code = PythonCode(entry)
                name = self._name(entry, f"callable {code.part.__qualname__}")
                self._code(name, code, code.values)
        return self._names[id(entry)]

    def _name(self, part: Any, name: str) -> str:
        """The name of a part, with a number where another one has the same."""
        taken = sum(other == name or other.startswith(f"{name} (") for other in self._names.values())
        self._names[id(part)] = f"{name} ({taken + 1})" if taken else name
        return self._names[id(part)]

    def _function(self, name: str, source: Source, values: Any) -> None:
        """Add a system or a function, the constants that it uses, and the functions that it calls."""
        tree = source.tree  # without its decorators, annotations and docstring
        program, used = _program([[tree.name, [a.arg for a in tree.args.args]], tree.body]), {}
        own = {argument.arg for argument in source.tree.args.args} | source.stored
        for key, node in program.names.items():
            value = find_name(node, source.names(), own)
            if value is not MISSING and not isinstance(value, ModuleType):
                used[key] = value
        self.add(name, [program.digest, values])
        self.files.add(source.file)
        self._uses(name, used)

    def _uses(self, name: str, used: Mapping[str, Any]) -> None:
        for key, value in sorted(used.items()):
            if isinstance(value, Helper):
                if id(value) not in self._names:
                    takes = [type_name(kind) for kind in (*value.parameters.values(), value.returns)]
                    self._function(self._name(value, f"function {value.key}"), value.source, takes)
                value = self._names[id(value)]
            text = _text(repr(value) if type(value) is float else json_value(value))
            is_own = self.parts.get(f"constant {key}", text) != text  # functions may use one name for several values
            self.parts[f"constant {key} of {name}" if is_own else f"constant {key}"] = text

    def _code(self, name: str, code: PythonCode, values: Any, follow: bool = True) -> None:
        """Add Python code, with the code of the user's files and the constants that it uses if ``follow``."""
        program = _program([code.tree])
        self.add(name, [program.digest, json_value(values)])
        self.files.add(code.file)
        for key, value in code.used(program.names) if follow else ():
            if not isinstance(value, PythonCode):
                self._uses(name, {key: value})
            elif id(value.part) not in self._names:
                used = self._name(value.part, f"callable {value.part.__qualname__}")
                self._code(used, value, value.values)


class _Program:
    """What a function computes: the digest of its syntax tree, and the outer names in it, plain or dotted."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.names: dict[str, ast.expr] = {}

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()[:16]

    def visit(self, node: Any) -> None:
        if isinstance(node, list):
            self._token("[")
            for item in node:
                if not _is_silent(item):
                    self.visit(item)
            self._token("]")
        elif isinstance(node, ast.AST):
            if isinstance(node, ast.Name | ast.Attribute) and (dotted := _dotted(node)):
                self.names[dotted] = node
            self._token(type(node).__name__)
            for name, value in ast.iter_fields(node):
                is_hint = name == "annotation" and isinstance(node, ast.arg)
                if name not in _IGNORED and not is_hint and value is not None and value != []:
                    self._token(name)
                    self.visit(value)
            self._token(";")
        else:
            self._token(repr(node))

    def _token(self, text: str) -> None:
        self._hash.update(text.encode())
        self._hash.update(b"\0")


def _program(parts: list[Any]) -> _Program:
    """The program of syntax trees."""
    program = _Program()
    for part in parts:
        program.visit(part)
    return program


def _is_silent(node: Any) -> bool:
    """Whether a statement computes nothing: a docstring, ``pass``, or a call of ``print`` or ``breakpoint``."""
    if isinstance(node, ast.Expr):
        called = node.value.func if isinstance(node.value, ast.Call) else None
        printed = isinstance(called, ast.Name) and called.id in ("print", "breakpoint")
        return printed or (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
    if isinstance(node, ast.If):
        return not node.orelse and all(map(_is_silent, node.body))
    return isinstance(node, ast.Pass)


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` for the node of such a name; empty for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner and isinstance(node, ast.Attribute) else ""


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= MAX_TEXT and text.isprintable() else hashlib.sha256(text.encode()).hexdigest()[:16]


# -- differences ------------------------------------------------------------------------------------------------------


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What differs between the rules of two definitions, each in words such as ``the system `score```."""
    changed = [name for name in (*old, *(name for name in new if name not in old)) if old.get(name) != new.get(name)]
    programs = [name for name in changed if name.split(" ", 1)[0] in _WITH_TEXT]
    programs.sort(key=lambda name: _WITH_TEXT.index(name.split(" ", 1)[0]))
    members = [name for name in changed if name.startswith(("component ", "number of "))]
    constants = [name for name in changed if name.startswith("constant ")]
    data = [name for name in changed if name.startswith(_DATA)]
    rest = [name for name in changed if name not in {*programs, *members, *constants, *data}]
    shown = [_described(name, old, new) for name in programs]
    # A changed program uses other constants, and new systems change the order.
    shown += [_described(name, old, new) for name in constants if not programs or (name in old and name in new)]
    shown += [_described(name, old, new) for name in members]
    if data and not any(name.startswith("launch ") for name in programs):  # one file often serves several launches
        labels = [f"`{name.removeprefix(_DATA)}`" for name in data]
        shown.append(
            f"the data, such as a model or a ROM, of the launch{'es' if len(data) > 1 else ''} {joined(labels)}"
        )
    is_whole = all(name in old and name in new for name in (*programs, *members))
    shown += [_described(name, old, new) for name in rest if is_whole or not name.startswith("order of ")]
    return list(dict.fromkeys(shown))


def _described(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    match = _PART.fullmatch(name)
    text = f"`{name}`" if match is None else f"the {match[1]} `{match[2].split(' of ')[0]}`"
    if name not in old or name not in new:
        return f"{text} ({'new' if name in new else 'removed'})"
    is_value = name.startswith(("constant ", "number of ", "max_steps"))
    if is_value and all(_is_plain(parts[name]) for parts in (old, new)):
        return f"{text} ({old[name]}, now {new[name]})"
    return text


def _is_plain(text: str) -> bool:
    """Whether ``text`` is a number, and not a digest, a list or a name."""
    try:
        return len(text) != 16 and math.isfinite(float(text))
    except ValueError:
        return text in ("true", "false")


def joined(items: Iterable[str]) -> str:
    """Differences as one clause; the first ones where there are many."""
    shown = list(items)
    named, more = shown[:NAMED], len(shown) - NAMED
    if more > 0:
        return f"{', '.join(named)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
