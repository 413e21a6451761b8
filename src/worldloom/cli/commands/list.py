"""``worldloom list``: the worlds there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from worldloom.atari.cartridges import roms
from worldloom.atari.games.game_table import GAMES, Game
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY
from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Field, type_name
from worldloom.core.model.population import UpTo
from worldloom.core.registry.registry import Definition, registered, unavailable
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Switch


@dataclass
class List:
    """List every world: what it is, its entities, its actions and its observations, or what it lacks."""

    atari: Switch = False
    """List the games of the Atari 2600 instead, which are many."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        if self.atari:
            return self._list_games()
        worlds = [describe(made) for made in registered().values()]
        worlds += [_describe_unavailable(id, reason) for id, reason in unavailable().items()]
        if self.json:
            console.print_json(worlds)
            return 0
        console.out().print(_table([world for world in worlds if world["available"]]))
        for world in worlds:
            if not world["available"]:
                console.out().print(f"{world['id']}: {world['doc']}", soft_wrap=True, markup=False)
        known = f"{len(GAMES) - len(MULTIPLAYER_ONLY)} games, such as Pong-v5 or ALE/Pong-v5, and {len(MULTIPLAYER_ONLY)} more that nobody plays alone"
        atari = f"Atari 2600: {known}; `worldloom list --atari` lists them, `worldloom roms` their ROMs."
        console.out().print(atari, soft_wrap=True)
        return 0

    def _list_games(self) -> int:
        sources, problem = _rom_files()
        games = [describe_game(game, sources.get(game.md5)) for game in GAMES]
        if self.json:
            console.print_json(games)
            return 0
        console.out().print(_games_table(games))
        lacking = sum(not game["available"] for game in games)
        if lacking:
            console.out().print(
                problem or f"{lacking} of {len(games)} games lack their ROM: {roms.HOW_TO_GET}",
                soft_wrap=True,
                markup=False,
            )
        return 0


def describe(made: Definition) -> dict[str, Any]:
    """One world in words."""
    return {
        "id": made.id,
        "doc": made.doc,
        "entities": {
            kind.__name__: str(count) if isinstance(count, UpTo) else count for kind, count in made.entities.items()
        },
        "actions": {name: repr(field.space) for name, (_, field) in made.actions().items()},
        "observations": {name: _shape(field) for name, (_, field) in made.observations().items()},
        "max_steps": made.max_steps,
        "available": True,
    }


def describe_game(game: Game, rom: str | None) -> dict[str, Any]:
    """One game of the Atari 2600 in words, and the file of its ROM."""
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


def _rom_files() -> tuple[dict[str, str], str]:
    """The files of the known ROMs that are found, by MD5, and what kept them from being looked for."""
    try:
        return {rom.md5: str(rom.source) for rom in roms.available() if rom.game is not None}, ""
    except InputError as error:
        return {}, str(error)


def _describe_unavailable(id: str, reason: str) -> dict[str, Any]:
    """One world that cannot be made yet, in the same words; what it lacks stands in the place of what it is."""
    return {
        "id": id,
        "doc": f"not available: {reason}",
        "entities": {},
        "actions": {},
        "observations": {},
        "max_steps": 0,
        "available": False,
    }


def _shape(field: Field) -> str:
    """``float (4)``: the type and the shape of what one entity sees."""
    scalar = type_name(getattr(field.dtype, "_wp_scalar_type_", field.dtype))
    return f"{scalar} ({', '.join(map(str, field.value_shape))})" if field.value_shape else scalar


def _table(worlds: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("world", no_wrap=True)  # to be copied
    for heading in ("what it is", "entities per world", "actions", "observations"):
        table.add_column(heading, overflow="fold")
    for world in worlds:
        entities = "\n".join(f"{count} {kind}" for kind, count in world["entities"].items())
        table.add_row(world["id"], world["doc"], entities, _lines(world["actions"]), _lines(world["observations"]))
    return table


def _lines(named: dict[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in named.items())


def _games_table(games: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("game", no_wrap=True)  # to be copied
    for heading in ("actions", "lives", "modes", "difficulties"):
        table.add_column(heading, justify="right")
    table.add_column("TV")
    table.add_column("ROM")
    for game in games:
        counts = (game["actions"], game["lives"], len(game["modes"]), len(game["difficulties"]))
        table.add_row(game["id"], *map(str, counts), game["television"], "found" if game["available"] else "missing")
    return table
