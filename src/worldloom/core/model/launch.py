"""Launches: entries of a schedule that start Warp kernels of their own, between the systems and in the same recorded graphs.

What no system can say, such as a native function in C++ or a kernel that works on tiles, is written as a Warp kernel, and a
:class:`Launch` starts it. It says which columns its kernels look at and change, so that systems that have nothing to do with it are still fused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.entity import AGENT_FIELDS, Components, World
from worldloom.core.model.fields import Role

if TYPE_CHECKING:
    from worldloom.core.registry.registry import Definition
    from worldloom.core.runtime.table import Table
    from worldloom.core.simulation import Simulation

ColumnNames = Mapping[type[Components], Sequence[str]]
"""Components by the kind that has them: ``{Console: ("machine", "inputs")}``."""

Mask = tuple[str, bool]
"""A truth value of the world, and what it must be for a system or a launch to heed it."""

_WRITABLE_ENGINE_FIELDS = ("terminated", "truncated", "broken", *AGENT_FIELDS)
"""Of what the engine keeps, that which ends episodes; the rest is the engine's own."""


@dataclass(frozen=True)
class Shard:
    """The worlds that kernels are launched for: all of a GPU, or those of one CPU thread.

    Attributes:
        first, count: The worlds ``first`` to ``first + count - 1`` of the batch.
        mask: A truth value for every world of the batch, shape (num_worlds,); None, which a kernel may be given too, where all are meant.
        value: What a world has in ``mask`` if it is meant. The others are to be left as they are: kernels ask ``wl.picked(mask, value, world)``.
        device: Where to launch.
        stream: The stream to launch on; None for Warp's own.
    """

    first: int
    count: int
    mask: wp.array | None
    value: bool
    device: wp.Device
    stream: wp.Stream | None


class Launch:
    """An entry of ``reset``, ``step`` or ``observe`` that launches Warp kernels; derive from it and write :meth:`launch`.

    .. code-block:: python

        class Grow(wl.Launch):
            reads = {Dish: ("cells",)}
            writes = {Dish: ("cells",)}

            def prepare(self, simulation):
                return simulation[Dish].cells.array, wp.empty(...)

            def launch(self, prepared, shard):
                inputs = [shard.first, shard.mask, shard.value, *prepared]
                wp.launch(grow, dim=shard.count, inputs=inputs, device=shard.device, stream=shard.stream)

    Attributes:
        label: What it is called in explanations and profiles; the name of the class where it is empty.
        reads: The components that its kernels look at, by kind, those of the world by its class. The mask goes without saying.
        writes: The components that its kernels change.
    """

    label: str = ""
    reads: ColumnNames = MappingProxyType({})
    writes: ColumnNames = MappingProxyType({})

    def prepare(self, simulation: Simulation) -> Any:
        """What :meth:`launch` needs beside: columns, memory that means nothing between two steps, tables, compiled kernels.

        Called once for every simulation, which keeps what it returns. The array of a configuration may be replaced while the simulation
        lives, so keep its column and ask it for ``array`` in :meth:`launch`.
        """
        return None

    def launch(self, prepared: Any, shard: Shard) -> None:
        """Launch the kernels with ``wp.launch``, and do nothing else: what is launched here is recorded once and replayed ever after.

        Args:
            prepared: What :meth:`prepare` returned for this simulation.
            shard: The worlds to treat.
        """
        raise NotImplementedError(f"{type(self).__name__} has no launch(self, prepared, shard)")

    def digest(self) -> str:
        """Whatever else decides what its kernels do, in words or as a hash: saved states are put back only where it is the same.

        The text of the class is known without it; that of kernels elsewhere, and of data, is not.
        """
        return ""


@dataclass(frozen=True, eq=False)
class LaunchNode:
    """A launch in its place: for all worlds or for those that ``mask`` picks. Its ``label`` is no other launch's."""

    launch: Launch
    label: str
    mask: Mask | None
    reads: frozenset[ColumnKey]
    writes: frozenset[ColumnKey]
    engine: bool = False

    @property
    def name(self) -> str:
        """Tells it from the same launch for other worlds."""
        return self.label if self.mask is None else f"{self.label} where {'' if self.mask[1] else 'not '}{self.mask[0]}"

    @property
    def columns(self) -> tuple[ColumnKey, ...]:
        return tuple(sorted(self.reads | self.writes))

    def conflict(self, reads: set[ColumnKey], writes: set[ColumnKey]) -> tuple[str, ColumnKey] | None:
        """How something that reads and writes these columns depends on it, and by which; None where both may run in any order."""
        if found := self.writes & (reads | writes):
            return ("reads" if min(found) in reads else "writes"), min(found)
        if found := self.reads & writes:
            return "writes", min(found)
        return None

    def start(
        self,
        prepared: Mapping[int, Any],
        tables: Mapping[str, Table],
        worlds: tuple[int, int],
        device: wp.Device,
        stream: wp.Stream | None,
    ) -> None:
        """Launch for the worlds from the first of ``worlds`` up to the second."""
        first, end = worlds
        mask, value = (None, True) if self.mask is None else (tables[WORLD][self.mask[0]].array, self.mask[1])
        self.launch.launch(prepared[id(self.launch)], Shard(first, end - first, mask, value, device, stream))


def label_of(launch: Launch) -> str:
    return launch.label or type(launch).__name__


def _own_label(launch: Launch, definition: Definition) -> str:
    """Its label, and a number where another launch of the world has the same."""
    alike = [other for other in definition.launches if label_of(other) == label_of(launch)]
    place = next(place for place, other in enumerate(alike) if other is launch)
    return f"{label_of(launch)} {place + 1}" if place else label_of(launch)


def node(launch: Launch, mask: Mask | None, definition: Definition) -> LaunchNode:
    """``launch`` in the schedule of ``definition``."""
    reads, writes = (_columns(named) for named in (launch.reads, launch.writes))
    picks = set() if mask is None else {(WORLD, mask[0])}
    counted = {table for table, _ in reads | writes} & definition.populations.keys()
    places = {
        (WORLD, f"{table}__{n}")
        for table in counted
        for n in ("count", *(["first"] if definition.populations[table].pooled else []))
    }
    return LaunchNode(
        launch, _own_label(launch, definition), mask, frozenset(reads | picks | places), frozenset(writes)
    )


def _columns(named: ColumnNames) -> set[ColumnKey]:
    return {
        (WORLD if issubclass(kind, World) else kind.__name__, name) for kind, names in named.items() for name in names
    }


def validate(made: Definition, launch: Launch) -> None:
    """DefinitionError where ``launch`` names components that the world does not have, or that are not its to write."""
    who = label_of(launch)
    for what, named in (("reads", launch.reads), ("writes", launch.writes)):
        if not isinstance(named, Mapping):
            raise made.error(f"'{what}' of {who} is no mapping", f"write for example {what} = {{Ball: ('position',)}}")
        for kind, names in named.items():
            known = _fields_of(made, kind)
            if known is None:
                kinds = ", ".join(k.__name__ for k in (made.world, *made.entities))
                raise made.error(
                    f"{who} {what} components of {getattr(kind, '__name__', repr(kind))}, which it does not have",
                    f"name one of {kinds}",
                )
            if isinstance(names, str) or not isinstance(names, Iterable):
                raise made.error(
                    f"'{what}' of {who} names {names!r} of {kind.__name__}, which is no list",
                    f"write {kind.__name__}: ({names!r},)",
                )
            for name in names:
                if name not in known:
                    there = ", ".join(known)
                    raise made.error(
                        f"{who} {what} '{name}' of {kind.__name__}, which has no such component", f"name one of {there}"
                    )
                if what == "writes" and (
                    known[name] is Role.CONFIG or (known[name] is Role.ENGINE and name not in _WRITABLE_ENGINE_FIELDS)
                ):
                    whose = "configuration" if known[name] is Role.CONFIG else "the engine's own"
                    raise made.error(
                        f"{who} writes '{name}' of {kind.__name__}, which is {whose}",
                        "let it read that, and write a component of its own",
                    )


def _fields_of(made: Definition, kind: Any) -> dict[str, Role] | None:
    """The components of a kind of the world by name, with their roles; None where there is no such kind."""
    if isinstance(kind, type) and issubclass(kind, World) and issubclass(made.world, kind):
        return {name: f.role for name, f in made.world.fields.items()}
    if kind not in made.entities:
        return None
    return {name: f.role for name, f in {**kind.fields, **(AGENT_FIELDS if made.agents(kind) else {})}.items()}
