"""Systems: the user's rules, translated and checked when they are defined."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, overload

import warp as wp

from worldloom.core.base.errors import DefinitionError, misuse
from worldloom.core.base.source import Source, read
from worldloom.core.frontend import nodes
from worldloom.core.frontend.access import Access
from worldloom.core.frontend.calls.world_function import WorldFunction, expand_calls, takes_world
from worldloom.core.frontend.helper import Helper
from worldloom.core.frontend.race_checks import (
    promised_components,
    refuse_races,
    refuse_stale_grids,
    self_accumulated_components,
)
from worldloom.core.frontend.shared_loop import auto_threads
from worldloom.core.frontend.system_options import refuse_options
from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.frontend.targets.fills import fold_fills
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.frontend.targets.kernel_names import register_name
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.frontend.targets.python_target import PythonTarget
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.targets.uniform import PRESENT, UniformControl
from worldloom.core.frontend.translator import Translator, body_text, compile_python, zero
from worldloom.core.frontend.user_functions import SystemFunction
from worldloom.core.frontend.values import Owner, RowType, Value, WorldType
from worldloom.core.frontend.where import WhereArgument, check_component, parse_where
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD, FaultSites, RowCounts, UnknownCounts
from worldloom.core.model.entity import Components, Entity, Has, World
from worldloom.core.model.pairs import Pair

THREADS = (1, 4, 8, 16, 32, 64, 128, 256)
"""Possible numbers of threads: one, a part of a warp for a world, a warp of 32, or for an entity a block of warps."""


class System(SystemFunction):
    """One rule of a world, run once per entity, per pair of entities or per world; created by :func:`system`.

    Attributes:
        owner: What it runs over: a kind of entity, a query, or a world class; the first kind of a pair.
        pair: The two kinds of entity of a system over pairs.
        threads: Threads per entity on CUDA.
        separate: Whether it is never a stage of a joined kernel on CUDA.
        auto_threads: Whether the engine chose ``threads`` from the shared loops.
        registers: Registers per thread on CUDA at most; None for the compiler's choice.
        where: The component and its values in the entities that it runs for, in order; None for all of them.
        disjoint: Whether no entity uses what another one writes in this system.
        together: Whether one kernel runs it and adjacent ones like it on CUDA.
        concurrent: Whether the next of them may run at the same time.
        access: Its reads and writes.
        draws: Whether it draws random numbers.
        promised: Components whose uses the interpreter notes, to check promises that entities are disjoint.
    """

    def __init__(
        self,
        source: Source,
        engine: bool = False,
        threads: int | Literal["auto"] = 1,
        separate: bool = False,
        where: WhereArgument | None = None,
        registers: int | None = None,
        disjoint: bool = False,
        together: bool = False,
        concurrent: bool = False,
    ) -> None:
        source = expand_calls(source)
        super().__init__(source)
        self.where = None if where is None else parse_where(source, where)
        self.registers, self.disjoint = registers, disjoint
        self.together, self.concurrent = together, concurrent
        self.engine, self.auto_threads = engine, threads == "auto"
        self.threads = 1 if isinstance(threads, str) else threads
        self.separate = separate
        self.place = f"system '{self.name}', {Path(source.file).name}"
        self.entity_parameter: str | None = None
        self.partner_parameter: str | None = None
        self.world_parameter: str | None = None
        self.pair: Pair | None = None
        self.owner, self.world = self._signature()
        self.access: Access = Access()
        self.self_accumulated: frozenset[str] = frozenset()
        kinds = UnknownCounts()
        over = self.pair or self.owner
        target = KernelTarget(self.table_name(over), kinds, self.over_world, self.place, FaultSites(), {}, engine)
        flow = self._translate(target, over)
        if self.where is not None:
            flow.access.own_read.setdefault(self.where.component, source.tree.lineno)
        self.access, self.draws = flow.access, target.draws
        if 1 < self.threads < WARP_SIZE and len(flow.exits) > 1:
            raise source.error(
                f"a system with {self.threads} threads per world cannot return early, since other worlds go on",
                "put the rest of it into a branch",
                source.tree,
            )
        if self.auto_threads:
            self.threads = auto_threads(flow.shared_loops)
        refuse_options(source, self.threads, self.pair is not None, separate, together, concurrent)
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
            refuse_races(source, self.owner, self.access, disjoint)
        self.promised = promised_components(disjoint, self.over_world, self.access, flow.shared_loops)

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
        for argument in self.arguments():
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
                        "a pair consists of two kinds of entity, not of wl.Has queries",
                        "write one system per pair of kinds; share code through a @wl.function helper",
                        argument,
                    )
                self.pair, self.partner_parameter = Pair(owner, kind), argument.arg
            else:
                raise source.error(
                    f"parameter '{argument.arg}' is neither an entity nor a world",
                    "annotate it with a wl.Entity class, wl.Has(...) or a wl.World class",
                    argument,
                )
        if owner is None and world is None:
            raise source.error(
                "a system needs an entity or a world to run over",
                "add a parameter such as 'ball: Ball' or 'world: Table'",
                source.tree,
            )
        self._check_entity(owner)
        self._check_threads("pairs" if self.pair is not None else "the world alone" if owner is None else "")
        return owner if owner is not None else world, world or World  # type: ignore[return-value]

    def _check_entity(self, owner: Owner | None) -> None:
        """Raise DefinitionError where the system needs an entity to run over, and has none, or has two."""
        alone = owner is not None and self.pair is None
        if self.where is not None and not alone:
            raise self.source.error("a system with 'where' runs over one entity", "write the condition into the system")
        if self.disjoint and not alone:
            raise self.source.error(
                "a system with 'disjoint' runs over one entity", "leave 'disjoint' out", self.source.tree
            )
        if self.where is not None:
            assert owner is not None
            check_component(self.source, owner.fields, self.where)

    def _check_threads(self, over: str) -> None:
        """Raise DefinitionError where the system, over pairs or the world, cannot have its number of threads."""
        parts_of_warps = range(2, WARP_SIZE + 1)
        fits = self.threads in parts_of_warps if over == "the world alone" else not over
        if (self.threads > 1 or self.auto_threads) and not (fits and not (over and self.auto_threads)):
            several = "several" if self.auto_threads else self.threads
            raise self.source.error(
                f"a system over {over} has no entity whose work {several} threads could share",
                "give threads=8 or another part of a warp" if over == "the world alone" else "leave 'threads' out",
                self.source.tree,
            )
        if not over and self.threads in parts_of_warps and self.threads < WARP_SIZE:
            raise self.source.error(
                f"an entity cannot have {self.threads} threads", "give one of 1, 32, 64, 128, 256", self.source.tree
            )

    def _translate(self, target: Target, owner: Owner | Pair) -> Translator:
        flow = Translator(self.source, target)
        flow.world_system, flow.self_accumulated = self.over_world, self.self_accumulated
        flow.disjoint = self.disjoint
        flow.auto_threads = self.auto_threads
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
            flow.body += [ast.copy_location(last, self.source.tree.body[-1]) for last in flow.emit_exit()]
        return flow

    def _translate_pair(self, flow: Translator, pair: Pair, python: bool) -> None:
        """Declare both entities of a pair as other rows: several pairs share them, so a pair may only accumulate."""
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
        """The types of the entity parameters: the user's classes, or tables with extra columns in engine systems."""
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
        narrow: bool = False,
        threads: int = 1,
    ) -> KernelFunction:
        """The Warp function for one kind of entity or one pair of kinds.

        ``counts`` are the rows of each kind per world, ``threads`` the threads per entity. With ``narrow``,
        ``wl.float64`` means ``wl.float32``.
        """
        table = self.table_name(kind)
        alone = counts[table] == 1 and table not in counts.populations and self.pair is None and threads == 1
        target = KernelTarget(
            table, counts, self.over_world or alone, self.place, sites, types, self.engine, exact, threads, narrow
        )
        flow = self._translate(target, self._typed(kind))
        outputs = list(target.outputs)
        for exit, assigned in flow.exits:
            exit.value = (
                ast.Tuple([nodes.name(register_name(c)) for c in outputs], ast.Load())
                if len(outputs) > 1
                else nodes.name(register_name(outputs[0]))
                if outputs
                else None
            )
            for column in outputs:
                if column not in assigned:
                    target.partial.add(column)
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
                start.append(nodes.assign(register_name(column), zero(field.dtype, types)))
        if target.draws:
            start += ast.parse("wl_draw = wp.int32(0)\nwl_stream = (system << 20) | slot").body
        if target.counts_spawns:
            start += ast.parse("wl_births = wp.int32(0)").body
        if target.faults and threads > 1:
            target.scalars |= {"lane", "world"}
            start += ast.parse("wl_teller = wp.where(lane == 0, world, -1)").body
        start += flow.declarations(types)
        name = f"{self.name}_{table}"
        body = fold_fills(flow.body)
        if 1 < threads < WARP_SIZE:
            target.scalars.add(PRESENT)
            target.warp_reductions["max", wp.int32] = None
            body = UniformControl().rewrite(body)
        return KernelFunction(name, self, target, flow, parameters, body_text(start + body))

    def python_function(self, kind: Owner | Pair, runtime: Any, exact: bool = False) -> Callable[..., None]:
        """The user's function with explicit types, for the interpreter ``runtime``."""
        target = PythonTarget(self.place, self.engine, exact, self.promised)
        flow = self._translate(target, self._typed(kind))
        names = [a.arg for a in self.arguments()]
        return compile_python(self.source, flow, names, target, runtime)


@overload
def system(rule: Callable[..., None]) -> System: ...


@overload
def system(
    *,
    threads: int | Literal["auto"] | None = None,
    separate: bool = False,
    where: WhereArgument | None = None,
    registers: int | None = None,
    disjoint: bool = False,
    together: bool = False,
    concurrent: bool = False,
) -> Callable[[Callable[..., None]], System]: ...


def system(
    rule: Callable[..., None] | None = None,
    *,
    threads: int | Literal["auto"] | None = None,
    separate: bool = False,
    where: WhereArgument | None = None,
    registers: int | None = None,
    disjoint: bool = False,
    together: bool = False,
    concurrent: bool = False,
) -> System | Callable[[Callable[..., None]], System]:
    """Make a function a system: a rule that runs once per entity, per pair of entities or per world.

    Written ``@wl.system``. ``@wl.system(threads=32)`` runs several threads per entity, which divide the iterations of
    loops over :func:`~worldloom.core.frontend.shared_loop.share`. With ``threads="auto"`` the engine chooses one
    thread or a warp. A system over the world may have 4, 8, 16 or 32 threads. ``@wl.system(separate=True)`` keeps a
    long system over the world out of kernels with many threads per world, in which all but one would wait for it.
    ``@wl.system(where=("kind", 2))`` runs for the entities whose component has this value; a GPU works through a list
    of them, so that the others cost no time. ``where=("kind", range(5))`` runs for those with 0, then for those with 1,
    and so on. ``disjoint=True`` promises that no entity that runs at the same time uses a component of another entity
    that it writes; the system may then store into other entities. The interpreter checks the promise.
    ``registers=128`` limits the registers of a thread on a GPU, so that more threads run at the same time. Adjacent
    systems with ``together=True`` are one kernel on a GPU, in which a block of threads takes a few worlds through all
    of them: for sequences of short systems. Of these, one with ``concurrent=True`` promises that the next system, for
    its first value of ``where``, uses nothing that this one writes, and writes nothing that it uses: threads without
    work in one go on with the other.
    """
    per_entity = 1 if threads is None else threads
    if registers is not None and (isinstance(registers, bool) or not 32 <= registers <= 255):
        raise misuse(f"a thread cannot have registers={registers!r}", "give a number from 32 to 255")
    if isinstance(per_entity, bool) or per_entity not in (*THREADS, "auto"):
        known = ", ".join(map(str, THREADS))
        raise misuse(f"an entity cannot have threads={per_entity!r}", f"give one of {known}, or 'auto'")

    def make(rule: Callable[..., None]) -> System:
        try:
            return System(read(rule), False, per_entity, separate, where, registers, disjoint, together, concurrent)
        except DefinitionError as error:  # frames of the engine do not help the user
            raise error.with_traceback(None) from None

    if threads is None and where is None and registers is None and not (separate or disjoint or together or concurrent):
        return make(_require_function(rule, "system"))
    return make


def function(helper: Callable[..., Any] | None = None) -> Helper | WorldFunction:
    """Make a function of numbers and vectors callable from systems; its first parameter may be a world."""
    try:
        source = read(_require_function(helper, "function"))
        return WorldFunction(source) if takes_world(source) else Helper(source)
    except DefinitionError as error:
        raise error.with_traceback(None) from None


def _require_function(function: Callable[..., Any] | None, name: str) -> Callable[..., Any]:
    if function is None:
        raise misuse(f"@wl.{name}() has brackets", f"write @wl.{name}")
    return function
