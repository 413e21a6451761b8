"""Calls that are statements: ends of episodes, spawns and despawns, faults, and shuffled arrays."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.access import SpawnUse
from worldloom.core.frontend.calls.dispatch import keyword_error
from worldloom.core.frontend.calls.random_numbers import draw
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.race_checks import END_OF_OTHER_RACE
from worldloom.core.frontend.values import ArrayType, RefType, RowType, Value, WorldType
from worldloom.core.model.entity import AGENT_FIELDS, Has

if TYPE_CHECKING:
    from worldloom.core.frontend.accumulation import Accumulation


def method_statement(flow: Accumulation, call: ast.Call, function: ast.Attribute) -> list[ast.stmt] | None:
    """``world.terminate()``, ``agent.truncate()`` and ``world.shuffle(array)``; None for anything else."""
    if call.keywords:
        raise keyword_error(flow, call)
    holder = flow.expression(function.value)
    if function.attr in ("terminate", "truncate") and isinstance(holder.type, (WorldType, RowType)):
        if call.args:
            raise flow.error(f"{function.attr}() takes no arguments", "leave them out", call)
        flow.access.truncates |= function.attr == "truncate"
        if isinstance(holder.type, RowType):
            if not holder.type.own and not flow.world_system:
                raise flow.error(*END_OF_OTHER_RACE, call)
            if flow.shared_loop is not None:
                raise flow.shared_loop.store_error(flow, f"{function.attr}d", call)
            flow.note_agent(holder)
            for name in (f"{function.attr}d", "active"):
                flow.record_access(holder, AGENT_FIELDS[name], "write", call)
        return flow.target.end(holder, f"{function.attr}d")
    if function.attr == "despawn" and isinstance(holder.type, RowType):
        if call.args:
            raise flow.error("despawn() takes no arguments", "leave them out", call)
        if isinstance(holder.type.owner, Has) and not holder.type.own:
            raise flow.error("the kind of this entity is unknown", "loop over one kind", call)
        flow.access.despawns.setdefault(None if holder.type.own else holder.type.owner, call.lineno)  # type: ignore[arg-type]
        return flow.target.despawn(holder)
    if function.attr == "shuffle" and isinstance(holder.type, WorldType):
        return shuffle(flow, call)
    if function.attr == "fail" and isinstance(holder.type, WorldType):
        return fail(flow, call)
    return None


def is_spawn(node: ast.expr, flow: Accumulation) -> TypeGuard[ast.Call]:
    """Whether ``node`` is a call of ``world.spawn``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "spawn"):
        return False
    return flow.static(node.func) is MISSING and isinstance(flow.expression(node.func.value).type, WorldType)


def spawn(flow: Accumulation, call: ast.Call) -> tuple[list[ast.stmt], Value]:
    """``world.spawn(Kind, component=value, ...)``: the code, and the reference to the new entity."""
    if flow.shared_loop is not None:
        raise flow.error(
            "an iteration of a shared loop cannot spawn entities: their order would be that of the iterations",
            "write the entities to spawn into an array component, and spawn in a plain loop after this one",
            call,
        )
    bare = ast.copy_location(ast.Call(call.func, call.args, []), call)
    kind = flow.kind_argument(bare, "spawn", looks=False)
    flow.temporary_count += 1
    code: list[ast.stmt] = []
    values: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        field = kind.fields.get(keyword.arg or "")
        if keyword.arg is None or field is None:
            known = ", ".join(kind.fields)
            raise flow.error(
                f"unknown component '{keyword.arg}': {kind.__name__} has {known or 'none'}",
                "correct the name, or declare it",
                keyword.value,
            )
        if field.is_array:
            raise flow.error(
                f"the array '{field.name}' cannot be set as a whole",
                "set its elements in a later system over the new entities",
                keyword.value,
            )
        kind_of_field = flow.kind_of(field, keyword.value)
        variable = f"wl_spawn{flow.temporary_count}_{field.name}"
        value_code = flow.convert(flow.expression(keyword.value), kind_of_field, keyword.value, f"'{field.name}'")
        code.append(nodes.assign(variable, flow.target.as_variable(value_code, kind_of_field)))
        values[field.name] = nodes.name(variable)
    known_spawns = flow.access.spawns.setdefault(kind, SpawnUse(call.lineno))
    known_spawns.fields |= set(values)
    known_spawns.sites += 1
    known_spawns.repeated |= flow.loop_depth > 0
    reference = f"wl_born{flow.temporary_count}"
    code += flow.target.spawn(reference, kind, values)
    return code, Value(nodes.name(reference), RefType(kind))


def fail(flow: Accumulation, call: ast.Call) -> list[ast.stmt]:
    """``world.fail("message", number)``: a fault of this world, which is then reset."""
    message = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(message, str) or len(call.args) > 2:
        raise flow.error(
            "world.fail takes a message in quotes, and at most one integer",
            'write world.fail("the ball left the table")',
            call,
        )
    value = (
        flow.number(call.args[1], wp.int32, "the number") if len(call.args) == 2 else flow.target.literal(0, wp.int32)
    )
    return flow.target.fault(message, call.lineno, value)


def shuffle(flow: Accumulation, call: ast.Call) -> list[ast.stmt]:
    """The Fisher-Yates shuffle of an array component of the own row."""
    array = flow.expression(call.args[0]) if len(call.args) == 1 else None
    if array is None or not isinstance(array.type, ArrayType) or len(array.type.field.shape) != 1 or array.base is None:
        raise flow.error(
            "world.shuffle takes one array component of one dimension", "write world.shuffle(entity.cards)", call
        )
    attribute = call.args[0]
    assert isinstance(attribute, ast.Attribute)
    field = flow.writable(array.base, attribute, call)
    if flow.shared_target(attribute) is not None:
        raise flow.store_race_error(array.base, field.name, call)
    flow.record_access(array.base, field, "write", call)
    size, row = field.shape[0], array.base
    flow.temporary_count += 1
    variable = f"wl_shuffle_kept{flow.temporary_count}"
    first, second, kept_value = nodes.name("wl_shuffle_i"), nodes.name("wl_shuffle_j"), nodes.name(variable)
    draw_index = nodes.binary(draw(flow, max(size - 1, 1)), ast.Add(), first)
    bounds: list[ast.expr] = [first, flow.target.literal(size, wp.int32)]
    body: list[ast.stmt] = [
        nodes.assign("wl_shuffle_i", flow.target.cast(nodes.name("wl_shuffle_n"), wp.int32)),
        nodes.assign("wl_shuffle_j", flow.target.random("integer", draw_index, bounds)),
        nodes.assign(variable, flow.target.element(row, field, [first])),
        *flow.target.set_element(row, field, [first], flow.target.element(row, field, [second])),
        *flow.target.set_element(row, field, [second], kept_value),
    ]
    return [
        ast.For(ast.Name("wl_shuffle_n", ast.Store()), nodes.call("range", nodes.constant(size - 1)), body, [], None)
    ]
