"""Fingerprints: a digest of everything that determines a world's behaviour.

Saved states are restored only where it is equal.

The digest covers the entities and their numbers, every component, the text and the order of systems and helpers, and
the constants that these use. Comments, line numbers, docstrings, renderers and bounds of observations do not change it.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import hashlib
import inspect
import json
import textwrap
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.arithmetic.functions import MathFunction
from worldloom.core.base.source import Source
from worldloom.core.frontend.helper import Helper
from worldloom.core.frontend.system import System
from worldloom.core.model.dtypes import SCALARS, is_composite, type_name
from worldloom.core.model.entity import Components, Has
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.launch import Launch
from worldloom.core.model.spaces import Space

if TYPE_CHECKING:
    from worldloom.core.registry.definition import Definition

FORMAT = 1
"""Version of the description below. A new version invalidates all older digests."""


def fingerprint(definition: Definition) -> str:
    """The SHA-256 of ``definition``, 64 hexadecimal digits, equal in every process and on every machine."""
    return hashlib.sha256(json.dumps(_describe(definition), sort_keys=True).encode()).hexdigest()


def _describe(definition: Definition) -> dict[str, Any]:
    helpers: dict[str, Any] = {}
    phases = {
        phase: [_entry(entry, helpers) for entry in getattr(definition, phase)]
        for phase in ("reset", "step", "observe")
    }
    return {
        "format": FORMAT,
        "id": definition.id,
        "max_steps": definition.max_steps,
        "world": component_values(definition.world.fields),
        "entities": [
            [kind.__name__, json_value(count), component_values(kind.fields)]
            for kind, count in definition.entities.items()
        ],
        "phases": phases,
        "helpers": helpers,
    }


def _entry(entry: Any, helpers: dict[str, Any]) -> dict[str, Any]:
    if isinstance(entry, System):
        return _system(entry, helpers)
    return _launch(entry) if isinstance(entry, Launch) else _callable(entry)


def component_values(fields: dict[str, Field]) -> list[Any]:
    """The user's components, in order. The engine's follow from the rest."""
    return [
        [
            f.name,
            type_name(f.dtype),
            list(f.shape),
            f.role.value,
            json_value(f.default),
            json_value(f.space),
            f.finite,
            f.keep,
            f.transient,
            _kind(f.ref),
        ]
        for f in fields.values()
        if f.role is not Role.ENGINE
    ]


def _system(system: System, helpers: dict[str, Any]) -> dict[str, Any]:
    return {**system_values(system), **_function(system.source, helpers)}


def system_values(system: System) -> dict[str, Any]:
    """What a system runs over."""
    owner = None if system.over_world else _kind(system.owner)
    partner = {} if system.pair is None else {"pair": list(system.pair.tables)}
    where = {} if system.where is None else {"where": [system.where.component, list(system.where.values)]}
    return {"owner": owner, **partner, **where, "world": system.world.__name__}


def _function(source: Source, helpers: dict[str, Any]) -> dict[str, Any]:
    """A system or a helper: its text without comments, and the values of the names in it."""
    bare = _bare(source.tree)
    return {"text": ast.unparse(bare), "names": dict(sorted(_constants(source, bare, helpers)))}


def _bare(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function without its decorators, annotations and docstring."""
    arguments = ast.arguments([], [ast.arg(a.arg) for a in tree.args.args], None, [], [], None, [])
    first = tree.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    body = (tree.body[1:] if documented else tree.body) or [ast.Pass()]
    bare: ast.FunctionDef = _Silent().visit(ast.FunctionDef(tree.name, arguments, _copied(body), [], None, None))
    return ast.fix_missing_locations(bare)


def _copied(node: Any) -> Any:
    """A copy of a syntax tree without its places in the file; faster than ``copy.deepcopy``."""
    if isinstance(node, list):
        return [_copied(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})


class _Silent(ast.NodeTransformer):
    """Removes ``print`` and ``breakpoint``, which only interpreted systems execute. They may be added for debugging."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return None if isinstance(called, ast.Name) and called.id in ("print", "breakpoint") else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        super().generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node if node.orelse or not all(isinstance(s, ast.Pass) for s in node.body) else None

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, (ast.FunctionDef, ast.For, ast.While)) and not node.body:
            node.body = [ast.Pass()]
        return node


def _constants(source: Source, bare: ast.FunctionDef, helpers: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Every name, plain or dotted, of a Python object, with a description of the object. Helpers go to ``helpers``."""
    own = {a.arg for a in source.tree.args.args} | {
        n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    seen = source.names()
    for node in ast.walk(bare):
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        value = find_name(node, seen, own)
        if isinstance(value, Helper) and value.key not in helpers:
            helpers[value.key] = None  # a helper may call itself
            takes = [type_name(kind) for kind in (*value.parameters.values(), value.returns)]
            helpers[value.key] = {"takes": takes, **_function(value.source, helpers)}
        if value is not MISSING and not isinstance(value, ModuleType):
            yield ast.unparse(node), json_value(value)


MISSING: Any = object()
"""The value of a name that stands for nothing outside of its function."""


def find_name(node: ast.expr, seen: dict[str, Any], own: set[str]) -> Any:
    """The object that a name, plain or dotted, stands for; MISSING for a name of the function's ``own``."""
    if isinstance(node, ast.Name):
        return MISSING if node.id in own else seen.get(node.id, getattr(builtins, node.id, MISSING))
    if isinstance(node, ast.Attribute):
        owner = find_name(node.value, seen, own)
        return MISSING if owner is MISSING else getattr(owner, node.attr, MISSING)
    return MISSING


def _launch(entry: Launch) -> dict[str, Any]:
    """A launch: the text of its class without comments, its columns, and its own digest."""
    return {
        "launch": type(entry).__qualname__,
        "text": class_text(type(entry)),
        "columns": launch_columns(entry),
        "digest": entry.digest(),
    }


def launch_columns(entry: Launch) -> list[dict[str, list[str]]]:
    """The columns that a launch reads, and those that it writes, by kind."""
    return [{_kind(kind): list(names) for kind, names in access.items()} for access in (entry.reads, entry.writes)]


def class_text(kind: type) -> str:
    """The source of a launch class without comments and docstrings, or that of its ``fingerprint_source``.

    A class may declare ``fingerprint_source`` to keep its hash when its source is edited without a change in behaviour.
    Subclasses do not inherit it.
    """
    source = vars(kind).get("fingerprint_source")
    try:
        tree = ast.parse(textwrap.dedent(source or inspect.getsource(kind))).body[0]
    except (OSError, TypeError, SyntaxError):
        return ""
    return ast.unparse(_Undocumented().visit(tree))


class _Undocumented(ast.NodeTransformer):
    """Removes docstrings."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node


def _callable(entry: Any) -> dict[str, Any]:
    """A callable of the schedule: its name, and its text where there is one. Values that it reads are not covered."""
    try:
        text = textwrap.dedent(inspect.getsource(entry))
    except (OSError, TypeError):
        text = ""
    return {"callable": getattr(entry, "__qualname__", type(entry).__qualname__), "text": text}


def _kind(kind: Any) -> Any:
    if isinstance(kind, Has):
        return [group.__name__ for group in kind.groups]
    return kind if kind is None or isinstance(kind, str) else kind.__name__


def json_value(value: Any) -> Any:
    """A constant as JSON, exactly; other objects by their names."""
    if isinstance(value, enum.Enum):
        return [type(value).__name__, json_value(value.value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray | np.generic):
        return [value.dtype.name, list(np.shape(value)), np.asarray(value).tobytes().hex()]
    if type(value) in SCALARS:
        return json_value(SCALARS[type(value)](value.value))
    if is_composite(type(value)):
        return [type_name(type(value)), json_value(np.asarray(value))]
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, type) and (value in SCALARS or is_composite(value)):
        return type_name(value)
    if isinstance(value, Has) or (isinstance(value, type) and issubclass(value, Components)):
        return _kind(value)
    if isinstance(value, Space):
        return repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {f.name: json_value(getattr(value, f.name)) for f in _described_fields(value)}]
    if isinstance(value, MathFunction | Helper):
        return value.name
    return getattr(value, "__qualname__", type(value).__qualname__)


def _described_fields(value: Any) -> list[dataclasses.Field[Any]]:
    """The fields of a dataclass, without those added later that have their defaults: older digests stay valid."""
    return [
        f
        for f in dataclasses.fields(value)
        if f.metadata.get("fingerprint") != "unless default" or getattr(value, f.name) != f.default
    ]
