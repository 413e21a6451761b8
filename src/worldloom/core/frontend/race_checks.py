"""The refusal of races: a system whose result would depend on the order in which rows run is not accepted.

Single statements are checked while they are translated; the first part of this file holds their messages. Then
:func:`refuse_races` checks all reads and writes of the system together. Races among the iterations of a shared loop are
refused in :mod:`worldloom.core.frontend.shared_loop`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from worldloom.core.base.source import Source
from worldloom.core.frontend.access import Access
from worldloom.core.frontend.values import Owner, Value, WorldType
from worldloom.core.model.entity import Components, Has

if TYPE_CHECKING:
    from worldloom.core.frontend.shared_loop import SharedLoop

# -- one statement ---------------------------------------------------------------------------------------------------


class Race(NamedTuple):
    """Why a statement is refused, and how to fix it: the first two arguments of ``error``."""

    problem: str
    fix: str

    def about(self, name: str) -> Race:
        """The same with ``name`` in the problem's braces."""
        return Race(self.problem.format(name), self.fix)


VECTOR_ELEMENT_RACE = Race(
    "race: one component of a shared vector cannot be changed alone", "add a whole vector with zeros in it, with +="
)
XOR_OF_BOOLS_RACE = Race(
    "race: '^=' cannot accumulate truth values", "count with += into an int, and test whether it is odd"
)
OPERATOR_RACE = Race(
    "race: '{}' changes what other entities change at the same time",
    "only +=, -=, |=, &= and ^= do not depend on the order; accumulate the effect and apply it in a later system",
)
TWO_OPERATORS_RACE = Race(
    "race: '{}' is accumulated with two operators whose order matters",
    "use one of +=, |=, &=, ^=, min and max per system",
)
REFERENCE_RACE = Race(
    "race: the reference '{}' of another entity cannot be set from here", "set it in the other entity's own system"
)
END_OF_OTHER_RACE = Race("race: one entity cannot end the episode of another", "end it in that entity's own system")


def store_race(row: Value, name: str) -> Race:
    """A plain store of component ``name`` of a row that several entities may store into."""
    if isinstance(row.type, WorldType):
        return Race(
            f"race: every entity would store its own value into 'world.{name}'",
            "accumulate with +=, -=, |= or &=, or min/max, or write it in a system over the world alone",
        )
    return Race(
        f"race: several entities may store '{name}' of the same {row.type.owner.__name__} at the same time",
        "accumulate with +=, -=, |= or &=, or min/max, or invert the loop and let that entity write its own row; "
        "where no two entities store into the same one, promise it with @wl.system(disjoint=True)",
    )


# -- all reads and writes of a system --------------------------------------------------------------------------------


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


def promised_components(disjoint: bool, over_world: bool, access: Access, loops: list[SharedLoop]) -> frozenset[str]:
    """Components of entities that a system writes under a promise that no other entity or iteration uses them.

    ``disjoint`` is the promise of the system, ``loops`` are its shared loops, which all have it in a system over the
    world.
    """
    promised = {name for loop in loops if loop.disjoint for name in loop.stored}
    if disjoint or (over_world and loops):
        promised |= {name for _, name in access.other_write}
    return frozenset(promised | access.own_write.keys() if disjoint else promised)


def refuse_races(source: Source, owner: Owner, access: Access, disjoint: bool = False) -> None:
    """Raise DefinitionError where a result would depend on the order in which rows run.

    With ``disjoint`` the user promises that no row uses what another one writes, except for fields of the world.
    """
    name = owner.__name__
    if disjoint:
        _refuse_own_races(source, owner, access)
        _refuse_world_races(source, access)
        return
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
    _refuse_world_races(source, access)


def _refuse_own_races(source: Source, owner: Owner, access: Access) -> None:
    """Refuse what would differ where the other entity is the own one, whose components are in registers."""
    own = {**access.own_read, **access.own_write}
    for (kind, component), line in (*access.other_write.items(), *access.other_read.items()):
        written = (kind, component) in access.other_write or component in access.own_write
        if _same_table(owner, kind) and component in own and written:
            raise source.error(
                f"race: it uses its own '{component}', and that of another {kind.__name__}, which may be itself",
                "split it into two systems: write into a second component here and copy it back in the next",
                line,
            )


def _refuse_world_races(source: Source, access: Access) -> None:
    for component, line in access.world_write.items():
        if component in access.world_read:
            raise source.error(
                f"race: it adds to 'world.{component}' and reads it in the same system,"
                " while other entities add to it too",
                f"read it in a later system (line {access.world_read[component]} reads)",
                line,
            )
