"""Populations: kinds of entity whose number varies, and what the engine keeps of them.

The rows of a world lie side by side in the order in which they were spawned, in the first places of a stretch of memory. A system
that spawns writes into a second table beside (``Bullet__new``), one that despawns marks rows; both take effect when the engine
*settles* the table, before the next system that looks at it. An entity is known by its serial number, which grows in the order of
spawning, so that a reference finds its row by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import warp as wp

from worldloom.core.model.entity import Entity, Event
from worldloom.core.model.fields import Field, Role

Overflow = Literal["error", "reset", "drop"]
OVERFLOWS: tuple[str, ...] = get_args(Overflow)

SERIAL, DESPAWNED, ROW_WORLD = "wl_serial", "wl_dead", "wl_world"
"""The columns that the engine adds to a population: the serial number of each entity, whether it is about to leave, and, where the
rows are those of the whole batch, its world."""

STEP_BITS, SYSTEM_BITS, SPAWN_INDEX_BITS = 27, 11, 25
"""A serial number is the step, the system and the spawning entity's place, so that it is known before anything is counted."""


@dataclass(frozen=True)
class UpTo:
    """How many entities of a kind there may be: ``entities={Bullet: wl.UpTo(64)}``.

    Attributes:
        per_world: The most that one world holds at once.
        batch: Rows for all worlds together, where few worlds are ever full; None gives every world memory for ``per_world``. Where more
            are spawned than there are rows left, those of the last worlds do not fit; where more are spawned at once than there are
            rows at all, none of them does.
        overflow: What follows when a world spawns more. ``error``: a fault of that world, which is reset, and the step raises
            :class:`~worldloom.core.base.errors.CapacityError`. ``reset``: the fault and the reset, and the run goes on. ``drop``: what does
            not fit is not spawned, and counted.
    """

    per_world: int
    batch: int | None = None
    overflow: Overflow = "error"

    def __str__(self) -> str:
        return f"up to {self.per_world:,}" + (f" ({self.batch:,} in the batch)" if self.batch is not None else "")

    @property
    def problem(self) -> str | None:
        """What is wrong with it, in words that follow the kind's name."""
        for name, value in (("per_world", self.per_world), ("batch", 1 if self.batch is None else self.batch)):
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not 1 <= value < (2**20 if name == "per_world" else 2**30)
            ):
                return f"has {name}={value!r}, which is no whole number from 1 to {'1,048,575' if name == 'per_world' else '1,073,741,823'}"
        if self.overflow not in OVERFLOWS:
            return f"has overflow={self.overflow!r}, which is none of {', '.join(OVERFLOWS)}"
        return None


@dataclass(frozen=True)
class Population:
    """One population of a simulation.

    Attributes:
        table: The name of its table.
        limit: How many there may be.
        stage: How many may be spawned in one world between two settlements.
        staged: The components that some system sets when it spawns one.
        event: Whether the engine clears it at every step.
    """

    table: str
    limit: UpTo
    spawn_capacity: int
    spawn_fields: tuple[str, ...]
    event: bool

    @property
    def pooled(self) -> bool:
        """Whether its rows are those of the whole batch, and not of each world."""
        return self.limit.batch is not None

    @property
    def new_table(self) -> str:
        return f"{self.table}__new"

    @property
    def scratch_table(self) -> str:
        """Where its settlements note what one kernel tells the next, if its rows are those of the whole batch."""
        return f"{self.table}__scratch"

    @property
    def row_fields(self) -> dict[str, Field]:
        """The columns that the engine adds to its table."""
        return {n: f for n, f in ROW_FIELDS.items() if n != ROW_WORLD or self.pooled}

    @property
    def overflow_message(self) -> str:
        """What is said of a world that spawned too many; ``{value}`` is how many did not fit."""
        room = f"{self.limit.per_world:,} in a world" + (
            f" and {self.limit.batch:,} in the batch" if self.limit.batch is not None else ""
        )
        return f"{{value}} more {self.table} were spawned than there is room for ({room}); raise the numbers of wl.UpTo for {self.table}"

    def field(self, name: str) -> Field:
        """One of the fields of the world that the engine keeps for it."""
        return world_fields(self.table, self.pooled)[f"{self.table}__{name}"]


def world_fields(table: str, pooled: bool) -> dict[str, Field]:
    """What a world keeps of a population: how many there are, how many are new, whether some leave, how many did not fit.

    Where the rows are those of the whole batch, also the row where those of the world begin.
    """

    def field(name: str, dtype: type, transient: bool = False) -> Field:
        return Field(f"{table}__{name}", dtype, role=Role.ENGINE, default=0, keep=True, transient=transient)

    made = [
        field("count", wp.int32),
        field("pending", wp.int32, True),
        field("changed", wp.bool, True),
        field("dropped", wp.int32),
    ]
    return {f.name: f for f in (*made, *([field("first", wp.int32)] if pooled else []))}


ROW_FIELDS: dict[str, Field] = {
    SERIAL: Field(SERIAL, wp.int64, role=Role.ENGINE, default=-1, keep=True),
    DESPAWNED: Field(DESPAWNED, wp.bool, role=Role.ENGINE, default=False, keep=True, transient=True),
    ROW_WORLD: Field(ROW_WORLD, wp.int32, role=Role.ENGINE, default=-1, keep=True),
}


def is_event(kind: type[Entity]) -> bool:
    return issubclass(kind, Event)


def spawns_per_run(rows: int) -> int:
    """How many entities one run of a system over ``rows`` entities of a world may spawn."""
    return int(2**SPAWN_INDEX_BITS) // rows


def serial_number(step: int, system: int, slot: int, share: int, nth: int) -> int:
    """The serial number of the ``nth`` entity that one run of a system spawns."""
    return (step << SYSTEM_BITS | system) << SPAWN_INDEX_BITS | (slot * share + nth)
