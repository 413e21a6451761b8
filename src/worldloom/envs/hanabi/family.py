"""Ids of the games, such as ``Hanabi-v0`` or ``HanabiSmall-v0:players=3``, and their definitions."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.envs.hanabi.settings import HanabiSettings, SmallSettings, VerySmallSettings
from worldloom.envs.id_settings import make_settings, parse_settings, with_settings

GAMES: dict[str, type[HanabiSettings]] = {
    "Hanabi-v0": HanabiSettings,
    "HanabiSmall-v0": SmallSettings,
    "HanabiVerySmall-v0": VerySmallSettings,
}
"""The settings of each game, by its id."""
_ID = re.compile(rf"(?P<name>{'|'.join(GAMES)})(:(?P<settings>.*))?")


def games_summary() -> str:
    """One sentence for the list of all worlds."""
    return f"Hanabi: {', '.join(GAMES)}, for two to five players, such as Hanabi-v0:players=3."


class HanabiFamily:
    """The games of Hanabi. Their settings are the parameters of the Hanabi Learning Environment."""

    name = "Hanabi"
    settings = frozenset(field.name for field in dataclasses.fields(HanabiSettings))
    per_world_settings: Mapping[str, str] = {"random_start_player": "random_start_player"}

    def ids(self) -> Sequence[str]:
        return list(GAMES)

    def owns(self, id: str) -> bool:
        return _ID.fullmatch(id) is not None

    def given(self, id: str) -> Sequence[str]:
        name, written = _split(id)
        return list(parse_settings(GAMES[name], written)) if written else []

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        name, written = _split(id)
        parsed = parse_settings(GAMES[name], written) if written else {}
        for given in parsed.keys() & settings.keys():
            raise InputError(f"the setting '{given}' is both in the id and an argument: give it once")
        return _define(name, make_settings(GAMES[name], {**parsed, **settings}))


@functools.lru_cache(maxsize=64)
def settings_of(id: str) -> HanabiSettings:
    """The settings of a game by its id."""
    name, written = _split(id)
    settings: HanabiSettings = make_settings(GAMES[name], parse_settings(GAMES[name], written) if written else {})
    return settings


def _split(id: str) -> tuple[str, str]:
    """An id without its settings, and the text of the settings."""
    match = _ID.fullmatch(id)
    assert match is not None
    return match["name"], match["settings"] or ""


@functools.lru_cache(maxsize=64)
def _define(id: str, settings: HanabiSettings) -> Definition:
    module = importlib.import_module("worldloom.envs.hanabi.game")
    definition: Definition = module.define(with_settings(id, settings), settings)
    return definition
