"""Launches: entries of a schedule that launch Warp kernels, between the systems and in the same recorded graphs.

A native function in C++ or a kernel over tiles cannot be written as a system. It is written as a Warp kernel, and a
:class:`Launch` launches it. The launch declares the columns that its kernels read and write, so that independent
systems are still fused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.entity import Components, World

if TYPE_CHECKING:
    from worldloom.core.registry.definition import Definition
    from worldloom.core.runtime.table import Table
    from worldloom.core.simulation import Simulation

ColumnNames = Mapping[type[Components], Sequence[str]]
"""Components by the kind that has them: ``{Console: ("machine", "inputs")}``."""

Mask = tuple[str, bool]
"""A boolean column of the world, and its value in the worlds that a system or a launch runs for."""


@dataclass(frozen=True)
class Shard:
    """The worlds that kernels are launched for: all of a GPU, or those of one CPU thread.

    Attributes:
        first, count: The worlds ``first`` to ``first + count - 1`` of the batch.
        mask: A boolean for every world of the batch, shape (num_worlds,); None, which kernels accept too, selects all
            worlds.
        value: The value in ``mask`` of the selected worlds. Kernels test ``wl.picked(mask, value, world)`` and leave
            the other worlds unchanged.
        device: The device to launch on.
        stream: The stream to launch on; None for Warp's own.
    """

    first: int
    count: int
    mask: wp.array | None
    value: bool
    device: wp.Device
    stream: wp.Stream | None


class Launch:
    """An entry of ``reset``, ``step`` or ``observe`` that launches Warp kernels. Derived classes define :meth:`launch`.

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
        label: Its name in explanations and profiles; the name of the class where it is empty.
        reads: The components that its kernels read, by kind, those of the world by its class. The mask is implied.
        writes: The components that its kernels write.
        renderer: Draws worlds that contain it and are registered without ``render``, see
            :class:`~worldloom.core.registry.definition.Definition`; None for nothing.
    """

    label: str = ""
    reads: ColumnNames = MappingProxyType({})
    writes: ColumnNames = MappingProxyType({})
    renderer: Callable[[Any, int], Any] | None = None

    def prepare(self, simulation: Simulation) -> Any:
        """Everything else that :meth:`launch` needs: columns, scratch memory, tables, compiled kernels.

        It is called once per simulation, which stores the result. The array of a configuration may be replaced during
        the life of the simulation, so keep its column, and read its ``array`` in :meth:`launch`.
        """
        return None

    def launch(self, prepared: Any, shard: Shard) -> None:
        """Launch the kernels with ``wp.launch``, and do nothing else: launches are recorded once and replayed.

        Args:
            prepared: What :meth:`prepare` returned for this simulation.
            shard: The worlds to launch for.
        """
        raise NotImplementedError(f"{type(self).__name__} has no launch(self, prepared, shard)")

    def digest(self) -> str:
        """Everything else that determines what its kernels do, as text or a hash.

        Saved states are restored only where it is equal.

        The text of the class is covered without it; that of kernels elsewhere, and data, are not.
        """
        return ""

    def portable_digest(self) -> str:
        """As :meth:`digest`, and equal on machines that round their data, such as a compiled model, differently.

        A training is resumed where it is equal.
        """
        return self.digest()


@dataclass(frozen=True, eq=False)
class LaunchNode:
    """A launch in a schedule, for all worlds or for those that ``mask`` selects. Its ``label`` is unique."""

    launch: Launch
    label: str
    mask: Mask | None
    reads: frozenset[ColumnKey]
    writes: frozenset[ColumnKey]
    engine: bool = False

    @property
    def name(self) -> str:
        """The label, and the mask where there is one."""
        return self.label if self.mask is None else f"{self.label} where {'' if self.mask[1] else 'not '}{self.mask[0]}"

    @property
    def columns(self) -> tuple[ColumnKey, ...]:
        return tuple(sorted(self.reads | self.writes))

    def conflict(self, reads: set[ColumnKey], writes: set[ColumnKey]) -> tuple[str, ColumnKey] | None:
        """How an entry with these columns depends on it, and the column; None where both may run in any order."""
        if written := self.writes & (reads | writes):
            return ("reads" if min(written) in reads else "writes"), min(written)
        if read := self.reads & writes:
            return "writes", min(read)
        return None

    def start(
        self,
        prepared: Mapping[int, Any],
        tables: Mapping[str, Table],
        worlds: tuple[int, int],
        device: wp.Device,
        stream: wp.Stream | None,
    ) -> None:
        """Launch for ``worlds``, given as (first, end)."""
        first, end = worlds
        mask, value = (None, True) if self.mask is None else (tables[WORLD][self.mask[0]].array, self.mask[1])
        self.launch.launch(prepared[id(self.launch)], Shard(first, end - first, mask, value, device, stream))


def label_of(launch: Launch) -> str:
    return launch.label or type(launch).__name__


def _own_label(launch: Launch, definition: Definition) -> str:
    """Its label, with a number where an earlier launch of the world has the same label."""
    same_label = [other for other in definition.launches if label_of(other) == label_of(launch)]
    index = next(index for index, other in enumerate(same_label) if other is launch)
    return f"{label_of(launch)} {index + 1}" if index else label_of(launch)


def launch_node(launch: Launch, mask: Mask | None, definition: Definition) -> LaunchNode:
    """``launch`` in the schedule of ``definition``."""
    reads, writes = (_columns(names) for names in (launch.reads, launch.writes))
    mask_column = set() if mask is None else {(WORLD, mask[0])}
    populations = {table for table, _ in reads | writes} & definition.populations.keys()
    row_columns = {
        (WORLD, f"{table}__{n}")
        for table in populations
        for n in ("count", *(["first"] if definition.populations[table].pooled else []))
    }
    return LaunchNode(
        launch, _own_label(launch, definition), mask, frozenset(reads | mask_column | row_columns), frozenset(writes)
    )


def _columns(columns: ColumnNames) -> set[ColumnKey]:
    return {
        (WORLD if issubclass(kind, World) else kind.__name__, name) for kind, names in columns.items() for name in names
    }
