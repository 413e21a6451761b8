"""Games of two players against each other: which variant of a game, how the console comes to it, and who judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.atari.games import Game, find_game, read_table
from worldloom.core.errors import InputError

TABLE = Path(__file__).parent / "tables" / "duels.txt"


@dataclass(frozen=True)
class Duel:
    """A game for two: what one wins, the other loses.

    Attributes:
        name: As PettingZoo names it.
        game: Whose ROM it is.
        presses: Of SELECT, after the console's RESET; None where the game has a menu.
        held: Frames that each press lasts.
        rule: The name of the rule that judges it, for the first player.
    """

    name: str
    game: Game
    presses: int | None
    held: int
    rule: str


def _duel(cells: list[str]) -> Duel:
    name, game, presses, held, rule = cells
    return Duel(name, find_game(game), None if presses == "menu" else int(presses), int(held), rule)


DUELS: dict[str, Duel] = {duel.name: duel for duel in map(_duel, read_table(TABLE))}


def find_duel(name: str) -> Duel:
    """The duel of that name, or the first one of the game with that name or id."""
    if name in DUELS:
        return DUELS[name]
    game = find_game(name)
    for duel in sorted(DUELS.values(), key=lambda duel: duel.name != game.name):
        if duel.game is game:
            return duel
    games = sorted({duel.game.id for duel in DUELS.values()})
    raise InputError(f"two players cannot play {name} against each other; they can play {', '.join(games)}")
