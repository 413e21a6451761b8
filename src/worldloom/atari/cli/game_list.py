"""The list of games of ``worldloom list --atari``."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from worldloom.atari.cartridges import roms
from worldloom.atari.games.game_table import GAMES, Game
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY
from worldloom.core.base.errors import InputError


def describe_games() -> tuple[list[dict[str, Any]], str]:
    """A report of every game, and a sentence about missing ROMs; empty if there are none."""
    try:
        files, problem = {rom.md5: str(rom.source) for rom in roms.available() if rom.game is not None}, ""
    except InputError as error:
        files, problem = {}, str(error)
    games = [_describe_game(game, files.get(game.md5)) for game in GAMES]
    missing = sum(not game["available"] for game in games)
    if not missing:
        return games, ""
    return games, problem or f"{missing} of {len(games)} games lack their ROM: {roms.HOW_TO_GET}"


def _describe_game(game: Game, rom: str | None) -> dict[str, Any]:
    """The report of one game and of the file of its ROM."""
    return {
        "id": f"{game.id}-v5",
        "game": game.name,
        "actions": len(game.actions),
        "lives": game.lives,
        "modes": list(game.modes),
        "difficulties": list(game.difficulties),
        "television": game.television,
        "height": game.height,
        "rom": rom,
        "available": rom is not None,
    }


def games_table(games: list[dict[str, Any]]) -> Table:
    """The reports of :func:`describe_games` as a table."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("game", no_wrap=True)  # ids are copied from here
    for heading in ("actions", "lives", "modes", "difficulties"):
        table.add_column(heading, justify="right")
    table.add_column("TV")
    table.add_column("ROM")
    for game in games:
        counts = (game["actions"], game["lives"], len(game["modes"]), len(game["difficulties"]))
        table.add_row(game["id"], *map(str, counts), game["television"], "found" if game["available"] else "missing")
    return table


def games_summary() -> str:
    """One sentence for the list of all worlds."""
    return (
        f"Atari 2600: {len(GAMES) - len(MULTIPLAYER_ONLY)} games, such as Pong-v5 or ALE/Pong-v5, "
        f"and {len(MULTIPLAYER_ONLY)} multiplayer-only games; "
        "`worldloom list --atari` lists them, `worldloom roms` their ROMs."
    )
