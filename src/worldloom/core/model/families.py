"""Families of worlds: many worlds of one sort, known by their ids and made, with settings, when they are asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from worldloom.core.base.errors import InputError

if TYPE_CHECKING:
    from worldloom.core.registry.registry import Definition


class Family(Protocol):
    """Worlds of one sort.

    Attributes:
        name: What they are, in a word or two.
        settings: The names of what can be chosen when one is made.
        configured: Those of them that are configuration too, with its name: they may be given once per world.
    """

    name: str
    settings: frozenset[str]
    per_world_settings: Mapping[str, str]

    def ids(self) -> Sequence[str]:
        """The ids of its worlds, each with its usual settings."""

    def owns(self, id: str) -> bool:
        """Whether ``id`` names one of its worlds; there may be more than :meth:`ids` lists, such as those with settings in their names."""

    def given(self, id: str) -> Sequence[str]:
        """The names of the settings that ``id`` itself has."""

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        """The world ``id`` with ``settings``; InputError that says what is missing where it cannot be made."""


_FAMILIES: list[Family] = []
_LISTENERS: list[Callable[[str], None]] = []


def add_family(family: Family) -> None:
    """Make the worlds of a family known."""
    _FAMILIES.append(family)
    for tell in _LISTENERS:
        for id in family.ids():
            tell(id)


def families() -> list[Family]:
    return list(_FAMILIES)


def family_of(id: str) -> Family | None:
    """The family that has a world ``id``."""
    return next((family for family in _FAMILIES if family.owns(id)), None)


def family_ids() -> list[str]:
    """The ids of all worlds of all families."""
    return [id for family in _FAMILIES for id in family.ids()]


def on_family(tell: Callable[[str], None]) -> None:
    """Have ``tell`` called with the id of every world of every family, now and later."""
    _LISTENERS.append(tell)
    for id in family_ids():
        tell(id)


def closest_first(name: str, there: Iterable[str]) -> list[str]:
    """``there`` with the names that are most like ``name`` in front, the others in their order."""
    names = list(there)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return [*near, *(other for other in names if other not in near)]


def check_settings(id: str, rest: Iterable[str]) -> None:
    """InputError where ``rest``, what :func:`split` did not take for settings of a world of a family, is nothing that can be chosen."""
    family = family_of(id)
    if family is None:
        return
    for name in rest:
        if name not in ("max_steps", *family.per_world_settings.values()):
            raise InputError(
                f"world '{id}' has no setting '{name}'; it has {', '.join(closest_first(name, sorted(family.settings)))}"
            )


def split(id: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of ``arguments``, those that are settings of the world ``id``, and the others; InputError where one is nearly a setting, or given twice.

    Settings with one value per world are among the others, under the name of the configuration that they are.
    """
    family = family_of(id)
    if family is None:
        return {}, dict(arguments)
    per_world = [name for name, value in arguments.items() if name in family.per_world_settings and np.ndim(value) > 0]
    chosen = {name: value for name, value in arguments.items() if name in family.settings and name not in per_world}
    rest = {name: value for name, value in arguments.items() if name not in family.settings}
    for name in rest:
        near = difflib.get_close_matches(name, family.settings, n=1, cutoff=0.75)
        if near and name != "max_steps":
            raise InputError(f"world '{id}' has no setting '{name}'; did you mean {near[0]}?")
    _require_once(id, family, arguments)
    return chosen, rest | {family.per_world_settings[name]: arguments[name] for name in per_world}


def _require_once(id: str, family: Family, arguments: Iterable[str]) -> None:
    """InputError where two of ``arguments``, or one of them and one in ``id``, are the same configuration."""
    said = {family.per_world_settings.get(name, name): f"'{name}' in the id" for name in family.given(id)}
    for name in arguments:
        meant = family.per_world_settings.get(name, name)
        if meant in said:
            raise InputError(f"the setting '{name}' of world '{id}' is given twice, as {said[meant]} too: give it once")
        said[meant] = f"'{name}'"
