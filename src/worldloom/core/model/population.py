"""Populations: kinds of entity whose number varies, and the columns that the engine adds for them.

The rows of a world are contiguous, in spawn order, at the start of its memory. A system that spawns writes into a
second table (``Bullet__new``), and one that despawns marks rows. Both take effect at the next *compaction* of the
table, which the engine runs before the next system that uses the population. An entity is identified by its serial
number. Serial numbers grow in spawn order, so a reference finds its row by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import warp as wp

from worldloom.core.model.entity import Entity, Event
from worldloom.core.model.fields import Field, Role

Overflow = Literal["error", "reset", "drop"]
OVERFLOWS: tuple[str, ...] = get_args(Overflow)

SERIAL, DESPAWNED, ROW_WORLD = "wl_serial", "wl_dead", "wl_world"
"""The columns that the engine adds to a population: the serial number of each entity, whether it is despawned at the
next compaction, and, where all worlds share one pool of rows, its world."""

AGENT_ROW = "wl_agent_row"
"""The column that the engine adds to a population of agents: the row of each entity in the table of agent rows, -1
until it has one."""

AGENT_TABLE = "__agents"
"""What the name of a table of agent rows has after that of its population."""

POPULATION_ATTRIBUTES = (
    "counts",
    "rows",
    "mask",
    "offsets",
    "padded",
    "dropped",
    "agent_rows",
    "population_spec",
    "world_columns",
    "count_problem",
    "occupied_rows",
    "occupied_rows_in",
    "batch_rows",
    "first_rows",
    "copied_columns",
    "copy_worlds",
    "require_capacity",
    "rows_of_agents",
)
"""Attributes that the table of a population has in addition, those for users first; no component has such a name."""

STEP_BITS, SYSTEM_BITS, SPAWN_INDEX_BITS = 27, 11, 25
"""Bits of the parts of a serial number: the step, the system, and the index of the spawn. No counter is needed."""


LARGE = 4096
"""Rows of a world, or spawns between two compactions, from which CUDA compacts a population with several kernels. One
warp per world is faster for fewer: it needs one launch, but compares all serial numbers of spawned entities."""


@dataclass(frozen=True)
class UpTo:
    """The capacity of a kind of entity whose number varies: ``entities={Bullet: wl.UpTo(64)}``.

    Attributes:
        per_world: The capacity of one world.
        batch: Rows of a pool that all worlds share, for worlds that are rarely full; None gives every world memory for
            ``per_world``. If more entities are spawned than rows are free, those of the last worlds do not fit. If more
            are spawned at once than the pool has rows, none of them fits.
        overflow: What happens when a world spawns more. ``error``: a fault of that world, which is reset, and the step
            raises :class:`~worldloom.core.base.errors.CapacityError`. ``reset``: the fault and the reset, and the run
            continues. ``drop``: entities that do not fit are not spawned, and counted.
        agents: Whether environments and trainers control the entities: each has one of ``per_world`` rows of actions,
            observations and rewards for as long as it exists.
    """

    per_world: int
    batch: int | None = None
    overflow: Overflow = "error"
    agents: bool = field(default=False, metadata={"fingerprint": "unless default"})

    def __str__(self) -> str:
        return f"up to {self.per_world:,}" + (f" ({self.batch:,} in the batch)" if self.batch is not None else "")

    @property
    def problem(self) -> str | None:
        """The problem with its values, in words that follow the kind's name; None if they are valid."""
        batch = 1 if self.batch is None else self.batch
        for name, value, end in (("per_world", self.per_world, 2**20), ("batch", batch, 2**30)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < end:
                return f"has {name}={value!r}, which is no whole number from 1 to {end - 1:,}"
        if self.overflow not in OVERFLOWS:
            return f"has overflow={self.overflow!r}, which is none of {', '.join(OVERFLOWS)}"
        if not isinstance(self.agents, bool):
            return f"has agents={self.agents!r}, which is neither True nor False"
        if self.agents and self.batch is not None:
            return "has agents=True and batch, but every agent needs a row of its own world"
        return None


@dataclass(frozen=True)
class Population:
    """One population of a simulation.

    Attributes:
        table: The name of its table.
        limit: Its capacity.
        spawn_capacity: How many entities one world can spawn between two compactions.
        spawn_fields: The components that a system sets when it spawns an entity.
        event: Whether the engine clears it at every step.
        in_agent_rows: The components whose columns share the memory of those of its agent rows.
    """

    table: str
    limit: UpTo
    spawn_capacity: int
    spawn_fields: tuple[str, ...]
    event: bool
    in_agent_rows: frozenset[str] = frozenset()

    @property
    def pooled(self) -> bool:
        """Whether all worlds share one pool of rows."""
        return self.limit.batch is not None

    @property
    def large(self) -> bool:
        """Whether on CUDA the threads of many warps compact a world of a few, see :data:`LARGE`."""
        return not self.pooled and max(self.limit.per_world, self.spawn_capacity) >= LARGE

    @property
    def new_table(self) -> str:
        """The table that spawned entities are written to."""
        return f"{self.table}__new"

    @property
    def agents(self) -> bool:
        """Whether environments and trainers control its entities."""
        return self.limit.agents

    @property
    def agent_table(self) -> str:
        """The table of agent rows, if the population consists of agents; see :mod:`worldloom.core.model.agent_rows`."""
        return self.table + AGENT_TABLE

    @property
    def scratch_table(self) -> str:
        """The table of the memory that the kernels of a compaction share, if the population is pooled or large."""
        return f"{self.table}__scratch"

    @property
    def row_fields(self) -> dict[str, Field]:
        """The columns that the engine adds to its table."""
        present = {SERIAL: True, DESPAWNED: True, ROW_WORLD: self.pooled, AGENT_ROW: self.agents}
        return {name: column for name, column in ROW_FIELDS.items() if present[name]}

    @property
    def overflow_message(self) -> str:
        """The fault of a world that spawned too many; ``{value}`` is how many did not fit."""
        capacity = f"{self.limit.per_world:,} in a world"
        if self.limit.batch is not None:
            capacity += f" and {self.limit.batch:,} in the batch"
        return (
            f"{{value}} more {self.table} were spawned than there is room for ({capacity}); "
            f"raise the numbers of wl.UpTo for {self.table}"
        )

    def field(self, name: str) -> Field:
        """A field that the engine adds to the world for it."""
        return world_fields(self.table, self.pooled)[f"{self.table}__{name}"]


def world_fields(table: str, pooled: bool) -> dict[str, Field]:
    """The fields of the world for a population: counts of entities, spawned and dropped ones, and a flag of despawns.

    For a pooled population also the first row of the world.
    """

    def field(name: str, dtype: type, transient: bool = False) -> Field:
        return Field(f"{table}__{name}", dtype, role=Role.ENGINE, default=0, keep=True, transient=transient)

    fields = [
        field("count", wp.int32),
        field("pending", wp.int32, True),
        field("changed", wp.bool, True),
        field("dropped", wp.int32),
    ]
    return {f.name: f for f in (*fields, *([field("first", wp.int32)] if pooled else []))}


ROW_FIELDS: dict[str, Field] = {
    SERIAL: Field(SERIAL, wp.int64, role=Role.ENGINE, default=-1, keep=True),
    DESPAWNED: Field(DESPAWNED, wp.bool, role=Role.ENGINE, default=False, keep=True, transient=True),
    ROW_WORLD: Field(ROW_WORLD, wp.int32, role=Role.ENGINE, default=-1, keep=True),
    AGENT_ROW: Field(AGENT_ROW, wp.int32, role=Role.ENGINE, default=-1, keep=True),
}


def is_event(kind: type[Entity]) -> bool:
    return issubclass(kind, Event)


def spawns_per_run(rows: int) -> int:
    """How many entities one run of a system over ``rows`` entities of a world may spawn."""
    return int(2**SPAWN_INDEX_BITS) // rows


def serial_number(step: int, system: int, slot: int, share: int, nth: int) -> int:
    """The serial number of the ``nth`` entity that one run of a system spawns."""
    return (step << SYSTEM_BITS | system) << SPAWN_INDEX_BITS | (slot * share + nth)
