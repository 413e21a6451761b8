"""Calls that do something: ends of episodes, entities that come and go, faults, and shuffled arrays."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.calls import draw, keyword_error
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.race_checks import SpawnUse
from worldloom.core.frontend.values import ArrayType, RefType, RowType, Value, WorldType
from worldloom.core.model.entity import AGENT_FIELDS, Has

if TYPE_CHECKING:
    from worldloom.core.frontend.statements import Statements


def method_statement(s: Statements, call: ast.Call, function: ast.Attribute) -> list[ast.stmt] | None:
    """``world.terminate()``, ``agent.truncate()`` and ``world.shuffle(array)``; None for anything else."""
    if call.keywords:
        raise keyword_error(s, call)
    holder = s.expression(function.value)
    if function.attr in ("terminate", "truncate") and isinstance(holder.type, (WorldType, RowType)):
        if call.args:
            raise s.error(f"{function.attr}() takes no arguments", "leave them out", call)
        s.access.truncates |= function.attr == "truncate"
        if isinstance(holder.type, RowType):
            if not holder.type.own and not s.world_system:
                raise s.error(
                    "race: one entity cannot end the episode of another", "let that entity's own system decide", call
                )
            if s.turns is not None:
                raise s.turns.store_error(s, f"{function.attr}d", call)
            s.note_agent(holder)
            for name in (f"{function.attr}d", "active"):
                s.record_access(holder, AGENT_FIELDS[name], "write", call)
        return s.target.end(holder, f"{function.attr}d")
    if function.attr == "despawn" and isinstance(holder.type, RowType):
        if call.args:
            raise s.error("despawn() takes no arguments", "leave them out", call)
        if isinstance(holder.type.owner, Has) and not holder.type.own:
            raise s.error("it is not known which kind of entity this is", "loop over one kind", call)
        s.access.despawns.setdefault(None if holder.type.own else holder.type.owner, call.lineno)  # type: ignore[arg-type]
        return s.target.despawn(holder)
    if function.attr == "shuffle" and isinstance(holder.type, WorldType):
        return shuffle(s, call)
    if function.attr == "fail" and isinstance(holder.type, WorldType):
        return fail(s, call)
    return None


def is_spawn(node: ast.expr, s: Statements) -> TypeGuard[ast.Call]:
    """Whether ``node`` is a call of ``world.spawn``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "spawn"):
        return False
    return s.static(node.func) is MISSING and isinstance(s.expression(node.func.value).type, WorldType)


def spawn(s: Statements, call: ast.Call) -> tuple[list[ast.stmt], Value]:
    """``world.spawn(Kind, component=value, ...)``: the code, and the reference to the new entity."""
    if s.turns is not None:
        raise s.error(
            "a turn of a shared loop cannot spawn entities, whose order would be that of the turns",
            "write what is to be spawned into an array component, and spawn in a plain loop after this one",
            call,
        )
    bare = ast.copy_location(ast.Call(call.func, call.args, []), call)
    kind = s.kind_argument(bare, "spawn", looks=False)
    s.temporary_count += 1
    made: list[ast.stmt] = []
    values: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        field = kind.fields.get(keyword.arg or "")
        if keyword.arg is None or field is None:
            known = ", ".join(kind.fields)
            raise s.error(
                f"unknown component '{keyword.arg}': {kind.__name__} has {known or 'none'}",
                "correct the name, or declare it",
                keyword.value,
            )
        if field.is_array:
            raise s.error(
                f"the array '{field.name}' cannot be set as a whole",
                "set its elements in a later system over the new entities",
                keyword.value,
            )
        wanted = s.kind_of(field, keyword.value)
        held = f"wl_spawn{s.temporary_count}_{field.name}"
        code = s.convert(s.expression(keyword.value), wanted, keyword.value, f"'{field.name}'")
        made.append(nodes.assign(held, s.target.as_variable(code, wanted)))
        values[field.name] = nodes.name(held)
    known_spawns = s.access.spawns.setdefault(kind, SpawnUse(call.lineno))
    known_spawns.fields |= set(values)
    known_spawns.sites += 1
    known_spawns.repeated |= s.loop_depth > 0
    born = f"wl_born{s.temporary_count}"
    made += s.target.spawn(born, kind, values)
    return made, Value(nodes.name(born), RefType(kind))


def fail(s: Statements, call: ast.Call) -> list[ast.stmt]:
    """``world.fail("message", number)``: a fault of this world, which is then reset."""
    message = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(message, str) or len(call.args) > 2:
        raise s.error(
            "world.fail takes a message in quotes, and at most one whole number",
            'write world.fail("the ball left the table")',
            call,
        )
    value = s.number(call.args[1], wp.int32, "the number") if len(call.args) == 2 else s.target.literal(0, wp.int32)
    return s.target.fault(message, call.lineno, value)


def shuffle(s: Statements, call: ast.Call) -> list[ast.stmt]:
    """Fisher and Yates, over an array component of one's own row."""
    array = s.expression(call.args[0]) if len(call.args) == 1 else None
    if array is None or not isinstance(array.type, ArrayType) or len(array.type.field.shape) != 1 or array.base is None:
        raise s.error(
            "world.shuffle takes one array component of one dimension", "write world.shuffle(entity.cards)", call
        )
    attribute = call.args[0]
    assert isinstance(attribute, ast.Attribute)
    field = s.writable(array.base, attribute, call)
    if s.shared_target(attribute) is not None:
        raise s.store_race_error(array.base, field.name, call)
    s.record_access(array.base, field, "write", call)
    size, row = field.shape[0], array.base
    s.temporary_count += 1
    held = f"wl_shuffle_kept{s.temporary_count}"
    here, there, kept = nodes.name("wl_shuffle_i"), nodes.name("wl_shuffle_j"), nodes.name(held)
    place = nodes.binary(draw(s, max(size - 1, 1)), ast.Add(), here)
    bounds: list[ast.expr] = [here, s.target.literal(size, wp.int32)]
    body: list[ast.stmt] = [
        nodes.assign("wl_shuffle_i", s.target.cast(nodes.name("wl_shuffle_n"), wp.int32)),
        nodes.assign("wl_shuffle_j", s.target.random("integer", place, bounds)),
        nodes.assign(held, s.target.element(row, field, [here])),
        *s.target.set_element(row, field, [here], s.target.element(row, field, [there])),
        *s.target.set_element(row, field, [there], kept),
    ]
    return [
        ast.For(ast.Name("wl_shuffle_n", ast.Store()), nodes.call("range", nodes.constant(size - 1)), body, [], None)
    ]
