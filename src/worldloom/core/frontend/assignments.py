"""Assignments: to local variables, components, elements of arrays and numbers of vectors."""

from __future__ import annotations

import ast
import copy
from typing import Any

from worldloom.core.frontend import nodes
from worldloom.core.frontend.accumulation import Accumulation
from worldloom.core.frontend.calls import effects
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.race_checks import OPERATOR_RACE, VECTOR_ELEMENT_RACE
from worldloom.core.frontend.shared_loop import check_array_size
from worldloom.core.frontend.values import ArrayType, RefType, RowType, TupleType, Value, WorldType, describe, is_plain
from worldloom.core.model.dtypes import is_composite, scalar_of
from worldloom.core.model.fields import ComponentSpec

_ACCUMULATE: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
}


class Assignments(Accumulation):
    """Translates assignments. Subclassed by :class:`Statements`."""

    def stmt_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        if len(node.targets) > 1:
            raise self.unsupported("a chained assignment", node, "assign one after the other")
        target = node.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self.unpack(target.elts, node)
        if effects.is_spawn(node.value, self):
            code, reference = effects.spawn(self, node.value)
            return [*code, *self.assign(target, reference, node)]
        accumulated = self.min_max_assignment(target, node.value)
        if accumulated is not None:
            return accumulated
        return self.assign(target, self.expression(node.value), node)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name):
            if node.value is None:
                raise self.error(
                    "a component is declared in its class, not in a system", "give it a value, or remove the line", node
                )
            return self.stmt_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))
        try:
            code = compile(ast.Expression(node.annotation), self.source.file, "eval")
            annotation = eval(code, dict(self.names))  # noqa: S307
        except Exception as error:
            raise self.error(
                f"the annotation cannot be evaluated ({error})",
                "use bool, int, float, a vector type or wl.Ref(Kind)",
                node,
            ) from None
        kind = (
            RefType(annotation.ref)
            if isinstance(annotation, ComponentSpec) and annotation.ref is not None
            else self.target.component_type(annotation)
        )
        if kind is None or node.value is None:
            raise self.error(
                "a variable with a type needs a value and a component type", "write for example 'n: int = 0'", node
            )
        value = self.expression(node.value)
        converted = Value(self.convert(value, kind, node, f"'{node.target.id}'"), kind)
        return self.assign_local(node.target.id, converted, node)

    def stmt_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        held, target = self.bind_row(node.target)
        if held:
            return [*held, *self.stmt_AugAssign(ast.copy_location(ast.AugAssign(target, node.op, node.value), node))]
        shared = self.shared_target(node.target)
        if shared is not None:
            operator = _ACCUMULATE.get(type(node.op))
            if operator is None:
                raise self.error(*OPERATOR_RACE.about(self.source_text(node)), node)
            return self.accumulate(shared, operator, self.expression(node.value), node)
        read, draws_before = ast.copy_location(nodes.as_load(node.target), node), self.draw_count
        now = self.expression(read)
        if self.draw_count != draws_before:
            raise self.error(
                "a random number in the target of the assignment would be drawn twice",
                "draw it into a variable first",
                node,
            )
        wide = self.wide_literal(node.value)
        if wide is not None:
            raise self.wide_literal_error(wide, node.value, now.type)
        value = self.binary(now, node.op, self.expression(node.value), node)
        return self.assign(node.target, value, node)

    def bind_row(self, target: ast.expr) -> tuple[list[ast.stmt], Any]:
        """``reference.get().x`` with its row in a variable, so that a read and a write follow the reference once."""
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            if (
                isinstance(target.value, ast.Call)
                and isinstance(target, ast.Attribute)
                and self.static(target.value.func) is MISSING
            ):
                row = self.expression(target.value)
                if not isinstance(row.type, RowType):
                    return [], target
                self.temporary_count += 1
                name = f"wl_row{self.temporary_count}"
                self.held_rows[name] = ast.unparse(target.value)
                inner: ast.expr = ast.copy_location(ast.Name(name, ast.Load()), target.value)
                held = self.assign_local(name, row, target)
            else:
                held, inner = self.bind_row(target.value)
            if held:
                target = copy.copy(target)
                target.value = inner
                return held, target
        return [], target

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return self.assign_local(target.id, value, node)
        if isinstance(target, ast.Attribute):
            return self.assign_attribute(target, value, node)
        if isinstance(target, ast.Subscript):
            return self.assign_element(target, value, node)
        raise self.unsupported(f"assigning to '{ast.unparse(target)}'", node)

    def assign_local(self, name: str, value: Value, node: ast.AST) -> list[ast.stmt]:
        if name in self.parameters:
            raise self.error(f"'{name}' is a parameter and cannot be replaced", "use another name", node)
        if self.shared_loop is not None:
            self.shared_loop.check_local(self, name, node)
        if not (is_plain(value.type) or isinstance(value.type, (RefType, RowType))):
            hint = (
                "write 'name: wl.Ref(Kind) = None' for an empty reference"
                if value.type is None
                else "assign numbers, vectors or entities"
            )
            raise self.error(f"{describe(value.type)} cannot be stored in a variable", hint, node)
        if isinstance(value.type, RowType) and value.type.own:
            value = Value(self.target.keep_row(value), RowType(value.type.owner, own=False))
        known = self.locals.setdefault(name, value.type)
        code = self.convert(value, known, node, f"variable '{name}'")
        if self.assigned is not None:
            self.assigned.add(name)
        return [nodes.assign(self.target.local(name), self.target.as_variable(code, known))]

    def unpack(self, targets: list[ast.expr], node: ast.Assign) -> list[ast.stmt]:
        value = self.expression(node.value)
        if not isinstance(value.type, TupleType) or len(value.type.items) != len(targets):
            fix = "take its components, .x and .y" if is_composite(value.type) else "give as many values as names"
            raise self.error(f"{describe(value.type)} cannot be unpacked into {len(targets)} names", fix, node)
        self.temporary_count += 1
        temporaries = [f"wl_part{self.temporary_count}_{i}" for i in range(len(targets))]
        held = [Value(nodes.name(t), kind) for t, kind in zip(temporaries, value.type.items, strict=True)]
        out: list[ast.stmt] = []
        if value.parts is None:
            out.append(
                ast.Assign([ast.Tuple([ast.Name(t, ast.Store()) for t in temporaries], ast.Store())], value.node, None)
            )
        else:
            for index, part in enumerate(value.parts):
                if part.const is not None or part.type is None:
                    held[index] = part
                else:
                    out.append(nodes.assign(temporaries[index], part.node))
        for target, part in zip(targets, held, strict=True):
            out += self.assign(target, part, node)
        return out

    def assign_attribute(self, target: ast.Attribute, value: Value, node: ast.AST) -> list[ast.stmt]:
        holder = self.expression(nodes.as_load(target.value))
        if is_composite(holder.type):
            return self.set_component(
                target.value, holder, [nodes.constant(self.component_index(holder.type, target))], value, node
            )
        if not isinstance(holder.type, (RowType, WorldType)):
            raise self.error(
                f"{describe(holder.type)} has no '{target.attr}' to assign to",
                "assign to a component of an entity or of the world",
                node,
            )
        field = self.writable(holder, target, node)
        if self.shared_target(target) is not None or self.stores_world_in_loop(holder):
            raise self.store_race_error(holder, field.name, node)
        if field.is_array:
            raise self.error(
                f"wrong type: the array '{field.name}' cannot be assigned as a whole",
                f"assign {field.name}[i] element by element",
                node,
            )
        self.record_access(holder, field, "write", node)
        return self.target.write(holder, field, self.convert(value, self.kind_of(field, node), node, f"'{field.name}'"))

    def assign_element(self, target: ast.Subscript, value: Value, node: ast.AST) -> list[ast.stmt]:
        holder = self.expression(nodes.as_load(target.value))
        if isinstance(holder.type, ArrayType):
            assert holder.base is not None and isinstance(target.value, ast.Attribute)
            field = self.writable(holder.base, target.value, node)
            if self.shared_target(target) is not None or self.stores_world_in_loop(holder.base):
                raise self.store_race_error(holder.base, field.name, node)
            self.record_access(holder.base, field, "write", node)
            if self.shared_loop is not None:
                check_array_size(self, holder, target)
                self.shared_loop.store(self, holder.base, field, target)
            kind, indices = self.indices(holder, target)
            return self.target.set_element(
                holder.base, field, indices, self.convert(value, kind, node, f"'{field.name}'")
            )
        _, indices = self.indices(holder, target)
        return self.set_component(target.value, holder, indices, value, node)

    def set_component(
        self, target: ast.expr, holder: Value, indices: list[ast.expr], value: Value, node: ast.AST
    ) -> list[ast.stmt]:
        """Store one number of a vector that is a local variable or a component of the own row."""
        number = self.convert(value, scalar_of(holder.type), node, "a component")
        if isinstance(target, ast.Name):
            if self.shared_loop is not None:
                self.shared_loop.check_local(self, target.id, node)
            return self.target.set_component(self.target.local(target.id), holder.type, indices, number)
        if isinstance(target, ast.Attribute):
            row = self.expression(nodes.as_load(target.value))
            if isinstance(row.type, (RowType, WorldType)):
                field = self.writable(row, target, node)
                if self.stores_world_in_loop(row):
                    raise self.store_race_error(row, field.name, node)
                own_loop = self.shared_loop if isinstance(row.type, RowType) and row.type.own else None
                if own_loop is not None and self.auto_threads:
                    own_loop.serial = True
                elif self.shared_target(target) is not None:
                    if own_loop is not None:
                        raise own_loop.vector_store_error(self, field.name, node)
                    raise self.error(*VECTOR_ELEMENT_RACE, node)
                self.record_access(row, field, "write", node)
                return self.target.write_component(row, field, indices, number)
        raise self.unsupported(f"assigning to '{ast.unparse(target)}'", node, "copy the vector into a variable first")
