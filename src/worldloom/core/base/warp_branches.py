"""Branches of compiled code that assign variables where they end, instead of selecting values after them.

Warp gives a variable that a branch assigns a second name, and after the branch selects one of the two by the condition.
In a loop, the value that the second name had in the previous iteration then stays alive, although it is never read: the
registers of a thread hold several times the variables of a long system. Here both branches store into a third name::

    if (condition) { ...; merged = changed; } else { merged = before; }

It applies to modules with the option :data:`OPTION`, whose code is not differentiated.
"""

from __future__ import annotations

import ast
from typing import Any

from worldloom.core.base.warp_private import Adjoint, is_reference, strip_reference

OPTION = "worldloom_branches"
"""The option of a module; it is a part of the hash by which Warp finds compiled modules."""

_warp_if, _warp_if_expression = Adjoint.emit_If, Adjoint.emit_IfExp


def install() -> None:
    """Let Warp translate branches of modules with the option in this way."""
    Adjoint.node_visitors |= {ast.If: _emit_if, ast.IfExp: _emit_if_expression}


def _emit_if(adj: Any, node: ast.If) -> None:
    if not adj.builder_options.get(OPTION) or not node.body:
        _warp_if(adj, node)
        return
    condition = adj.load(adj.eval(node.test))
    if condition.constant is not None:
        for statement in node.body if condition.constant else node.orelse:
            adj.eval(statement)
        return
    before = adj.symbols.copy()
    adj.begin_if(condition)
    for statement in node.body:
        adj.eval(statement)
    first_end = _Place(adj)
    adj.end_if(condition)
    first, adj.symbols = adj.symbols, before.copy()
    _begin_else(adj)
    for statement in node.orelse:
        adj.eval(statement)
    second, merged = adj.symbols, before.copy()
    for name in dict.fromkeys((*first, *second)):
        one, other = first.get(name, before.get(name)), second.get(name, before.get(name))
        if one is other or one is None or other is None:
            merged[name] = one if other is None else other
        else:
            merged[name] = _merge(adj, first_end, one, other)
    adj.end_else(condition)
    adj.symbols = merged


def _emit_if_expression(adj: Any, node: ast.IfExp) -> Any:
    if not adj.builder_options.get(OPTION):
        return _warp_if_expression(adj, node)
    condition = adj.load(adj.eval(node.test))
    if condition.constant is not None:
        return adj.eval(node.body if condition.constant else node.orelse)
    adj.begin_if(condition)
    one = _loaded(adj, adj.eval(node.body))
    first_end = _Place(adj)
    adj.end_if(condition)
    _begin_else(adj)
    other = _loaded(adj, adj.eval(node.orelse))
    merged = _merge(adj, first_end, one, other)
    adj.end_else(condition)
    return merged


class _Place:
    """The current end of the code, where statements can be inserted later."""

    def __init__(self, adj: Any) -> None:
        self.code, self.indentation = adj.blocks[-1].body_forward, adj.indentation
        self.index = len(self.code)

    def insert(self, statement: str) -> None:
        self.code.insert(self.index, self.indentation + statement)


def _merge(adj: Any, first_end: _Place, one: Any, other: Any) -> Any:
    """A variable that is ``one`` after the first branch and ``other`` after the second, which ends here."""
    merged = adj.add_var(strip_reference(other.type if one.constant is not None else one.type))
    first_end.insert(f"{merged.emit()} = {_value(one)};")
    adj.add_forward(f"{merged.emit()} = {_value(other)};")
    return merged


def _value(variable: Any) -> str:
    """The code for the value of a variable, which may be an address."""
    code: str = variable.emit()
    return f"*{code}" if is_reference(variable.type) else code


def _loaded(adj: Any, variable: Any) -> Any:
    return adj.add_builtin_call("copy", [variable]) if is_reference(variable.type) else variable


def _begin_else(adj: Any) -> None:
    adj.add_forward("else {")
    adj.add_reverse("}")
    adj.indent()
