"""The reads and writes of one system, and the rules that exclude data races between its parallel runs."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from worldloom.core.base.source import Source
from worldloom.core.frontend.values import Owner
from worldloom.core.model.entity import Components, Has

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


def refuse_stale_grids(source: Source, access: Access) -> None:
    """Raise DefinitionError where a system over the world moves entities and queries them: the grid would be stale."""
    for (kind, component), line in (*access.near.items(), *access.nearest.items()):
        for (moved, changed), moves in access.other_write.items():
            if changed == component and (issubclass(moved, kind) or issubclass(kind, moved)):
                raise source.error(
                    f"it searches {kind.__name__} by '{component}' and changes '{component}' in the same system",
                    f"split it into two systems, one that moves and one that searches (line {moves} moves)",
                    line,
                )


def _same_table(owner: Owner, kind: type[Components]) -> bool:
    """Whether a row of ``kind`` may be a row that a system over ``owner`` runs for."""
    return owner.matches(kind) if isinstance(owner, Has) else issubclass(kind, owner) or issubclass(owner, kind)


def self_accumulated_components(owner: Owner, access: Access) -> frozenset[str]:
    """Components that the system writes in its own row and accumulates into in other rows of the same kind.

    ``a.reward += 1`` together with ``b.reward -= 1`` does not depend on the order: both accumulate.
    """
    if isinstance(owner, Has):
        return frozenset()
    return frozenset(
        component for kind, component in access.other_write if kind is owner and component in access.own_write
    )


def refuse_races(source: Source, owner: Owner, access: Access) -> None:
    """Raise DefinitionError where a result would depend on the order in which rows run."""
    name = owner.__name__
    same_table = functools.partial(_same_table, owner)
    for (kind, component), line in access.other_read.items():
        if same_table(kind) and component in access.own_write:
            raise source.error(
                f"race: it reads '{component}' of another {kind.__name__}"
                f" while every {name} writes its own '{component}'",
                "split it into two systems: write into a second component here and copy it back in the next"
                f" (line {access.own_write[component]} writes)",
                line,
            )
        if (kind, component) in access.other_write:
            raise source.error(
                f"race: it reads '{component}' of another {kind.__name__} and adds to it in the same system",
                "split it into two systems, the first adding, the second reading"
                f" (line {access.other_write[kind, component]} adds)",
                line,
            )
    for (kind, component), line in access.other_write.items():
        used = access.own_write.get(component, access.own_read.get(component))
        if same_table(kind) and used is not None:
            raise source.error(
                f"race: it adds to '{component}' of another {kind.__name__}"
                f" while every {name} uses its own '{component}'",
                f"split it into two systems, one that adds and one that uses the sum (line {used} uses it)",
                line,
            )
    for component, line in access.world_write.items():
        if component in access.world_read:
            raise source.error(
                f"race: it adds to 'world.{component}' and reads it in the same system,"
                " while other entities add to it too",
                f"read it in a later system (line {access.world_read[component]} reads)",
                line,
            )
