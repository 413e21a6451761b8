"""Calls in expressions: dispatch by what is called, and errors for calls that systems cannot make."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from worldloom.core.frontend import nodes
from worldloom.core.frontend.calls.builtins import BUILTINS
from worldloom.core.frontend.calls.constructors import constructor, conversion
from worldloom.core.frontend.calls.math_calls import math_call, math_name
from worldloom.core.frontend.calls.methods import WORLD_METHODS, translate_method, unknown_method_error
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.user_functions import ExpandedFunction, HelperFunction, SystemFunction
from worldloom.core.frontend.values import Value, WorldType, is_scalar
from worldloom.core.model.entity import Components, Entity

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


_AGGREGATES: tuple[Any, ...] = (sum, any, all, sorted, map, filter, zip, enumerate, reversed, list, tuple, set, dict)
"""Python's functions over collections; a system uses loops instead."""


def translate_call(flow: Expressions, node: ast.Call) -> Value:
    """Translate a call inside an expression."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise flow.unsupported("'*' in a call", node, "write the arguments one by one")
    if node.keywords and not (isinstance(node.func, ast.Attribute) and node.func.attr in ("spawn", "near", "nearest")):
        raise keyword_error(flow, node)
    function = flow.static(node.func)
    if function is MISSING:
        flow.refuse_unknown_member(node.func)
        if isinstance(node.func, ast.Attribute):
            return translate_method(flow, node, node.func)
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Call):
            raise flow.error(
                f"the result of '{name}' is called",
                f"name it outside of the system, as in 'Numbers = {name}', and call Numbers(...)",
                node,
            )
        if name == flow.source.name:
            raise flow.error(
                f"recursion: '{name}' calls itself", "use a loop; compiled systems have no call stack", node
            )
        raise flow.error(
            f"unknown function '{name}'", "define it above with @wl.function, or correct the spelling", node
        )
    if isinstance(function, SystemFunction):
        raise flow.error(
            f"'{function.name}' is a system, which only the engine calls",
            "share code through a @wl.function helper",
            node,
        )
    if isinstance(function, ExpandedFunction):
        raise flow.error(
            f"'{function.name}' takes a world, and its call is part of another expression or of a helper",
            f"write 'x = {ast.unparse(node.func)}(...)' in a system, and use x",
            node,
        )
    if function is flow.source.function or (
        isinstance(function, HelperFunction)
        and function.name == flow.source.name
        and function.source.file == flow.source.file
    ):
        raise flow.error(
            f"recursion: '{flow.source.name}' calls itself",
            "use a loop; compiled systems have no call stack",
            node,
        )
    if isinstance(function, HelperFunction):
        return _helper(flow, function, node)
    if isinstance(function, Hashable) and function in BUILTINS:
        translate: Callable[[Expressions, ast.Call], Value] = BUILTINS[function]
        return translate(flow, node)
    if isinstance(function, type) and issubclass(function, Components):
        raise _constructor_error(flow, function, node)
    kind = flow.target.component_type(function) if isinstance(function, type) else None
    if kind is not None:
        return conversion(flow, kind, node) if is_scalar(kind) else constructor(flow, kind, node)
    known = math_name(function)
    if known is not None:
        return math_call(flow, known, [flow.plain(a) for a in node.args], node)
    fix = "use worldloom's mathematics (wl.sin, wl.length, ...) or a @wl.function helper"
    if any(function is loop for loop in _AGGREGATES):
        fix = "write a loop: 'total = 0.0' before it, 'for i in range(n):', and 'total += ...' in it"
    origin = f"{getattr(function, '__module__', '')} {type(getattr(function, '__self__', None)).__module__}"
    if "random" in f"{origin} {ast.unparse(node.func)}":
        fix = "draw random numbers with world.random(), world.integer(n) and world.normal()"
    raise flow.error(f"'{ast.unparse(node.func)}' cannot be called in a system", fix, node)


def keyword_error(flow: Expressions, node: ast.Call) -> Exception:
    """The error for a call with keyword arguments; errors about the function itself come first."""
    function = flow.static(node.func)
    if isinstance(function, type) and issubclass(function, Components):
        return _constructor_error(flow, function, node)
    if (
        function is MISSING
        and isinstance(node.func, ast.Attribute)
        and node.func.attr not in WORLD_METHODS
        and isinstance(flow.expression(node.func.value).type, WorldType)
    ):
        return unknown_method_error(flow, node.func.attr, node)
    return flow.unsupported("a keyword argument", node, "give the arguments by position")


def _constructor_error(flow: Expressions, kind: type[Components], node: ast.Call) -> Exception:
    if not issubclass(kind, Entity):
        return flow.error(
            f"a {kind.__name__} cannot be created inside a system", "take it as a parameter of the system", node
        )
    fix = f"write world.spawn({kind.__name__}, component=value), and register {kind.__name__} with wl.UpTo"
    return flow.error("an entity is not created by calling its class", fix, node)


def _helper(flow: Expressions, helper: HelperFunction, node: ast.Call) -> Value:
    if len(node.args) != len(helper.parameters):
        raise flow.error(
            f"'{helper.name}' takes {len(helper.parameters)} arguments, not {len(node.args)}", "give it as many", node
        )
    width = flow.target.width
    code = [
        flow.convert(flow.expression(a), width(kind), a, f"argument '{name}' of '{helper.name}'")
        for a, (name, kind) in zip(node.args, helper.parameters.items(), strict=True)
    ]
    flow.target.use_helper(helper)
    return Value(nodes.call(f"wl_helper_{helper.key}", *code), width(helper.returns))
