"""Statements: assignments, branches and loops of a system or a helper, from the user's syntax to typed code."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from typing import Any

import warp as wp

from worldloom.core.arithmetic.functions import FUNCTIONS
from worldloom.core.frontend import effects, nodes
from worldloom.core.frontend.bounds import bounds_of, range_bounds, reassigned, stays_in_range
from worldloom.core.frontend.expressions import Expressions
from worldloom.core.frontend.names import MISSING
from worldloom.core.frontend.neighbours import QUERIES, translate_query
from worldloom.core.frontend.shared_loop import check_array_size, share, translate_shared_loop
from worldloom.core.frontend.values import (
    INTEGERS,
    ArrayType,
    RefType,
    RowType,
    TupleType,
    Value,
    WorldType,
    describe,
    is_plain,
)
from worldloom.core.model.fields import ComponentSpec, Role, canonical, is_composite, scalar_of

_ACCUMULATE: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
}
LOOP_LIMIT = 100_000
_NARROW = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.float16)
_HINTS = {
    "With": "systems have nothing to open or close",
    "Try": "systems cannot raise; test the condition with 'if'",
    "Raise": "end the episode with world.terminate(), or test the condition with 'if'",
    "Assert": "test the condition with 'if' and end the episode with world.terminate()",
    "FunctionDef": "define the function outside, with @wl.function",
    "Import": "import at the top of the file",
    "ImportFrom": "import at the top of the file",
    "Global": "keep state in components; a system has no other memory",
    "Nonlocal": "keep state in components; a system has no other memory",
    "Delete": "give the variable another value instead",
    "Match": "use if, elif and else",
}


class Statements(Expressions):
    """Understands statements. ``in_helper`` makes ``return value`` possible."""

    in_helper = False
    returns: Any = None
    temporary_count = 0
    loop_depth = 0
    """How many loops are around the statement at hand."""
    self_accumulated: frozenset[str] = frozenset()
    """Components of the own row that the system also accumulates into from other rows, so that the own row's turn accumulates in memory too."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Understand the statements of one block; code after a return, break or continue is left out."""
        out: list[ast.stmt] = []
        for statement in body:
            if self.assigned is None:
                break
            out += self.statement(statement)
        return out or [ast.Pass()]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        kind = type(node).__name__
        method = getattr(self, f"stmt_{kind}", None)
        if method is None:
            raise self.unsupported(
                f"'{ast.unparse(node).splitlines()[0]}'",
                node,
                _HINTS.get(kind, "see docs/python.md for the Python that systems may use"),
            )
        outer, self.draws, self.draw_count = (self.draws, self.draw_count), [], 0
        made: list[ast.stmt] = method(node)
        if self.draw_count:
            for place, taken in self.draws:
                place.value = taken - self.draw_count
            step = nodes.binary(nodes.name("wl_draw"), ast.Add(), nodes.constant(self.draw_count))
            made = [nodes.assign("wl_draw", step), *made]
        if self.turns is not None:
            self.turns.check_draws(self, self.draw_count, node)
        self.draws, self.draw_count = outer
        for item in made:
            ast.copy_location(item, node)
        return made

    def refuse_draws(self, before: int, node: ast.AST) -> None:
        if self.draw_count != before:
            raise self.error(
                "a random number cannot be drawn in a condition that is evaluated again and again",
                "draw it into a variable first",
                node,
            )

    # -- assignments -------------------------------------------------------------------------------------------------

    def stmt_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        if len(node.targets) > 1:
            raise self.unsupported("a chained assignment", node, "assign one after the other")
        target = node.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self.unpack(target.elts, node)
        if effects.is_spawn(node.value, self):
            made, born = effects.spawn(self, node.value)
            return [*made, *self.assign(target, born, node)]
        min_max_assignment = self.min_max_assignment(target, node.value)
        if min_max_assignment is not None:
            return min_max_assignment
        return self.assign(target, self.expression(node.value), node)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name):
            if node.value is None:
                raise self.error(
                    "a component is declared in its class, not in a system", "give it a value, or remove the line", node
                )
            return self.stmt_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))
        try:
            found = eval(compile(ast.Expression(node.annotation), self.source.file, "eval"), dict(self.names))
        except Exception as error:
            raise self.error(
                f"the annotation cannot be evaluated ({error})",
                "use bool, int, float, a vector type or wl.Ref(Kind)",
                node,
            ) from None
        kind = RefType(found.ref) if isinstance(found, ComponentSpec) and found.ref is not None else canonical(found)
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
        place = self.shared_target(node.target)
        if place is not None:
            operator = _ACCUMULATE.get(type(node.op))
            if operator is None:
                raise self.error(
                    f"race: '{self.written(node)}' changes what other entities change at the same time",
                    "only +=, -=, |=, &= and ^= have an order-free meaning; collect the effect and apply it in a later system",
                    node,
                )
            return self.accumulate(place, operator, self.expression(node.value), node)
        read, taken = ast.copy_location(_as_load(node.target), node), self.draw_count
        now = self.expression(read)
        if self.draw_count != taken:
            raise self.error(
                "a random number in the place that is changed would be drawn twice",
                "draw it into a variable first",
                node,
            )
        value = self.binary(now, node.op, self.expression(node.value), node)
        return self.assign(node.target, value, node)

    def bind_row(self, target: ast.expr) -> tuple[list[ast.stmt], Any]:
        """``reference.get().x`` as a place of a row held in a variable: what is read and written follows the reference once."""
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
        if self.turns is not None:
            self.turns.check_local(self, name, node)
        if not (is_plain(value.type) or isinstance(value.type, (RefType, RowType))):
            hint = (
                "write 'name: wl.Ref(Kind) = None' for an empty reference"
                if value.type is None
                else "assign numbers, vectors or entities"
            )
            raise self.error(f"{describe(value.type)} cannot be kept in a variable", hint, node)
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
            for place, part in enumerate(value.parts):
                if part.const is not None or part.type is None:
                    held[place] = part
                else:
                    out.append(nodes.assign(temporaries[place], part.node))
        for target, part in zip(targets, held, strict=True):
            out += self.assign(target, part, node)
        return out

    # -- components --------------------------------------------------------------------------------------------------

    def shared_target(self, target: ast.expr) -> tuple[Value, ast.Attribute, ast.Subscript | None] | None:
        """The row, component and index of a target that other threads may change too; None for what is one's own."""
        subscript = target if isinstance(target, ast.Subscript) else None
        attribute = subscript.value if subscript is not None else target
        if not isinstance(attribute, ast.Attribute) or self.static(attribute.value) is not MISSING:
            return None
        row = self.expression(_as_load(attribute.value))
        if isinstance(row.type, RowType) and row.type.own and attribute.attr in self.self_accumulated:
            row = Value(self.target.keep_row(row), RowType(row.type.owner, own=False))
        shared = (isinstance(row.type, RowType) and not self.is_own(row, attribute, subscript)) or isinstance(
            row.type, WorldType
        )
        return (row, attribute, subscript) if shared and not self.world_system else None

    def is_own(self, row: Value, attribute: ast.Attribute, subscript: ast.Subscript | None) -> bool:
        """Whether nobody else changes a place of ``row``: it is of the own row, and in a shared loop of this turn."""
        if self.turns is None or not row.type.own:
            return bool(row.type.own)
        field = row.type.owner.fields.get(attribute.attr)
        return field is not None and self.turns.own(self, field, subscript)

    def accumulate(
        self, place: tuple[Value, ast.Attribute, ast.Subscript | None], operator: str, value: Value, node: ast.AST
    ) -> list[ast.stmt]:
        row, attribute, subscript = place
        field = self.writable(row, attribute, node)
        kind, indices = field.dtype, None
        if subscript is not None:
            if not field.is_array:
                raise self.error(
                    "race: one component of a shared vector cannot be changed alone",
                    "add a whole vector with zeros in it",
                    node,
                )
            kind, indices = self.indices(Value(self.target.array(row, field), ArrayType(field), base=row), subscript)
        elif field.is_array:
            raise self.error(f"the array '{field.name}' is changed element by element", f"write {field.name}[i]", node)
        bitwise = operator in ("or", "and", "xor")
        if (kind not in (wp.bool, *INTEGERS)) if bitwise else (kind is wp.bool):
            raise self.error(
                f"wrong type: '{operator}' cannot be accumulated into '{field.name}', which is {describe(kind)}",
                "use |=, &= and ^= for bool and integers, += and -= for numbers",
                node,
            )
        if operator == "xor" and kind is wp.bool:
            raise self.error(
                "race: a truth value has no '^=' that many may use at once",
                "count with += into an int, and test whether it is odd",
                node,
            )
        logical = bitwise and kind is wp.bool
        if field.ref is not None:
            raise self.error(
                f"race: the reference '{field.name}' of another entity cannot be set from here",
                "let the other entity's own system choose",
                node,
            )
        if scalar_of(kind) in _NARROW and not logical:
            raise self.error(
                f"'{field.name}' is {describe(kind)}, too narrow to be added to by many at once",
                "declare it as int, wl.int64, float or wl.float64",
                node,
            )
        family = "add" if operator == "sub" else operator
        owner = row.type.world if isinstance(row.type, WorldType) else row.type.owner
        if self.access.families.setdefault((owner, field.name), family) != family:
            raise self.error(
                f"race: '{field.name}' is changed in two ways whose order matters",
                "use one of +=, |=, &=, ^=, min and max per system",
                node,
            )
        self.record_access(row, field, "write", node)
        if self.turns is not None and isinstance(row.type, RowType) and row.type.own:
            self.turns.add_reduction(self, row, field, operator, kind, node)
        return self.target.accumulate(row, field, operator, self.convert(value, kind, node, f"'{field.name}'"), indices)

    def min_max_assignment(self, target: ast.expr, value: ast.expr) -> list[ast.stmt] | None:
        """``other.best = max(x, other.best, y)``: the one assignment to a shared place that has an order-free meaning."""
        if not (isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(value, ast.Call)):
            return None
        function = self.static(value.func)
        called = next(
            (name for name in ("min", "max") if function is getattr(builtins, name) or function is FUNCTIONS[name]),
            None,
        )
        if called is None or len(value.args) < 2:
            return None
        rest = [a for a in value.args if ast.unparse(a) != ast.unparse(target)]
        if len(rest) != len(value.args) - 1:
            return None
        place = self.shared_target(target)
        if place is None:
            return None
        bound = rest[0] if len(rest) == 1 else ast.copy_location(ast.Call(value.func, rest, []), value)
        return self.accumulate(place, called, self.expression(bound), target)

    def writable(self, row: Value, attribute: ast.Attribute, node: ast.AST) -> Any:
        """The field behind ``row.attr``, which must be one that systems may write."""
        if attribute.attr in ("id", "ref"):
            raise self.error(f"'{attribute.attr}' cannot be changed", "declare a component of your own", node)
        field = self.field(row, attribute)
        if field.role is Role.CONFIG and not self.target.engine:
            raise self.error(
                f"configuration '{field.name}' cannot be changed by a system",
                f"declare '{field.name}' as a field of the world",
                node,
            )
        if field.role is Role.ENGINE and not self.target.engine:
            raise self.error(
                f"'{field.name}' is kept by the engine and cannot be changed",
                "use terminate() or truncate() to end an episode",
                node,
            )
        return field

    def assign_attribute(self, target: ast.Attribute, value: Value, node: ast.AST) -> list[ast.stmt]:
        holder = self.expression(_as_load(target.value))
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
        if self.shared_target(target) is not None:
            raise self.store_race_error(holder, field.name, node)
        if field.is_array:
            raise self.error(
                f"wrong type: the array '{field.name}' cannot be assigned as a whole",
                f"assign {field.name}[i] element by element",
                node,
            )
        self.record_access(holder, field, "write", node)
        return self.target.write(holder, field, self.convert(value, self.kind_of(field, node), node, f"'{field.name}'"))

    def store_race_error(self, row: Value, name: str, node: ast.AST) -> Exception:
        if self.turns is not None and isinstance(row.type, RowType) and row.type.own:
            return self.turns.store_error(self, name, node)
        if isinstance(row.type, WorldType):
            return self.error(
                f"race: every entity would store its own value into 'world.{name}'",
                "accumulate with +=, -=, |= or &=, or min/max, or write it in a system over the world alone",
                node,
            )
        return self.error(
            f"race: several entities may store '{name}' of the same {row.type.owner.__name__} at once",
            "accumulate with +=, -=, |= or &=, or min/max, or turn the loop round and let that entity write its own row",
            node,
        )

    def assign_element(self, target: ast.Subscript, value: Value, node: ast.AST) -> list[ast.stmt]:
        holder = self.expression(_as_load(target.value))
        if isinstance(holder.type, ArrayType):
            assert holder.base is not None and isinstance(target.value, ast.Attribute)
            field = self.writable(holder.base, target.value, node)
            if self.shared_target(target) is not None:
                raise self.store_race_error(holder.base, field.name, node)
            self.record_access(holder.base, field, "write", node)
            if self.turns is not None:
                check_array_size(self, holder, target)
                self.turns.store(self, holder.base, field, target)
            kind, indices = self.indices(holder, target)
            return self.target.set_element(
                holder.base, field, indices, self.convert(value, kind, node, f"'{field.name}'")
            )
        _, indices = self.indices(holder, target)
        return self.set_component(target.value, holder, indices, value, node)

    def set_component(
        self, target: ast.expr, holder: Value, indices: list[ast.expr], value: Value, node: ast.AST
    ) -> list[ast.stmt]:
        """Store one number of a vector in a local variable or in a component of one's own row."""
        number = self.convert(value, scalar_of(holder.type), node, "a component")
        if isinstance(target, ast.Name):
            if self.turns is not None:
                self.turns.check_local(self, target.id, node)
            return self.target.set_component(self.target.local(target.id), holder.type, indices, number)
        if isinstance(target, ast.Attribute):
            row = self.expression(_as_load(target.value))
            if isinstance(row.type, (RowType, WorldType)):
                field = self.writable(row, target, node)
                if self.shared_target(target) is not None:
                    if self.turns is not None and isinstance(row.type, RowType) and row.type.own:
                        raise self.turns.vector_store_error(self, field.name, node)
                    raise self.error(
                        "race: one component of a shared vector cannot be changed alone",
                        "add a whole vector with zeros in it, with +=",
                        node,
                    )
                self.record_access(row, field, "write", node)
                return self.target.write_component(row, field, indices, number)
        raise self.unsupported(f"assigning to '{ast.unparse(target)}'", node, "copy the vector into a variable first")

    # -- flow --------------------------------------------------------------------------------------------------------

    def stmt_If(self, node: ast.If) -> list[ast.stmt]:
        test = self.target.condition(self.truth(node.test))
        before = set(self.assigned or ())
        body = self.block(node.body)
        after_body, self.assigned = self.assigned, set(before)
        orelse = self.block(node.orelse) if node.orelse else []
        self.assigned = _merge(after_body, self.assigned)
        return [ast.If(test, body, orelse)]

    def stmt_While(self, node: ast.While) -> list[ast.stmt]:
        if node.orelse:
            raise self.unsupported("'else' after a loop", node, "set a variable before 'break' and test it")
        taken = self.draw_count
        test = self.truth(node.test)
        self.refuse_draws(taken, node.test)
        body = self.loop_body(node.body)
        endless = isinstance(test, ast.Constant) and test.value is True and not _breaks(node.body)
        if self.in_helper:
            self.assigned = None if endless else self.assigned
            return [ast.While(test, body, [])]
        made: list[ast.stmt] = self.limited_while(test, body, node)
        if endless:  # nothing of the user's comes after it
            self.refuse_leaving(node)
            made += self.leave()
            self.assigned = None
        return made

    def limited_while(self, test: ast.expr, body: list[ast.stmt], node: ast.While) -> list[ast.stmt]:
        """A loop that is left with a fault after TURN_LIMIT turns: compilers may do anything with one that never ends."""
        self.temporary_count += 1
        turns = f"wl_turns{self.temporary_count}"
        over = ast.Compare(nodes.name(turns), [ast.Gt()], [self.target.literal(LOOP_LIMIT, wp.int32)])
        fault = self.target.fault(
            f"a loop ran more than {LOOP_LIMIT:,} times", node.lineno, self.target.literal(0, wp.int32)
        )
        count = nodes.assign(turns, nodes.binary(nodes.name(turns), ast.Add(), self.target.literal(1, wp.int32)))
        zero = nodes.assign(turns, self.target.as_variable(self.target.literal(0, wp.int32), wp.int32))
        return [zero, ast.While(test, [count, ast.If(over, [*fault, ast.Break()], []), *body], [])]

    def stmt_For(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            raise self.unsupported("'else' after a loop", node, "set a variable before 'break' and test it")
        if not isinstance(node.target, ast.Name):
            raise self.unsupported("a loop over several names", node, "loop over one name")
        call = node.iter
        if isinstance(call, ast.Call) and self.static(call.func) is range and not call.keywords:
            return self.for_range(node.target.id, call, node)
        if isinstance(call, ast.Call) and self.static(call.func) is share:
            return translate_shared_loop(self, node.target.id, call, node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("all", *QUERIES):
            holder = self.expression(call.func.value)
            if isinstance(holder.type, WorldType):
                translate = self.for_rows if call.func.attr == "all" else functools.partial(translate_query, self)
                return translate(node.target.id, call, node)
        raise self.unsupported(
            f"a loop over '{ast.unparse(call)}'",
            node,
            "loop over range(...), world.all(Kind), world.near(...) or world.nearest(...)",
        )

    def for_range(self, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
        if not 1 <= len(call.args) <= 3:
            raise self.error("range() takes one to three numbers", "give it a bound", node)
        bounds = [self.bound(a) for a in call.args]
        step = 1 if len(call.args) < 3 else self.expression(call.args[2]).const
        if step in (None, 0):
            raise self.error(
                "the step of range() is a number written out, and not 0",
                "write for example range(10, 0, -1)",
                call.args[2],
            )
        overflows = abs(step) > 1 and not stays_in_range(bounds_of(self, call.args[1]), step)
        counter = f"wl_i_{name}"
        before = set(self.assigned or ())
        first = self.assign_local(name, Value(self.target.cast(nodes.name(counter), wp.int32), wp.int32), node)
        body = first + self.counted_body(name, call.args, node.body)
        self.assigned = before
        return self.target.loop_range(counter, bounds, step, overflows, body)

    def bound(self, node: ast.expr) -> ast.expr:
        """A bound of range(), as a plain number where it is known: compilers make much more of a loop whose turns they can count."""
        code, known = self.number(node, wp.int32, "a bound of range()"), bounds_of(self, node)
        return nodes.constant(known[0]) if known is not None and known[0] == known[1] else code

    def for_rows(self, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
        kind = self.kind_argument(call, "all")
        return self.target.loop_rows(self.target.local(name), kind, self.rows_body(name, kind, node))

    def rows_body(self, name: str, kind: Any, node: ast.For) -> list[ast.stmt]:
        """The body of a loop in which ``name`` stands for one entity of ``kind`` after the other."""
        known = self.locals.setdefault(name, RowType(kind, own=False))
        if known != RowType(kind, own=False) or name in self.parameters:
            raise self.error(f"'{name}' already stands for {describe(known)}", "use another name in the loop", node)
        if self.turns is not None:
            self.turns.check_local(self, name, node)
        before = set(self.assigned or ())
        if self.assigned is not None:
            self.assigned.add(name)
        body = self.loop_body(node.body)
        self.assigned = before
        return body

    def counted_body(self, name: str, bounds: list[ast.expr], body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a loop over ``range(*bounds)``, with what is known of the numbers that ``name`` runs through."""
        known = None if reassigned(body, name) else range_bounds(self, bounds)
        outer = self.counters.pop(name, None)
        if known is not None:
            self.counters[name] = known
        made = self.loop_body(body)
        self.counters.pop(name, None)
        if outer is not None:
            self.counters[name] = outer
        return made

    def loop_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        before = set(self.assigned or ())
        self.loop_depth += 1
        made = self.block(body)
        self.loop_depth -= 1
        self.assigned = before
        return made

    def refuse_leaving(self, node: ast.AST) -> None:
        """DefinitionError where a turn of a shared loop would end the whole loop."""
        if self.turns is not None:
            raise self.error(
                "a turn of a shared loop cannot leave it, since the other turns run at the same time",
                "use 'continue' to end the turn",
                node,
            )

    def stmt_Break(self, node: ast.Break) -> list[ast.stmt]:
        if self.turns is not None and self.loop_depth == self.turns.depth:
            self.refuse_leaving(node)
        self.assigned = None
        return [ast.Break()]

    def stmt_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        self.assigned = None
        return [ast.Continue()]

    def stmt_Pass(self, node: ast.Pass) -> list[ast.stmt]:
        return [ast.Pass()]

    def stmt_Return(self, node: ast.Return) -> list[ast.stmt]:
        if not self.in_helper:
            if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
                raise self.error("a system returns nothing", "write its result into a component", node)
            self.refuse_leaving(node)
            made: list[ast.stmt] = self.leave()
        else:
            made = [self.return_value(node)]
        self.assigned = None
        return made

    def leave(self) -> list[ast.stmt]:
        """The end of one run of a system."""
        raise NotImplementedError  # Translator keeps the states at the exits

    def return_value(self, node: ast.Return) -> ast.stmt:
        if node.value is None:
            raise self.error("a helper returns a value", "return a number or a vector", node)
        value = self.expression(node.value)
        kinds = value.type.items if isinstance(value.type, TupleType) else (value.type,)
        if not all(is_plain(k) for k in kinds):
            raise self.error(f"{describe(value.type)} cannot be returned", "return numbers or vectors", node)
        if self.returns is None:
            self.returns = value.type
        if isinstance(value.type, TupleType):
            if self.returns != value.type:
                raise self.error(
                    f"wrong type: it returned {describe(self.returns)} before, and {describe(value.type)} here",
                    "return the same types everywhere",
                    node,
                )
            return ast.Return(value.node)
        return ast.Return(self.convert(value, self.returns, node, "what it returned before"))

    def stmt_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return []
        if isinstance(value, ast.Call):
            if self.static(value.func) in (print, breakpoint):
                return self.target.debug(node)
            if effects.is_spawn(value, self):
                return effects.spawn(self, value)[0]
            if isinstance(value.func, ast.Attribute) and self.static(value.func) is MISSING:
                made = effects.method_statement(self, value, value.func)
                if made is not None:
                    return made
        self.expression(value)
        raise self.error(f"'{ast.unparse(value)}' has no effect", "assign its value, or remove the line", node)


def _as_load(target: ast.expr) -> ast.expr:
    """The same place, to be read."""
    if isinstance(getattr(target, "ctx", None), ast.Store):
        target = copy.copy(target)
        target.ctx = ast.Load()  # type: ignore[attr-defined]
    return target


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a loop with this body can be left with 'break'."""
    inner = (ast.For, ast.While)
    return any(
        isinstance(s, ast.Break)
        or (not isinstance(s, inner) and any(_breaks(getattr(s, part, [])) for part in ("body", "orelse")))
        for s in body
    )


def _merge(one: set[Any] | None, two: set[Any] | None) -> set[Any] | None:
    if one is None or two is None:
        return one if two is None else two
    return one & two
