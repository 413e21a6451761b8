"""Calls in systems: conversions, vectors, mathematics, helper functions, and the methods of worlds and references."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import NAMES, MathFunction, NoOverloadError, result_type
from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import bounds_of
from worldloom.core.frontend.names import MISSING, RANDOM_SYNONYMS
from worldloom.core.frontend.neighbours import QUERIES
from worldloom.core.frontend.shared_loop import share
from worldloom.core.frontend.values import (
    INTEGERS,
    ArrayType,
    RefType,
    RowType,
    TupleType,
    Value,
    WorldType,
    describe,
    is_scalar,
    promoted_type,
)
from worldloom.core.model.entity import Components, Entity
from worldloom.core.model.fields import FLOATS, SCALARS, canonical, is_composite, scalar_of, shape_of

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions import Expressions

_RENAMED: dict[str, str] = {"fabs": "abs"}
_END_METHODS = ("terminate", "truncate")
_WORLD_METHODS = (
    "all",
    "at",
    "count",
    "near",
    "nearest",
    "spawn",
    "random",
    "integer",
    "normal",
    "choice",
    "weighted",
    "shuffle",
    "terminate",
    "truncate",
    "fail",
)
"""The methods of a world."""
_AGGREGATES: tuple[Any, ...] = (sum, any, all, sorted, map, filter, zip, enumerate, reversed, list, tuple, set, dict)
"""Python's functions over many values, for which a system has loops."""


def translate_call(e: Expressions, node: ast.Call) -> Value:
    """Understand a call inside an expression."""
    from worldloom.core.frontend.system import Helper, System

    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise e.unsupported("'*' in a call", node, "write the arguments one by one")
    if node.keywords and not (isinstance(node.func, ast.Attribute) and node.func.attr in ("spawn", "near", "nearest")):
        raise keyword_error(e, node)
    function = e.static(node.func)
    if function is MISSING:
        e.refuse_unknown_member(node.func)
        if isinstance(node.func, ast.Attribute):
            return _method(e, node, node.func)
        name = ast.unparse(node.func)
        if name == e.source.name:
            raise e.error(
                f"recursion: '{name}' calls itself", "use a loop; compiled systems have no call stack to grow", node
            )
        raise e.error(f"unknown function '{name}'", "define it above with @wl.function, or correct the spelling", node)
    if isinstance(function, System):
        raise e.error(
            f"'{function.name}' is a system, which the engine calls", "share code through a @wl.function helper", node
        )
    if function is e.source.function or (
        isinstance(function, Helper) and function.name == e.source.name and function.source.file == e.source.file
    ):
        raise e.error(
            f"recursion: '{e.source.name}' calls itself",
            "use a loop; compiled systems have no call stack to grow",
            node,
        )
    if isinstance(function, Helper):
        return _helper(e, function, node)
    if isinstance(function, Hashable) and function in _BUILTINS:
        translate: Callable[[Expressions, ast.Call], Value] = _BUILTINS[function]
        return translate(e, node)
    if isinstance(function, type) and issubclass(function, Components):
        raise _constructor_error(e, function, node)
    kind = canonical(function) if isinstance(function, type) else None
    if kind is not None:
        return _conversion(e, kind, node) if is_scalar(kind) else _constructor(e, kind, node)
    known = _math_name(function)
    if known is not None:
        return _math_call(e, known, [e.plain(a) for a in node.args], node)
    fix = "use worldloom's mathematics (wl.sin, wl.length, ...) or a @wl.function helper"
    if any(function is loop for loop in _AGGREGATES):
        fix = "write a loop: 'total = 0.0' before it, 'for i in range(n):', and 'total += ...' in it"
    if (
        "random"
        in f"{getattr(function, '__module__', '')} {type(getattr(function, '__self__', None)).__module__} {ast.unparse(node.func)}"
    ):
        fix = "draw random numbers with world.random(), world.integer(n) and world.normal()"
    raise e.error(f"'{ast.unparse(node.func)}' cannot be called in a system", fix, node)


def keyword_error(e: Expressions, node: ast.Call) -> Exception:
    """Why a call with keyword arguments is refused: because of them, unless something else is wrong with it."""
    function = e.static(node.func)
    if isinstance(function, type) and issubclass(function, Components):
        return _constructor_error(e, function, node)
    if (
        function is MISSING
        and isinstance(node.func, ast.Attribute)
        and node.func.attr not in _WORLD_METHODS
        and isinstance(e.expression(node.func.value).type, WorldType)
    ):
        return _unknown_method_error(e, node.func.attr, node)
    return e.unsupported("a keyword argument", node, "give the arguments by position")


def _constructor_error(e: Expressions, kind: type[Components], node: ast.Call) -> Exception:
    if not issubclass(kind, Entity):
        return e.error(
            f"a {kind.__name__} cannot be made inside a system", "take it as a parameter of the system", node
        )
    fix = f"write world.spawn({kind.__name__}, component=value), and register {kind.__name__} with wl.UpTo"
    return e.error("an entity is not made by calling its class", fix, node)


def _unknown_method_error(e: Expressions, name: str, node: ast.Call) -> Exception:
    near = difflib.get_close_matches(name, _WORLD_METHODS, n=1)
    meant = RANDOM_SYNONYMS.get(name) or (f"world.{near[0]}" if near else None)
    hint = f"did you mean {meant}? " if meant else ""
    return e.error(
        f"unknown method 'world.{name}'",
        f"{hint}a world has {', '.join(_WORLD_METHODS[:-1])} and {_WORLD_METHODS[-1]}",
        node,
    )


def _math_name(function: Any) -> str | None:
    """The name of the worldloom function that ``wl.sin``, ``wp.sin`` or ``math.sin`` stands for."""
    if isinstance(function, MathFunction):
        return function.name
    name: str = getattr(function, "key", getattr(function, "__name__", ""))
    module = getattr(function, "__module__", "") or ""
    known = isinstance(function, wp.Function) or module == "math"
    name = _RENAMED.get(name) or name
    return name if known and name in NAMES else None


def _math_call(e: Expressions, name: str, arguments: list[Value], node: ast.AST) -> Value:
    scalars = [a for a in arguments if is_scalar(a.type)]
    vectors = [a for a in arguments if is_composite(a.type)]
    kind: Any = wp.int32
    if vectors:
        kind = scalar_of(vectors[0].type)
    elif scalars:
        typed = [one for one in scalars if not one.weak]
        kind = (typed or scalars)[0].type
        for one in [*typed, *[one for one in scalars if one.weak]]:
            kind = promoted_type(Value(one.node, kind, None if typed else 0), one)
        if kind not in FLOATS and name not in ("abs", "min", "max", "clamp", "sign", "nonzero"):
            kind = wp.float32
        if kind is wp.bool:
            kind = wp.int32
    if name == "cw_div" and kind in INTEGERS:
        raise e.error("vectors of whole numbers are not divided", "divide component by component with //", node)
    code = [e.convert(a, kind, node, f"an argument of '{name}'") if is_scalar(a.type) else a.node for a in arguments]
    types = tuple(kind if is_scalar(a.type) else a.type for a in arguments)
    try:
        result = result_type(name, types)
    except NoOverloadError:
        shown = ", ".join(describe(a.type) for a in arguments)
        raise e.error(
            f"wrong type: '{name}' does not take ({shown})", "see docs/python.md for what it takes", node
        ) from None
    if name == "isfinite" and len(shape_of(types[0])) < 2:
        return Value(nodes.call("wl_is_finite_vector" if shape_of(types[0]) else "wl_is_finite", *code), wp.bool)
    if name in ("argmin", "argmax"):
        return Value(e.target.cast(e.target.function(name, types, code), wp.int32), wp.int32)
    return Value(e.math_call(name, types, code, node), result)


def _conversion(e: Expressions, kind: Any, node: ast.Call) -> Value:
    if len(node.args) != 1:
        raise e.error(f"{describe(kind)}() takes one number", "give it one", node)
    if kind is wp.bool:
        return Value(e.truth(node.args[0]), wp.bool)
    value = e.plain(node.args[0])
    if not is_scalar(value.type):
        raise e.error(f"wrong type: {describe(value.type)} is no single number", "convert one of its components", node)
    if value.weak and (kind in FLOATS or isinstance(value.const, int)):
        return Value(e.convert(value, kind, node, "the number"), kind)
    return Value(
        _to_integer(e, value, kind) if kind in INTEGERS and value.type in FLOATS else e.target.cast(value.node, kind),
        kind,
    )


def _to_integer(e: Expressions, value: Value, kind: Any) -> ast.expr:
    """A real number cut off to a whole one: the nearest there is where it is too large, 0 where it is not a number.

    Without the bounds every device would have its own answer.
    """
    info, real = np.iinfo(SCALARS[kind]), SCALARS[value.type]
    with np.errstate(over="ignore"):
        low, high = real(info.min), real(info.max)
    if np.isinf(low):
        low = -np.finfo(real).max
    if np.isinf(high):
        high = np.finfo(real).max
    elif int(high) > info.max:
        high = np.nextafter(high, real(0))
    bounds = [e.target.literal(float(b), value.type) for b in (low, high)]
    return e.target.cast(nodes.call("wl_clamp_finite", value.node, *bounds), kind)


def _constructor(e: Expressions, kind: Any, node: ast.Call) -> Value:
    arguments = [e.plain(a) for a in node.args]
    code, size = [], 0
    for argument, written in zip(arguments, node.args, strict=True):
        if is_scalar(argument.type):
            code.append(e.convert(argument, scalar_of(kind), written, f"a component of {describe(kind)}"))
            size += 1
        elif argument.type is kind or kind.__name__.startswith("transform"):
            code.append(argument.node)
            size += int(np.prod(shape_of(argument.type)))
        else:
            raise e.error(
                f"wrong type: {describe(kind)} is made of numbers, not of {describe(argument.type)}",
                "write its components out: v.x, v.y, ...",
                written,
            )
    want = 1
    for n in shape_of(kind):
        want *= n
    if size not in (0, 1, want):
        raise e.error(
            f"wrong type: {describe(kind)} takes {want} numbers, not {size}", "give as many numbers as it is long", node
        )
    if size == 0:
        code = [e.target.literal(0.0 if scalar_of(kind) in FLOATS else 0, scalar_of(kind))] * want
    elif size == 1 and len(shape_of(kind)) > 1:
        code = code * want
    return Value(e.target.construct(kind, code), kind)


def _helper(e: Expressions, helper: Any, node: ast.Call) -> Value:
    if len(node.args) != len(helper.parameters):
        raise e.error(
            f"'{helper.name}' takes {len(helper.parameters)} arguments, not {len(node.args)}", "give it as many", node
        )
    code = [
        e.convert(e.expression(a), kind, a, f"argument '{name}' of '{helper.name}'")
        for a, (name, kind) in zip(node.args, helper.parameters.items(), strict=True)
    ]
    e.target.use_helper(helper)
    return Value(nodes.call(f"wl_helper_{helper.name}", *code), helper.returns)


def _method(e: Expressions, node: ast.Call, function: ast.Attribute) -> Value:
    value = e.expression(function.value)
    name = function.attr
    if isinstance(value.type, RefType):
        if name != "get" or node.args:
            fix = (
                f"follow it first: .get().{name}()"
                if name in (*_END_METHODS, "despawn")
                else "follow it with .get(), or ask .alive"
            )
            raise e.error(f"a reference has no method '{name}'", fix, node)
        row = e.target.follow(value.node, value.type.kind, node.lineno)
        e.access.kinds.setdefault(value.type.kind, node.lineno)
        return Value(row, RowType(value.type.kind, own=False))
    if isinstance(value.type, WorldType):
        if name == "count":
            return Value(e.target.count(e.kind_argument(node, "count")), wp.int32)
        if name == "at":
            return _at(e, node)
        if name in _RANDOM:
            return _RANDOM[name](e, node)
        if name in ("all", *QUERIES):
            written = QUERIES.get(name, "world.all(Kind)")
            raise e.error(f"world.{name}(...) is there to be looped over", f"write 'for other in {written}:'", node)
        if name in (*_END_METHODS, "shuffle", "fail"):
            raise e.error(f"world.{name}() gives no value", "write it on a line of its own", node)
        if name == "spawn":
            raise e.error(
                "world.spawn(...) stands on a line of its own, or right of '='",
                "keep its reference in a variable first",
                node,
            )
        raise _unknown_method_error(e, name, node)
    if isinstance(value.type, RowType):
        problem = (
            f"'{name}()' gives no value"
            if name in (*_END_METHODS, "despawn")
            else f"unknown method '{name}' of {value.type.owner.__name__}"
        )
        raise e.error(
            problem,
            "entities have terminate(), truncate() and despawn(), each on a line of its own; put shared code into a @wl.function",
            node,
        )
    raise e.error(
        f"{describe(value.type)} has no method '{name}'", "use worldloom's functions, such as wl.length(v)", node
    )


def _at(e: Expressions, node: ast.Call) -> Value:
    """``world.at(Kind, place)``: the entity with that id."""
    if len(node.args) != 2:
        raise e.error("world.at takes a kind of entity and the entity's id", "write world.at(Kind, id)", node)
    kind = e.kind_argument(ast.copy_location(ast.Call(node.func, node.args[:1], []), node), "at")
    place = e.number(node.args[1], wp.int32, "the id of an entity")
    return Value(e.target.at(place, kind, node.lineno, bounds_of(e, node.args[1])), RowType(kind, own=False))


# -- random numbers --------------------------------------------------------------------------------------------------


def draw(e: Expressions, used: int = 1) -> ast.expr:
    """The number of the next draw of this system run; ``used`` draws are taken."""
    place = nodes.constant(e.draw_count)
    e.draws.append((place, e.draw_count))
    e.draw_count += used
    return nodes.binary(nodes.name("wl_draw"), ast.Add(), place)


def _bounds(e: Expressions, node: ast.Call, kind: Any, defaults: tuple[Any, Any]) -> list[ast.expr]:
    method = ast.unparse(node.func)
    if len(node.args) > 2:
        raise e.error(f"{method} takes at most two numbers", "give the two bounds", node)
    if len(node.args) == 1:
        return [e.target.literal(defaults[0], kind), e.number(node.args[0], kind, f"the bound of {method}")]
    if not node.args:
        if defaults[1] is None:
            raise e.error(f"{method} needs a bound", "give it the number of choices", node)
        return [e.target.literal(d, kind) for d in defaults]
    return [e.number(a, kind, f"a bound of {method}") for a in node.args]


def _uniform(e: Expressions, node: ast.Call) -> Value:
    bounds = _bounds(e, node, wp.float32, (0.0, 1.0))
    return Value(e.target.random("uniform", draw(e), bounds), wp.float32)


def _integer(e: Expressions, node: ast.Call) -> Value:
    bounds = _bounds(e, node, wp.int32, (0, None))
    return Value(e.target.random("integer", draw(e), bounds), wp.int32)


def _normal(e: Expressions, node: ast.Call) -> Value:
    if len(node.args) == 1:
        raise e.error("world.normal takes a mean and a spread, or nothing", "give both", node)
    bounds = _bounds(e, node, wp.float32, (0.0, 1.0))
    return Value(e.target.random("normal", draw(e, 2), bounds), wp.float32)


def _choice(e: Expressions, node: ast.Call) -> Value:
    value = e.expression(node.args[0]) if len(node.args) == 1 else None
    kind = value.type if value is not None else None
    if value is None or not (is_composite(kind) or isinstance(kind, ArrayType)):
        raise e.error(
            "world.choice takes one vector or array component", "for a number of choices use world.integer(n)", node
        )
    shape = kind.field.shape if isinstance(kind, ArrayType) else shape_of(kind)
    if len(shape) != 1:
        raise e.error("world.choice takes one dimension", "draw the indices with world.integer", node)
    place = e.target.random("integer", draw(e), [e.target.literal(0, wp.int32), e.target.literal(shape[0], wp.int32)])
    if isinstance(kind, ArrayType):
        assert value.base is not None
        if e.turns is not None:
            e.turns.add_read(e, value, None, node.lineno)
        return Value(e.target.element(value.base, kind.field, [place]), kind.field.dtype)
    return Value(e.target.component(value.node, kind, [place]), scalar_of(kind))


def _weighted(e: Expressions, node: ast.Call) -> Value:
    value = e.expression(node.args[0]) if len(node.args) == 1 else None
    if (
        value is None
        or not is_composite(value.type)
        or len(shape_of(value.type)) != 1
        or scalar_of(value.type) is not wp.float32
    ):
        raise e.error(
            "world.weighted takes one vector of weights", "give it for example wl.vec3(0.5, 0.25, 0.25)", node
        )
    zero_one = [e.target.literal(0.0, wp.float32), e.target.literal(1.0, wp.float32)]
    number = e.target.random("uniform", draw(e), zero_one)
    return Value(nodes.call("wl_weighted_index", value.node, number), wp.int32)


_RANDOM = {"random": _uniform, "integer": _integer, "normal": _normal, "choice": _choice, "weighted": _weighted}


# -- Python's own functions ------------------------------------------------------------------------------------------


def _abs(e: Expressions, node: ast.Call) -> Value:
    return _math_call(e, "abs", [e.plain(a) for a in node.args], node)


def _extreme(name: str) -> Any:
    def translate(e: Expressions, node: ast.Call) -> Value:
        if len(node.args) < 2:
            raise e.error(f"{name}() takes two numbers or more", "write them out", node)
        result = e.plain(node.args[0])
        for argument in node.args[1:]:
            result = _math_call(e, name, [result, e.plain(argument)], node)
        return result

    return translate


def _round(e: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 1:
        raise e.error("round() takes one number here", "scale before and after to keep digits", node)
    rounded = Value(
        e.target.function("rint", (wp.float32,), [e.number(node.args[0], wp.float32, "the number")]), wp.float32
    )
    return Value(_to_integer(e, rounded, wp.int32), wp.int32)


def _len(e: Expressions, node: ast.Call) -> Value:
    inner = node.args[0] if len(node.args) == 1 else None
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "all":
        raise e.error(
            "world.all(...) is there to be looped over",
            f"count with {ast.unparse(inner.func.value)}.count({ast.unparse(inner)[:-1].split('(', 1)[1]})",
            node,
        )
    value = e.expression(node.args[0]) if len(node.args) == 1 else None
    if value is not None and isinstance(value.type, ArrayType):
        return e.constant(value.type.field.shape[0], node)
    if value is not None and is_composite(value.type):
        return e.constant(shape_of(value.type)[0], node)
    if value is not None and isinstance(value.type, TupleType):
        return e.constant(len(value.type.items), node)
    raise e.error("len() takes an array component or a vector", "count entities with world.count(Kind)", node)


def _pow(e: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 2:
        raise e.error("pow() takes two numbers", "write a ** b", node)
    return e.power(e.plain(node.args[0]), e.plain(node.args[1]), node)


def _bool(e: Expressions, node: ast.Call) -> Value:
    return _conversion(e, wp.bool, node)


def _share(e: Expressions, node: ast.Call) -> Value:
    raise e.error("wl.share(...) is there to be looped over", "write 'for ray in wl.share(30):' in a system", node)


_BUILTINS: dict[Any, Any] = {
    share: _share,
    abs: _abs,
    min: _extreme("min"),
    max: _extreme("max"),
    round: _round,
    len: _len,
    pow: _pow,
    bool: _bool,
}
