"""Ids of Atari worlds, and their resolution to definitions.

``Pong-v5`` has EnvPool's settings, ``ALE/Pong-v5`` those of Gymnasium. Further settings follow a colon, as in
``Pong-v5:frame_skip=2,noop_max=1``. A plus joins several games: ``Pong-v5+Breakout-v5``. The path of a ROM stands for
its game. Ids such as ``CombatPlane-v5`` imply several players. Legacy ids such as ``PongNoFrameskip-v4`` and
``Pong-ramDeterministic-v0`` are ``ALE/Pong-v5`` with the settings they stood for.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from worldloom.atari.cartridges.roms import is_path
from worldloom.atari.env import settings as choices
from worldloom.atari.games.game_table import ALE, GAMES, VERSION, base_name
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY, MULTIPLAYER_VARIANTS, find_variant
from worldloom.core.base.errors import InputError

if TYPE_CHECKING:
    from worldloom.atari.env.game_selection import GameSpec
    from worldloom.core.registry.definition import Definition


LEGACY_ID = re.compile(r"(?P<game>\w+?)(?P<ram>-ram)?(?P<skip>NoFrameskip|Deterministic)?-v(?P<version>[04])", re.ASCII)
"""Ids of Gym and Gymnasium before ``ALE/Pong-v5``."""


class AtariFamily:
    """The family of all Atari worlds."""

    name = "Atari 2600"
    settings = choices.NAMES
    per_world_settings: Mapping[str, str] = choices.CONFIGURED

    def __init__(self) -> None:
        self._definitions: dict[tuple[tuple[GameSpec, ...], choices.Settings], Definition] = {}

    @cached_property
    def _single(self) -> list[str]:
        """Ids of the games with a single-player mode."""
        return sorted(game.id for game in GAMES if game.name not in MULTIPLAYER_ONLY)

    @cached_property
    def _known(self) -> frozenset[str]:
        """All ids in lower case: EnvPool and Gymnasium differ in capitalization."""
        names = {game.id for game in GAMES} | {variant.id for variant in MULTIPLAYER_VARIANTS.values()}
        return frozenset(f"{prefix}{name}{VERSION}".lower() for prefix in ("", ALE) for name in names)

    @cached_property
    def _multiplayer_counts(self) -> dict[str, int]:
        """Number of players by lower-case id, for multiplayer-only ids."""
        variants = {variant.id: variant.players for variant in MULTIPLAYER_VARIANTS.values() if variant.implied}
        games = {game.id: find_variant(game.name).players for game in GAMES if game.name in MULTIPLAYER_ONLY}
        return {id.lower(): players for id, players in (variants | games).items()}

    def ids(self) -> Sequence[str]:
        return [f"{prefix}{id}{VERSION}" for prefix in ("", ALE) for id in self._single]

    def owns(self, id: str) -> bool:
        return any(self._knows(name) for name in _parse_id(id).names)

    def _knows(self, name: str) -> bool:
        return name.lower() in self._known or is_path(name)

    def given(self, id: str) -> list[str]:
        return list(_parse_id(id).written)

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        parts = _parse_id(id)
        names, written = parts.names, parts.written
        unknown = [name for name in names if not self._knows(name)]
        if unknown:
            near = difflib.get_close_matches(unknown[0], self.ids(), n=1)
            hint = f"did you mean {near[0]}?" if near else "give it a simulation of its own"
            raise InputError(f"a plus joins Atari games, and '{unknown[0]}' is none: {hint}")
        if len({name.startswith(ALE) for name in names}) > 1:
            raise InputError(
                "games of one batch have one set of settings, EnvPool's or Gymnasium's: "
                f"write '{ALE}' before all of them or before none"
            )
        for name in written:
            if name in settings:
                raise InputError(f"the setting '{name}' is both in the id and an argument: give it once")
        from worldloom.atari.env.game_selection import game_specs

        if len(names) == 1 and "players" not in {**written, **settings}:
            several = self._multiplayer_counts.get(base_name(names[0]).lower())
            written |= {} if several is None else {"players": several}
        explicit = {choices.ALIASES.get(name, name) for name in (*written, *settings)}
        implied = {name: value for name, value in parts.implied.items() if name not in explicit}
        resolved = choices.resolve_settings({**implied, **written, **settings}, parts.like)
        specs = game_specs([name.removeprefix(ALE) for name in names], resolved)
        key = (specs, resolved)
        if key not in self._definitions:
            from worldloom.atari.env.world import define

            self._definitions[key] = define(specs, resolved)
        return self._definitions[key]


@dataclass(frozen=True)
class ParsedId:
    """The parts of an id.

    Attributes:
        names: Games as current ids name them, or paths of ROMs.
        text: The settings after the colon.
        legacy: By name, the settings that a legacy id stands for; None for a current id.
    """

    names: list[str]
    text: str
    legacy: list[dict[str, Any] | None]

    @property
    def like(self) -> choices.Like:
        return "gymnasium" if all(name.startswith(ALE) for name in self.names) else "envpool"

    @property
    def written(self) -> dict[str, Any]:
        return choices.parse_settings(self.text) if self.text else {}

    @property
    def implied(self) -> dict[str, Any]:
        """The settings that legacy ids stand for, which must be the same for all games."""
        if any(settings != self.legacy[0] for settings in self.legacy):
            raise InputError(
                f"games of one batch have one set of settings, and older ids of {', '.join(self.names)} "
                "stand for several: write all ids in the same form"
            )
        return self.legacy[0] or {}


def _parse_id(id: str) -> ParsedId:
    head, colon, tail = id.rpartition(":")
    if not colon or ("=" not in tail and is_path(id)):  # a path may contain a colon
        head, tail = id, ""
    is_file = is_path(head) and os.path.exists(os.path.expanduser(head))
    names = [head] if is_file else head.split("+")  # a path may contain a plus
    matches = [LEGACY_ID.fullmatch(name) for name in names]
    current = [f"{ALE}{match['game']}{VERSION}" if match else name for name, match in zip(names, matches, strict=True)]
    return ParsedId(current, tail, [_legacy_settings(match) if match else None for match in matches])


def _legacy_settings(match: re.Match[str]) -> dict[str, Any]:
    """The settings of a legacy id."""
    # The shots of Space Invaders flicker and would be invisible in every fourth frame.
    fixed_skip = 3 if match["game"].lower() == "spaceinvaders" else 4
    skip = {None: (2, 5), "NoFrameskip": 1, "Deterministic": fixed_skip}[match["skip"]]
    sticky = 0.25 if match["version"] == "0" else 0.0
    return {"frame_skip": skip, "repeat_action_probability": sticky} | ({"obs_type": "ram"} if match["ram"] else {})
