"""Systems and helpers: the user's functions, understood and checked at the moment they are defined."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import python_math, to_interpreted
from worldloom.core.arithmetic.values import as_warp, component, with_component
from worldloom.core.base.errors import DefinitionError, misuse
from worldloom.core.base.source import Source, read
from worldloom.core.frontend import nodes
from worldloom.core.frontend.race_checks import Access, refuse_races, refuse_stale_grids, self_accumulated_components
from worldloom.core.frontend.statements import Statements
from worldloom.core.frontend.targets.accessors import array_code, type_code
from worldloom.core.frontend.targets.kernel_names import SCALAR_PARAMETERS, column_argument, register_name
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.frontend.targets.python_target import PythonTarget
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.values import Owner, RefType, RowType, Value, WorldType, is_plain
from worldloom.core.kernels.exact import INTERPRETED
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.model.columns import WORLD, ColumnKey, FaultSites, RowCounts
from worldloom.core.model.entity import Components, Entity, Has, World
from worldloom.core.model.fields import FLOATS, Field, canonical, is_composite
from worldloom.core.model.pairs import Pair

THREADS = (1, 32, 64, 128, 256)
"""How many threads an entity may have: one, the 32 of a warp, or a block of them."""


class Helper:
    """A function of numbers and vectors that systems and other helpers call; made by :func:`function`."""

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name
        self.__doc__, self.__name__ = source.function.__doc__, source.name
        self.parameters: dict[str, Any] = {}
        annotations = source.annotations()
        for argument in _arguments(source):
            kind = canonical(annotations.get(argument.arg))
            if kind is None:
                raise source.error(
                    f"parameter '{argument.arg}' has no component type",
                    "annotate it with bool, int, float or a vector type; helpers take no entities",
                    argument,
                )
            self.parameters[argument.arg] = kind
        self.returns: Any = canonical(annotations.get("return"))
        self.returns = self.translate(KernelTarget("", RowCounts({}), False, "", FaultSites(), {})).returns
        if self.returns is None:
            raise source.error("a helper returns a value", "add a return statement", source.tree)

    def translate(self, target: Target) -> Translator:
        """Run the translation for ``target``."""
        flow = Translator(self.source, target)
        flow.in_helper = True
        flow.returns = self.returns
        flow.locals.update(self.parameters)
        assert flow.assigned is not None
        flow.assigned |= set(self.parameters)
        flow.run()
        if flow.assigned is not None:
            raise self.source.error(
                "a helper must return a value on every path", "end it with a return statement", self.source.tree
            )
        return flow

    def kernel_code(self, types: dict[str, Any], exact: bool = False) -> tuple[str, dict[str, Helper]]:
        """The source of the Warp function, and the helpers it calls."""
        target = KernelTarget("", RowCounts({}), False, "", FaultSites(), types, exact=exact)
        flow = self.translate(target)
        start: list[ast.stmt] = [nodes.assign(f"v_{n}", nodes.name(f"p_{n}")) for n in self.parameters]
        start += flow.declarations(types, skip=set(self.parameters))
        head = ", ".join(f"p_{n}: {type_code(k, types)}" for n, k in self.parameters.items())
        return _function_text(f"wl_helper_{self.name}", head, start + flow.body), target.helpers

    def python_function(self, exact: bool = False) -> Callable[..., Any]:
        """The same in plain Python."""
        target = PythonTarget("", exact=exact)
        return _compile_python(self.source, self.translate(target), list(self.parameters), target, None)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{self.name}() takes {len(self.parameters)} arguments, not {len(arguments)}")
        with np.errstate(all="ignore"):
            return as_warp(
                self.python_function()(
                    *[to_interpreted(kind, a) for a, kind in zip(arguments, self.parameters.values(), strict=True)]
                )
            )


class System:
    """One rule of a world, run once per entity, per pair of entities or per world; made by :func:`system`.

    Attributes:
        owner: What it runs over: a kind of entity, a query, or a world class; of a pair the first kind.
        pair: The two kinds of entity of a system over pairs.
        threads: How many threads share one entity on CUDA.
        access: What it reads and writes.
        draws: Whether it draws random numbers.
    """

    def __init__(self, source: Source, engine: bool = False, threads: int = 1) -> None:
        self.source, self.name, self.engine, self.threads = source, source.name, engine, threads
        self.__doc__, self.__name__ = source.function.__doc__, source.name
        self.place = f"system '{self.name}', {Path(source.file).name}"
        self.entity_parameter: str | None = None
        self.partner_parameter: str | None = None
        self.world_parameter: str | None = None
        self.pair: Pair | None = None
        self.owner, self.world = self._signature()
        self.access: Access = Access()
        self.self_accumulated: frozenset[str] = frozenset()
        kinds = _UnknownCounts()
        over = self.pair or self.owner
        target = KernelTarget(self.table_name(over), kinds, self.over_world, self.place, FaultSites(), {}, engine)
        self.access, self.draws = self._translate(target, over).access, target.draws
        self.self_accumulated = (
            self_accumulated_components(self.owner, self.access)
            if self.pair is None and not self.over_world
            else frozenset()
        )
        if self.self_accumulated:
            self.access = self._translate(
                KernelTarget(self.table_name(over), kinds, self.over_world, self.place, FaultSites(), {}, engine), over
            ).access
        if self.over_world:
            refuse_stale_grids(source, self.access)
        else:
            refuse_races(source, self.owner, self.access)

    @property
    def over_world(self) -> bool:
        """Whether it runs once per world."""
        return self.entity_parameter is None

    def table_name(self, owner: Owner | Pair) -> str:
        return WORLD if self.over_world else owner.__name__

    def _signature(self) -> tuple[Owner, type[World]]:
        source, annotations = self.source, self.source.annotations()
        owner: Owner | None = None
        world: type[World] | None = None
        for argument in _arguments(source):
            kind = annotations.get(argument.arg)
            if isinstance(kind, type) and issubclass(kind, World):
                if world is not None:
                    raise source.error("a system has one world", "remove the second world parameter", argument)
                world, self.world_parameter = kind, argument.arg
            elif isinstance(kind, Has) or (isinstance(kind, type) and issubclass(kind, Components)):
                if isinstance(kind, type) and not issubclass(kind, Entity):
                    kind = Has(kind)
                if owner is None:
                    owner, self.entity_parameter = kind, argument.arg
                    continue
                if self.pair is not None:
                    raise source.error(
                        "a system runs over one entity or a pair, not three",
                        "loop over the third kind with world.all(Kind)",
                        argument,
                    )
                if isinstance(kind, Has) or isinstance(owner, Has):
                    raise source.error(
                        "a pair is of two kinds of entity, not of what wl.Has finds",
                        "name the kinds, in a system for every two of them; share code through a @wl.function helper",
                        argument,
                    )
                self.pair, self.partner_parameter = Pair(owner, kind), argument.arg
            else:
                raise source.error(
                    f"parameter '{argument.arg}' stands for no entity and no world",
                    "annotate it with a wl.Entity class, wl.Has(...) or a wl.World class",
                    argument,
                )
        if owner is None and world is None:
            raise source.error(
                "a system needs an entity or a world to run over",
                "add a parameter such as 'ball: Ball' or 'world: Table'",
                source.tree,
            )
        if self.threads > 1 and (owner is None or self.pair is not None):
            what = "the world alone" if owner is None else "pairs"
            raise source.error(
                f"a system over {what} has no entity whose work {self.threads} threads could share",
                "leave 'threads' out",
                source.tree,
            )
        return owner if owner is not None else world, world or World  # type: ignore[return-value]

    def _translate(self, target: Target, owner: Owner | Pair) -> Translator:
        flow = Translator(self.source, target)
        flow.world_system, flow.self_accumulated = self.over_world, self.self_accumulated
        python = isinstance(target, PythonTarget)
        if isinstance(owner, Pair):
            self._translate_pair(flow, owner, python)
        elif self.entity_parameter is not None:
            name = self.entity_parameter if python else "row"
            flow.parameters[self.entity_parameter] = Value(nodes.name(name), RowType(owner, own=True))
        if self.world_parameter is not None:
            name = self.world_parameter if python else "world"
            flow.parameters[self.world_parameter] = Value(nodes.name(name), WorldType(self.world))
        if isinstance(target, KernelTarget):
            target.flow = flow
        flow.run()
        if flow.assigned is not None:
            flow.body += [ast.copy_location(last, self.source.tree.body[-1]) for last in flow.leave()]
        return flow

    def _translate_pair(self, flow: Translator, pair: Pair, python: bool) -> None:
        """Both entities of a pair are other rows: pairs meet in them, so they are only accumulated into."""
        for parameter, kind, row in (
            (self.entity_parameter, pair.first, "row_a"),
            (self.partner_parameter, pair.second, "row_b"),
        ):
            assert parameter is not None
            flow.parameters[parameter] = Value(nodes.name(parameter if python else row), RowType(kind, own=False))
            flow.access.kinds.setdefault(kind, self.source.tree.lineno)
        if isinstance(flow.target, KernelTarget):
            flow.target.scalars |= {"row_a", "row_b"}

    def _typed(self, view: Any) -> Owner | Pair:
        """What the entity parameters stand for: the user's own classes, or for the engine's systems the table with its extra columns."""
        if isinstance(view, Pair):
            return Pair(self._typed(view.first), self._typed(view.second))
        owner: Owner = view if self.engine else getattr(view, "kind", view)
        return owner

    def kernel_function(
        self,
        kind: Owner | Pair,
        counts: RowCounts,
        sites: FaultSites,
        types: dict[str, Any],
        exact: bool = False,
        threads: int = 1,
    ) -> KernelFunction:
        """The Warp function for one kind of entity, or one pair of kinds, with ``counts`` of each kind per world and ``threads`` per entity."""
        table = self.table_name(kind)
        alone = counts[table] == 1 and table not in counts.populations and self.pair is None and threads == 1
        target = KernelTarget(
            table, counts, self.over_world or alone, self.place, sites, types, self.engine, exact, threads
        )
        flow = self._translate(target, self._typed(kind))
        outputs = list(target.outputs)
        for leave, assigned in flow.exits:
            leave.value = (
                ast.Tuple([nodes.name(register_name(c)) for c in outputs], ast.Load())
                if len(outputs) > 1
                else nodes.name(register_name(outputs[0]))
                if outputs
                else None
            )
            for column in outputs:
                if column not in assigned:
                    target.inputs[column] = target.outputs[column]
        start: list[ast.stmt] = []
        parameters: list[str] = []
        for column, field in target.inputs.items():
            mutable = column in target.outputs
            parameters.append(f"{'i_' if mutable else ''}{register_name(column)}: {type_code(field.dtype, types)}")
            if mutable:
                start.append(nodes.assign(register_name(column), nodes.name(f"i_{register_name(column)}")))
        for column, field in target.outputs.items():
            if column not in target.inputs:
                start.append(nodes.assign(register_name(column), _zero(field.dtype, types)))
        if target.draws:
            start += ast.parse("wl_draw = wp.int32(0)\nwl_stream = (system << 20) | slot").body
        if target.counts_spawns:
            start += ast.parse("wl_births = wp.int32(0)").body
        if target.faults and threads > 1:
            target.scalars |= {"lane", "world"}
            start += ast.parse("wl_teller = wp.where(lane == 0, world, -1)").body
        start += flow.declarations(types)
        name = f"{self.name}_{table}"
        return KernelFunction(name, self, target, parameters, _body_text(start + flow.body))

    def python_function(self, kind: Owner | Pair, runtime: Any, exact: bool = False) -> Callable[..., None]:
        """The user's function with every type put in, for the interpreter ``runtime``."""
        target = PythonTarget(self.place, self.engine, exact)
        flow = self._translate(target, self._typed(kind))
        names = [a.arg for a in _arguments(self.source)]
        return _compile_python(self.source, flow, names, target, runtime)


@dataclass
class KernelFunction:
    """The Warp function of one system and kind, before its name and its arguments are fixed."""

    name: str
    system: System
    target: KernelTarget
    value_parameters: list[str]
    body: str

    @property
    def scalars(self) -> list[str]:
        return [s for s in SCALAR_PARAMETERS if s in self.target.scalars]

    @property
    def arrays(self) -> dict[ColumnKey, Field]:
        """Every column that it takes whole."""
        from worldloom.core.model.columns import FAULT_COLUMNS
        from worldloom.core.model.entity import ENGINE_FIELDS

        found = dict(self.target.columns)
        if self.target.faults:
            found.update({c: ENGINE_FIELDS[c[1]] for c in FAULT_COLUMNS})
        return found

    def code(self, types: dict[str, Any]) -> str:
        head = list(self.value_parameters)
        head += [f"{s}: wp.int32" for s in self.scalars]
        head += [f"{column_argument(c)}: {array_code(f, types)}" for c, f in self.arrays.items()]
        if self.target.faults:
            head.append("errors: wp.array2d(dtype=wp.int32)")
        return f"@wp.func\ndef {self.name}({', '.join(head)}):\n{self.body}\n"

    def call(self, ordinal: int) -> str:
        """The call in a kernel whose local variables have the canonical names."""
        arguments = [register_name(c) for c in self.target.inputs]
        arguments += [str(ordinal) if s == "system" else s for s in self.scalars]
        arguments += [column_argument(c) for c in self.arrays]
        if self.target.faults:
            arguments.append("errors")
        called = f"{self.name}({', '.join(arguments)})"
        outputs = ", ".join(register_name(c) for c in self.target.outputs)
        return f"{outputs} = {called}" if outputs else called


class Translator(Statements):
    """One translation of one function: the body it gives, and the states at its exits."""

    def run(self) -> None:
        self.body: list[ast.stmt] = []
        self.exits: list[tuple[ast.Return, set[Any]]] = []
        self.body += self.block(self.source.tree.body)

    def leave(self) -> list[ast.stmt]:
        made = ast.Return(None)
        self.exits.append((made, set(self.assigned or ())))
        return [made]

    def declarations(self, types: dict[str, Any], skip: set[str] | None = None) -> list[ast.stmt]:
        """Every local variable, set to zero, so that Warp knows its type before the first branch."""
        return [
            nodes.assign(
                self.target.local(name),
                _zero(kind if is_plain(kind) else wp.int64 if isinstance(kind, RefType) else wp.int32, types),
            )
            for name, kind in self.locals.items()
            if name not in (skip or ())
        ]


class _UnknownCounts(RowCounts):
    """Stands in for the number of entities while a system is only being checked."""

    def __init__(self) -> None:
        super().__init__({})

    def __missing__(self, kind: str) -> int:
        return 2


def _arguments(source: Source) -> list[ast.arg]:
    arguments = source.tree.args
    taken = next((a for a in arguments.args if a.arg == "wp" or a.arg.startswith("wl_")), None)
    if taken is not None:
        raise source.error(
            f"'{taken.arg}' is a name that the engine keeps for itself", "choose another name for the parameter", taken
        )
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
        raise source.error("parameters are plain names with annotations", "remove defaults, '*' and '/'", source.tree)
    return arguments.args


def _zero(kind: Any, types: dict[str, Any]) -> ast.expr:
    code = type_code(kind, types)
    value = "" if is_composite(kind) else "False" if kind is wp.bool else "0.0" if kind in FLOATS else "0"
    return ast.parse(f"{code}({value})", mode="eval").body


def _body_text(body: list[ast.stmt]) -> str:
    _add_line_numbers(body)
    return "\n".join("    " + line for line in ast.unparse(ast.Module(body or [ast.Pass()], [])).splitlines())


def _add_line_numbers(body: list[ast.stmt]) -> None:
    """Give every statement a line, which ``ast.unparse`` asks for; expressions need none."""
    for statement in body:
        statement.lineno = getattr(statement, "lineno", 1)
        for part in ("body", "orelse"):
            _add_line_numbers(getattr(statement, part, []))


def _function_text(name: str, head: str, body: list[ast.stmt]) -> str:
    return f"@wp.func\ndef {name}({head}):\n{_body_text(body)}\n"


def _compile_python(
    source: Source, flow: Translator, names: list[str], target: PythonTarget, runtime: Any
) -> Callable[..., Any]:
    arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    start: list[ast.stmt] = [nodes.assign("wl_draw", nodes.constant(0))]
    function = ast.FunctionDef(source.name, arguments, start + flow.body, [], None, None)
    ast.copy_location(function, source.tree)
    for item in start:
        ast.copy_location(item, source.tree)
    module = ast.fix_missing_locations(ast.Module([function], []))
    space = dict(source.names())  # for print and breakpoint, which stay as they were written
    space.update(wp=python_math, wl_runtime=runtime, wl_component=component, wl_replace=with_component)
    space.update({name: python for name, (_, python) in HELPERS.items()})
    space.update(INTERPRETED)
    space.update(target.objects)
    space.update({f"wl_helper_{name}": helper.python_function(target.exact) for name, helper in target.helpers.items()})
    exec(compile(module, source.file, "exec"), space)
    made: Callable[..., Any] = space[source.name]
    return made


@overload
def system(rule: Callable[..., None]) -> System: ...
@overload
def system(*, threads: int) -> Callable[[Callable[..., None]], System]: ...
def system(
    rule: Callable[..., None] | None = None, *, threads: int | None = None
) -> System | Callable[[Callable[..., None]], System]:
    """Make a function a system: a rule run once per entity, per pair of entities or per world, of every world of a batch.

    Written ``@wl.system``; ``@wl.system(threads=32)`` asks for several threads per entity, which share the turns of the loops over
    :func:`~worldloom.core.frontend.shared_loop.share`.
    """
    if threads is None:
        return _make_system(_require_function(rule, "system"), 1)
    if isinstance(threads, bool) or threads not in THREADS:
        raise misuse(f"an entity cannot have threads={threads!r}", f"give one of {', '.join(map(str, THREADS))}")
    return functools.partial(_make_system, threads=threads)


def _make_system(rule: Callable[..., None], threads: int) -> System:
    try:
        return System(read(rule), threads=threads)
    except DefinitionError as error:  # the engine's own frames say nothing to the user
        raise error.with_traceback(None) from None


def function(helper: Callable[..., Any] | None = None) -> Helper:
    """Make a function of numbers and vectors callable from systems."""
    try:
        return Helper(read(_require_function(helper, "function")))
    except DefinitionError as error:
        raise error.with_traceback(None) from None


def _require_function(given: Callable[..., Any] | None, name: str) -> Callable[..., Any]:
    if given is None:
        raise misuse(f"@wl.{name}() has brackets", f"write @wl.{name}")
    return given
