"""Configuration vectors that systems only index: on a GPU they are read in place.

A vector in registers cannot be indexed at run time. The compiler would copy it to the local memory of each thread, one
number at a time, for all of its numbers. An array whose data are the vector of this world is indexed in its place; the
code of systems and helpers is the same, and only the types of their parameters differ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.frontend.targets.kernel_names import register_name
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.dtypes import shape_of
from worldloom.core.model.fields import Field, Role

if TYPE_CHECKING:
    from worldloom.core.frontend.helper import Helper
    from worldloom.core.frontend.targets.kernel_function import KernelFunction

HELPER_PREFIX = "wl_helper_"
MAX_REGISTER_BYTES = 16
"""Vectors up to this size are loaded by one instruction."""


def columns_read_in_place(functions: Iterable[KernelFunction]) -> frozenset[ColumnKey]:
    """The configuration vectors that some system indexes at run time and that no system uses otherwise."""
    indexed: set[ColumnKey] = set()
    used: set[ColumnKey] = set()
    for function in functions:
        for column, field in function.target.inputs.items():
            if not _is_long_vector(column, field):
                continue
            index = _indexing(function.flow.body, register_name(column), function.target.helpers)
            (used if index is None else indexed if index else set()).add(column)
    return frozenset(indexed - used)


def _is_long_vector(column: ColumnKey, field: Field) -> bool:
    return (
        column[0] == WORLD
        and field.role is Role.CONFIG
        and len(shape_of(field.dtype)) == 1
        and int(wp.types.type_size_in_bytes(field.dtype)) > MAX_REGISTER_BYTES
    )


def _indexing(body: list[ast.stmt], name: str, helpers: Mapping[str, Any]) -> bool | None:
    """Whether code indexes the variable ``name`` at run time; None where it uses it otherwise than by an index."""
    uses = at_run_time = 0
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id == name:
            uses += 1
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_name(node.value, name):
            uses -= 1
            at_run_time += not isinstance(node.slice, ast.Constant)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for position in (i for i, argument in enumerate(node.args) if _is_name(argument, name)):
                inner = _helper_indexing(helpers.get(node.func.id.removeprefix(HELPER_PREFIX)), position)
                uses -= inner is not None
                at_run_time += bool(inner)
    return bool(at_run_time) if uses == 0 else None


def _helper_indexing(helper: Helper | None, position: int) -> bool | None:
    """:func:`_indexing` of a parameter of a helper, given by its position."""
    parameters = getattr(helper, "parameters", None)
    if helper is None or parameters is None:
        return None
    target, flow = helper.translated()
    return _indexing(flow.body, f"v_{list(parameters)[position]}", target.helpers)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def helpers_that_index(
    body: list[ast.stmt], names: frozenset[str], helpers: Mapping[str, Any]
) -> set[tuple[str, frozenset[str]]]:
    """The helpers that ``body`` passes one of the arrays ``names``, each with the parameters that get them."""
    found: set[tuple[str, frozenset[str]]] = set()
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER_PREFIX):
            helper = node.func.id.removeprefix(HELPER_PREFIX)
            passed = zip(helpers[helper].parameters, node.args, strict=True)
            arrays = frozenset(p for p, argument in passed if isinstance(argument, ast.Name) and argument.id in names)
            found |= {(helper, arrays)} if arrays else set()
    return found
