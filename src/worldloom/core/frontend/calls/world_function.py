"""Functions of the world: their bodies replace their calls in systems, so that they can loop over entities."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from worldloom.core.base.source import Source
from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.frontend.translator import Translator
from worldloom.core.frontend.user_functions import ExpandedFunction
from worldloom.core.frontend.values import RowType, Value, WorldType
from worldloom.core.model.columns import WORLD, FaultSites, UnknownCounts
from worldloom.core.model.dtypes import canonical
from worldloom.core.model.entity import Entity, World


def takes_world(source: Source) -> bool:
    """Whether the first parameter of a function is a world."""
    arguments = source.tree.args.args
    kind = source.annotations().get(arguments[0].arg) if arguments else None
    return isinstance(kind, type) and issubclass(kind, World)


class WorldFunction(ExpandedFunction):
    """A function of a world, entities, numbers and vectors; created by ``@wl.function``.

    A system calls it as the right side of an assignment, ``row, distance = nearest(world, origin)``, or as a statement
    where it returns nothing. Its only return statement is its last statement.
    """

    def __init__(self, source: Source) -> None:
        source = expand_calls(source)
        super().__init__(source)
        annotations = source.annotations()
        first, *others = self.arguments()
        self.world: type[World] = annotations[first.arg]
        self.entities: dict[str, type[Entity]] = {}
        self.parameters: dict[str, Any] = {}
        for argument in others:
            annotation = annotations.get(argument.arg)
            if isinstance(annotation, type) and issubclass(annotation, Entity):
                self.entities[argument.arg] = annotation
                continue
            kind = canonical(annotation)
            if kind is None:
                raise source.error(
                    f"parameter '{argument.arg}' has no component type",
                    "annotate it with bool, int, float, a vector type or a kind of entity",
                    argument,
                )
            self.parameters[argument.arg] = kind
        returns = [n for n in ast.walk(source.tree) if isinstance(n, ast.Return)]
        if returns and (len(returns) > 1 or returns[0] is not source.tree.body[-1] or returns[0].value is None):
            raise source.error(
                "a function of the world returns once, in its last statement",
                "assign the result to variables, and return them at the end",
                returns[0],
            )
        self.has_result = bool(returns)
        self._check(first.arg)

    def _check(self, world_parameter: str) -> None:
        """Translate it once as a system over the world, for its errors."""
        target = KernelTarget(WORLD, UnknownCounts(), True, f"function '{self.name}'", FaultSites(), {})
        flow = Translator(self.source, target)
        flow.in_helper, flow.world_system, target.flow = True, True, flow
        flow.parameters[world_parameter] = Value(nodes.name("world"), WorldType(self.world))
        for name, kind in self.entities.items():
            flow.parameters[name] = Value(nodes.name(name), RowType(kind, own=False))
        flow.locals.update(self.parameters)
        assert flow.assigned is not None
        flow.assigned |= set(self.parameters)
        flow.run()

    def expanded(
        self, call: ast.Call, targets: list[ast.expr], prefix: str, caller: Source
    ) -> tuple[list[ast.stmt], dict[str, Any]]:
        """The statements that replace ``targets = call``, and the Python objects that they name.

        Variables and objects get names that begin with ``prefix``.
        """
        if self.has_result != bool(targets):
            problem = "returns values" if self.has_result else "returns nothing"
            fix = "assign them: 'x = ...'" if self.has_result else "write the call alone, as a statement"
            raise caller.error(f"'{self.name}' {problem}", fix, call)
        parameters = [a.arg for a in self.source.tree.args.args]
        if len(call.args) != len(parameters) or call.keywords:
            raise caller.error(f"'{self.name}' takes {len(parameters)} arguments by position", "give it as many", call)
        seen, objects = self.source.names(), dict[str, Any]()
        own = {name: f"{prefix}{name}" for name in (*self.parameters, *self.source.stored)}
        body: list[ast.stmt] = []
        for name, argument in zip(parameters, call.args, strict=True):
            if name in self.parameters:
                objects[f"{prefix}{name}_type"] = self.parameters[name]
                annotation = nodes.name(f"{prefix}{name}_type")
                body.append(ast.AnnAssign(ast.Name(own[name], ast.Store()), annotation, argument, 1))
            elif isinstance(argument, ast.Name):
                own[name] = argument.id
            else:
                raise caller.error(
                    f"argument '{name}' of '{self.name}' is not a variable",
                    "pass a parameter of the system, or a variable that holds the entity",
                    argument,
                )
        documented = ast.get_docstring(self.source.tree, clean=False) is not None
        for statement in self.source.tree.body[documented:]:
            statement = copy.deepcopy(statement)
            for node in ast.walk(statement):
                if not isinstance(node, ast.Name):
                    continue
                if node.id not in own and node.id in seen:
                    objects[f"{prefix}{node.id}"] = seen[node.id]
                    node.id = f"{prefix}{node.id}"
                else:
                    node.id = own.get(node.id, node.id)
            if isinstance(statement, ast.Return):
                assert statement.value is not None
                statement = ast.Assign(targets, statement.value)
            body.append(statement)
        for statement in body:
            for node in ast.walk(statement):
                ast.copy_location(node, call)
        return body, objects


def expand_calls(source: Source) -> Source:
    """The function with its calls of functions of the world replaced by their bodies."""
    own = {a.arg for a in source.tree.args.args} | source.stored
    if not any(_called(node, source, own) for node in ast.walk(source.tree) if isinstance(node, ast.Call)):
        return source
    tree = copy.deepcopy(source.tree)
    known = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    objects: dict[str, Any] = {}
    for block in list(_blocks(tree)):
        statements: list[ast.stmt] = []
        for statement in block:
            call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
            function = _called(call, source, own)
            if function is None or not isinstance(call, ast.Call):
                statements.append(statement)
                continue
            number = 0
            while any(name.startswith(f"{function.name}{number}_") for name in known):
                number += 1
            prefix = f"{function.name}{number}_"
            known.add(prefix)
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            body, named = function.expanded(call, targets, prefix, source)
            statements += body
            objects.update(named)
        block[:] = statements
    return source.rewritten(tree, objects)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function and of the statements in it."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
            for statement in block:
                yield from _blocks(statement)


def _called(node: ast.AST | None, source: Source, own: set[str]) -> WorldFunction | None:
    """The function of the world that an expression calls."""
    if not isinstance(node, ast.Call):
        return None
    function = _resolved(node.func, source, own)
    return function if isinstance(function, WorldFunction) else None


def _resolved(node: ast.expr, source: Source, own: set[str]) -> Any:
    if isinstance(node, ast.Name):
        return None if node.id in own else source.names().get(node.id)
    if isinstance(node, ast.Attribute):
        holder = _resolved(node.value, source, own)
        return None if holder is None else getattr(holder, node.attr, None)
    return None
