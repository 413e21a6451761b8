"""Components of rows and fields of the world: look-up, reads, and the record of what a system accesses."""

from __future__ import annotations

import ast
from typing import Any, Literal

import warp as wp

from worldloom.core.frontend.expressions.conversions import Conversions
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.values import ArrayType, RefType, RowType, Value, WorldType
from worldloom.core.model.entity import AGENT_FIELDS, ENGINE_FIELDS, Components, Entity, Has
from worldloom.core.model.fields import Field, Role


class RowAccess(Conversions):
    """Resolves components of entities and fields of the world. Subclassed by :class:`Operators`."""

    def row_attribute(self, row: Value, node: ast.Attribute) -> Value:
        if node.attr == "id":
            return Value(self.target.slot(row), wp.int32)
        if node.attr == "ref":
            if isinstance(row.type.owner, Has):
                raise self.error(
                    "an entity of a wl.Has query has no reference", "write the system over one kind of entity", node
                )
            return Value(self.target.reference(row), RefType(row.type.owner))
        field = self.field(row, node)
        if field.role is Role.ENGINE and field.name != "active" and not self.target.engine:
            raise self.error(f"'{field.name}' cannot be read in systems", "read 'active' instead", node)
        self.record_access(row, field, "read", node)
        return self.read(row, field, node)

    def world_attribute(self, world: Value, node: ast.Attribute) -> Value:
        if node.attr == "id":
            return Value(self.target.world_id(), wp.int32)
        field = self.field(world, node)
        if field.role is Role.ENGINE and field.name not in ("step", "episode") and not self.target.engine:
            raise self.error(
                f"'world.{field.name}' cannot be read in systems", "declare a field of your own for it", node
            )
        self.record_access(world, field, "read", node)
        return self.read(world, field, node)

    def read(self, row: Value, field: Field, node: ast.AST) -> Value:
        if field.is_array:
            return Value(self.target.array(row, field), ArrayType(field), base=row)
        return Value(self.target.read(row, field), self.kind_of(field, node))

    def kind_of(self, field: Field, node: ast.AST) -> Any:
        """The type of a component that is not an array; a referenced kind is resolved in the system's module."""
        if field.ref is None:
            return field.dtype
        kind = self.names.get(field.ref, field.ref) if isinstance(field.ref, str) else field.ref
        if not (isinstance(kind, type) and issubclass(kind, Entity)) and not self.target.engine:
            raise self.error(
                f"'{field.name}' refers to '{kind}', which is not a kind of entity here",
                "name a wl.Entity class that is defined in this file or imported",
                node,
            )
        return RefType(kind)

    def field(self, row: Value, node: ast.Attribute) -> Field:
        """The field of ``row.attr``."""
        owner = row.type.world if isinstance(row.type, WorldType) else row.type.owner
        field = owner.fields.get(node.attr)
        if field is None and isinstance(row.type, RowType):
            field = AGENT_FIELDS.get(node.attr)
            if field is not None:
                self.note_agent(row)
        if field is None and node.attr in owner._reserved:
            raise self.error(f"'{node.attr}' is a method", f"write {ast.unparse(node)}(...)", node)
        if field is None:
            known = [n for n in owner.fields if n not in ENGINE_FIELDS]
            raise self.error(
                f"unknown component '{node.attr}': {owner.__name__} has {', '.join(known) or 'none'}",
                "correct the name, or declare it",
                node,
            )
        return field.narrowed() if self.target.narrow else field

    def note_agent(self, row: Value) -> None:
        """Record that entities of this kind end their episodes one by one."""
        self.access.agents.add(None if row.type.own else row.type.owner)

    def record_access(self, row: Value, field: Field, mode: Literal["read", "write"], node: ast.AST) -> None:
        """Record a read or a write for the race rules."""
        line = getattr(node, "lineno", 0)
        if isinstance(row.type, WorldType):
            scope = "own" if self.world_system else "world"
            accesses: dict[str, int] = getattr(self.access, f"{scope}_{mode}")
            accesses.setdefault(field.name, line)
        elif row.type.own:
            if self.shared_loop is not None and mode == "read" and not field.is_array:
                self.shared_loop.reads.setdefault(field.name, line)
            (self.access.own_read if mode == "read" else self.access.own_write).setdefault(field.name, line)
        else:
            others: dict[Any, int] = self.access.other_read if mode == "read" else self.access.other_write
            others.setdefault((row.type.owner, field.name), line)

    def kind_argument(self, node: ast.Call, method: str, looks: bool = True) -> type[Components]:
        """The kind that ``world.all(Kind)`` or ``world.count(Kind)`` names; ``looks``: whether its rows are used."""
        kind = self.static(node.args[0]) if len(node.args) == 1 and not node.keywords else MISSING
        if (
            kind is MISSING
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id not in self.locals
        ):
            raise self.error(
                f"unknown name '{node.args[0].id}'",
                "define the kind of entity before the system, or correct the spelling",
                node,
            )
        if self.target.engine and isinstance(kind, Has):
            return kind  # type: ignore[return-value]
        if not (isinstance(kind, type) and issubclass(kind, Entity)):
            raise self.error(
                f"world.{method} takes one kind of entity",
                f"write world.{method}(Kind) with a class derived from wl.Entity",
                node,
            )
        if looks:
            self.access.kinds.setdefault(kind, node.lineno)
        return kind
