"""Families of worlds: many worlds of one sort, built with settings on first use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from worldloom.core.base.errors import InputError, unknown_argument

if TYPE_CHECKING:
    from worldloom.core.registry.definition import Definition


class Family(Protocol):
    """Worlds of one sort.

    Attributes:
        name: The name of the family.
        settings: The names of the settings that a world is built with.
        per_world_settings: The settings that can have one value per world, with the name of the configuration that
            holds it.
    """

    name: str
    settings: frozenset[str]
    per_world_settings: Mapping[str, str]

    def ids(self) -> Sequence[str]:
        """The ids of its worlds, each with default settings."""

    def owns(self, id: str) -> bool:
        """Whether ``id`` is one of its worlds. Ids with settings in them are not listed by :meth:`ids`."""

    def given(self, id: str) -> Sequence[str]:
        """The names of the settings that ``id`` itself contains."""

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        """The world ``id`` with ``settings``. Raises InputError, with what is missing, if it cannot be built."""


_FAMILIES: list[Family] = []
_LISTENERS: list[Callable[[str], None]] = []


def add_family(family: Family) -> None:
    """Register the worlds of a family."""
    _FAMILIES.append(family)
    for listener in _LISTENERS:
        for id in family.ids():
            listener(id)


def families() -> list[Family]:
    return list(_FAMILIES)


def family_of(id: str) -> Family | None:
    """The family of the world ``id``; None if it has none."""
    return next((family for family in _FAMILIES if family.owns(id)), None)


def family_ids() -> list[str]:
    """The ids of all worlds of all families."""
    return [id for family in _FAMILIES for id in family.ids()]


def on_family(listener: Callable[[str], None]) -> None:
    """Call ``listener`` with the id of every world of every family, now and later."""
    _LISTENERS.append(listener)
    for id in family_ids():
        listener(id)


def closest_first(name: str, options: Iterable[str]) -> list[str]:
    """``options`` with the ones most similar to ``name`` first, the others in their order."""
    names = list(options)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return [*close, *(other for other in names if other not in close)]


def check_settings(id: str, rest: Iterable[str]) -> None:
    """Raise InputError if ``rest``, the arguments that :func:`split` did not take, holds an unknown setting."""
    family = family_of(id)
    if family is None:
        return
    for name in rest:
        if name not in ("max_steps", *family.per_world_settings.values()):
            raise unknown_argument(
                name,
                f"world '{id}' has no setting '{name}'; "
                f"it has {', '.join(closest_first(name, sorted(family.settings)))}",
            )


def split(id: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the world ``id`` among ``arguments``, and the other arguments.

    Settings with one value per world are among the others, under the name of their configuration. Raises InputError if
    an argument resembles a setting, or if a setting is given twice.
    """
    family = family_of(id)
    if family is None:
        return {}, dict(arguments)
    per_world = [name for name, value in arguments.items() if name in family.per_world_settings and np.ndim(value) > 0]
    chosen = {name: value for name, value in arguments.items() if name in family.settings and name not in per_world}
    rest = {name: value for name, value in arguments.items() if name not in family.settings}
    for name in rest:
        close = difflib.get_close_matches(name, family.settings, n=1, cutoff=0.75)
        if close and name != "max_steps":
            raise unknown_argument(name, f"world '{id}' has no setting '{name}'; did you mean {close[0]}?")
    _require_once(id, family, arguments)
    return chosen, rest | {family.per_world_settings[name]: arguments[name] for name in per_world}


def _require_once(id: str, family: Family, arguments: Iterable[str]) -> None:
    """Raise InputError if two of ``arguments``, or one of them and one in ``id``, are the same setting."""
    sources = {family.per_world_settings.get(name, name): f"'{name}' in the id" for name in family.given(id)}
    for name in arguments:
        key = family.per_world_settings.get(name, name)
        if key in sources:
            raise InputError(
                f"the setting '{name}' of world '{id}' is given twice, as {sources[key]} too: give it once"
            )
        sources[key] = f"'{name}'"
