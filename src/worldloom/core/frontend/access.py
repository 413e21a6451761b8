"""The reads and writes of one system, recorded while it is translated."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldloom.core.frontend.values import Owner
from worldloom.core.model.entity import Components

Key = tuple[type[Components], str]


@dataclass
class SpawnUse:
    """How a system spawns entities of one kind.

    Attributes:
        line: The first line that spawns.
        fields: The components that are set.
        sites: The number of calls of ``world.spawn``.
        repeated: Whether one of the calls is inside a loop.
    """

    line: int
    fields: set[str] = field(default_factory=set)
    sites: int = 0
    repeated: bool = False


@dataclass
class Access:
    """The reads and writes of one system, each with the first line where it happens.

    Attributes:
        own_read, own_write: Components of the row that the system runs for.
        other_read, other_write: Components of other rows, by kind and name; all writes accumulate.
        world_read, world_write: Fields of the world, for systems over entities; all writes accumulate.
        kinds: Kinds of entity whose rows it uses.
        near, nearest: Kinds that it searches with these queries, with the component that holds their positions.
        families: The operator with which each shared component is accumulated.
        agents: Kinds whose entities it ends, or whose ``active`` it reads; None is the kind that it runs for.
        truncates: Whether it truncates episodes.
        spawns: Kinds that it spawns.
        despawns: Kinds that it despawns, with the line; None is the kind that it runs for.
    """

    own_read: dict[str, int] = field(default_factory=dict)
    own_write: dict[str, int] = field(default_factory=dict)
    other_read: dict[Key, int] = field(default_factory=dict)
    other_write: dict[Key, int] = field(default_factory=dict)
    world_read: dict[str, int] = field(default_factory=dict)
    world_write: dict[str, int] = field(default_factory=dict)
    kinds: dict[type[Components], int] = field(default_factory=dict)
    near: dict[Key, int] = field(default_factory=dict)
    nearest: dict[Key, int] = field(default_factory=dict)
    agents: set[type[Components] | None] = field(default_factory=set)
    families: dict[tuple[Owner, str], str] = field(default_factory=dict)
    truncates: bool = False
    spawns: dict[type[Components], SpawnUse] = field(default_factory=dict)
    despawns: dict[type[Components] | None, int] = field(default_factory=dict)
