"""The ids of Atari worlds, and how each becomes one.

``Pong-v5`` has EnvPool's settings and ``ALE/Pong-v5`` Gymnasium's. Others follow a colon, as in ``Pong-v5:frame_skip=2,noop_max=1``, and
several games are joined by a plus: ``Pong-v5+Breakout-v5``. The path of a ROM stands for its game. ``CombatPlane-v5`` and the like are for several
players, without being told. ``PongNoFrameskip-v4``, ``Pong-ramDeterministic-v0`` and the others that there were before are ``ALE/Pong-v5`` with the settings
they stood for.
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
    from worldloom.core.registry.registry import Definition


LEGACY_ID = re.compile(r"(?P<game>\w+?)(?P<ram>-ram)?(?P<skip>NoFrameskip|Deterministic)?-v(?P<version>[04])", re.ASCII)
"""Gym's and Gymnasium's ids from before ``ALE/Pong-v5``."""


class AtariFamily:
    """All Atari worlds."""

    name = "Atari 2600"
    settings = choices.NAMES
    per_world_settings: Mapping[str, str] = choices.CONFIGURED

    def __init__(self) -> None:
        self._made: dict[tuple[tuple[GameSpec, ...], choices.Settings], Definition] = {}

    @cached_property
    def _single(self) -> list[str]:
        """The games that one agent can play, by id."""
        return sorted(game.id for game in GAMES if game.name not in MULTIPLAYER_ONLY)

    @cached_property
    def _known(self) -> frozenset[str]:
        """All ids in small letters: EnvPool and Gymnasium do not agree on capitals."""
        names = {game.id for game in GAMES} | {variant.id for variant in MULTIPLAYER_VARIANTS.values()}
        return frozenset(f"{prefix}{name}{VERSION}".lower() for prefix in ("", ALE) for name in names)

    @cached_property
    def _multiplayer_counts(self) -> dict[str, int]:
        """How many play, by ids in small letters, where nobody plays alone."""
        found = {variant.id: variant.players for variant in MULTIPLAYER_VARIANTS.values() if variant.implied}
        return {
            id.lower(): players
            for id, players in (
                found | {game.id: find_variant(game.name).players for game in GAMES if game.name in MULTIPLAYER_ONLY}
            ).items()
        }

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
        strange = [name for name in names if not self._knows(name)]
        if strange:
            near = difflib.get_close_matches(strange[0], self.ids(), n=1)
            hint = f"did you mean {near[0]}?" if near else "give it a simulation of its own"
            raise InputError(f"a plus joins Atari games, and '{strange[0]}' is none: {hint}")
        if len({name.startswith(ALE) for name in names}) > 1:
            raise InputError(
                f"games of one batch have one set of settings, EnvPool's or Gymnasium's: write '{ALE}' before all of them or before none"
            )
        for name in written:
            if name in settings:
                raise InputError(f"the setting '{name}' is in the id and beside it: give it once")
        from worldloom.atari.env.game_selection import game_specs

        if len(names) == 1 and "players" not in {**written, **settings}:
            several = self._multiplayer_counts.get(base_name(names[0]).lower())
            written |= {} if several is None else {"players": several}
        said = {choices.ALIASES.get(name, name) for name in (*written, *settings)}
        chosen = choices.resolve_settings(
            {**{name: value for name, value in parts.implied.items() if name not in said}, **written, **settings},
            parts.like,
        )
        found = game_specs([name.removeprefix(ALE) for name in names], chosen)
        key = (found, chosen)
        if key not in self._made:
            from worldloom.atari.env.world import define

            self._made[key] = define(found, chosen)
        return self._made[key]


@dataclass(frozen=True)
class ParsedId:
    """What an id says.

    Attributes:
        names: The games, as newer ids have them, or paths of ROMs.
        text: The settings that follow a colon.
        older: By name, the settings that an older id stands for; None where it is none.
    """

    names: list[str]
    text: str
    older: list[dict[str, Any] | None]

    @property
    def like(self) -> choices.Like:
        return "gymnasium" if all(name.startswith(ALE) for name in self.names) else "envpool"

    @property
    def written(self) -> dict[str, Any]:
        return choices.read(self.text) if self.text else {}

    @property
    def implied(self) -> dict[str, Any]:
        """The settings that older ids stand for, which must be those of all games."""
        if any(settings != self.older[0] for settings in self.older):
            raise InputError(
                f"games of one batch have one set of settings, and older ids of {', '.join(self.names)} stand for several: write them all alike"
            )
        return self.older[0] or {}


def _parse_id(id: str) -> ParsedId:
    head, colon, tail = id.rpartition(":")
    if not colon or ("=" not in tail and is_path(id)):  # a path may have a colon of its own
        head, tail = id, ""
    names = (
        [head] if is_path(head) and os.path.exists(os.path.expanduser(head)) else head.split("+")
    )  # a path may have a plus of its own
    found = [LEGACY_ID.fullmatch(name) for name in names]
    newer = [f"{ALE}{older['game']}{VERSION}" if older else name for name, older in zip(names, found, strict=True)]
    return ParsedId(newer, tail, [_legacy_settings(older) if older else None for older in found])


def _legacy_settings(older: re.Match[str]) -> dict[str, Any]:
    """The settings of an older id."""
    often = (
        3 if older["game"].lower() == "spaceinvaders" else 4
    )  # whose shots flicker, and would not be seen in every fourth frame
    skip = {None: (2, 5), "NoFrameskip": 1, "Deterministic": often}[older["skip"]]
    sticky = 0.25 if older["version"] == "0" else 0.0
    return {"frame_skip": skip, "repeat_action_probability": sticky} | ({"obs_type": "ram"} if older["ram"] else {})
