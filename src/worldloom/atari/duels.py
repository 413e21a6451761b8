"""Games of two players or four: which variant of a game, how the console comes to it, and who judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.atari.games import Game, bare, find_game, read_table
from worldloom.core.errors import InputError

TABLE = Path(__file__).parent / "tables" / "duels.txt"
FOR_SEVERAL = ("combat", "joust", "maze_craze", "warlords")
"""Games that nobody plays alone."""


@dataclass(frozen=True)
class Duel:
    """A game for several.

    Attributes:
        name: As PettingZoo names it.
        game: Whose ROM it is.
        players: 2 or 4.
        presses: Of SELECT, after the console's RESET; None where the game has a menu.
        held: Frames that each press lasts.
        rule: The name of the rule that judges it.
    """

    name: str
    game: Game
    players: int
    presses: int | None
    held: int
    rule: str

    @property
    def id(self) -> str:
        """The name of its environment without the version: that of its game, or one of its own such as ``CombatPlane``."""
        return self.game.id if self.name == self.game.name else "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def implied(self) -> bool:
        """Whether its id alone says how many play: nobody plays alone what has that id."""
        return self.name != self.game.name or self.game.name in FOR_SEVERAL


def _duel(cells: list[str]) -> Duel:
    name, game, players, presses, held, rule = cells
    return Duel(name, find_game(game), int(players), None if presses == "menu" else int(presses), int(held), rule)


DUELS: dict[str, Duel] = {duel.name: duel for duel in map(_duel, read_table(TABLE))}


_IDS = {duel.id.lower(): duel for duel in DUELS.values()}


def duel_of(name: str) -> Duel | None:
    """The duel of that name or id: ``combat_plane``, ``CombatPlane`` or ``CombatPlane-v5``; None where there is none."""
    return DUELS.get(name) or _IDS.get(bare(name).lower())


def find_duel(name: str) -> Duel:
    """The duel of that name or id, or the first one of the game with that name or id."""
    known = duel_of(name)
    if known is not None:
        return known
    game = find_game(name)
    for duel in sorted(DUELS.values(), key=lambda duel: duel.name != game.name):
        if duel.game is game:
            return duel
    two, four = (", ".join(sorted(duel.id for duel in DUELS.values() if duel.players == players)) for players in (2, 4))
    raise InputError(f"{name} is for one player: leave players out; two can play {two}, and four {four}")
