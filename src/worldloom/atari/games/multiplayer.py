"""Multiplayer variants of games: number of players, mode selection and reward rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.atari.games.game_table import Game, base_name, find_game, read_table
from worldloom.core.base.errors import InputError

TABLE = Path(__file__).parent / "tables" / "multiplayer.txt"
MULTIPLAYER_ONLY = ("combat", "joust", "maze_craze", "warlords")
"""Games without a single-player mode."""


@dataclass(frozen=True)
class MultiplayerVariant:
    """A multiplayer variant of a game.

    Attributes:
        name: PettingZoo's name.
        game: The game with its ROM.
        players: 2 or 4.
        presses: Presses of SELECT after the console's RESET; None for a game with a menu.
        held: Frames of each press.
        rule: Name of its reward rule.
    """

    name: str
    game: Game
    players: int
    presses: int | None
    held: int
    rule: str

    @property
    def id(self) -> str:
        """Name of its environment without the version: that of its game, or a separate one such as ``CombatPlane``."""
        return (
            self.game.id if self.name == self.game.name else "".join(word.capitalize() for word in self.name.split("_"))
        )

    @property
    def implied(self) -> bool:
        """Whether its id implies the number of players."""
        return self.name != self.game.name or self.game.name in MULTIPLAYER_ONLY


def _read_variant(cells: list[str]) -> MultiplayerVariant:
    name, game, players, presses, held, rule = cells
    return MultiplayerVariant(
        name, find_game(game), int(players), None if presses == "menu" else int(presses), int(held), rule
    )


MULTIPLAYER_VARIANTS: dict[str, MultiplayerVariant] = {
    variant.name: variant for variant in map(_read_variant, read_table(TABLE))
}


_IDS = {variant.id.lower(): variant for variant in MULTIPLAYER_VARIANTS.values()}


def variant_of(name: str) -> MultiplayerVariant | None:
    """The variant with a name or id: ``combat_plane``, ``CombatPlane`` or ``CombatPlane-v5``; or None."""
    return MULTIPLAYER_VARIANTS.get(name) or _IDS.get(base_name(name).lower())


def find_variant(name: str) -> MultiplayerVariant:
    """The variant with a name or id, or the first variant of the game with that name or id."""
    named = variant_of(name)
    if named is not None:
        return named
    game = find_game(name)
    for variant in sorted(MULTIPLAYER_VARIANTS.values(), key=lambda variant: variant.name != game.name):
        if variant.game is game:
            return variant
    two, four = (
        ", ".join(sorted(variant.id for variant in MULTIPLAYER_VARIANTS.values() if variant.players == players))
        for players in (2, 4)
    )
    raise InputError(f"{name} is for one player: leave players out; two can play {two}, and four {four}")
