"""The documentation page of the games, generated from their tables.

``python -m worldloom.atari.games.games_page > docs/worlds/atari_games.md`` writes it.
"""

from __future__ import annotations

import sys

from worldloom.atari.games.game_table import ALL_ACTIONS, GAMES, Game
from worldloom.atari.games.multiplayer import MULTIPLAYER_VARIANTS, MultiplayerVariant

_HEAD = """# The games of the Atari 2600

Generated from the tables in `src/worldloom/atari/games/tables` by `python -m worldloom.atari.games.games_page`.
[Atari 2600](atari.md) describes the settings.

The 104 games of the Arcade Learning Environment, and four multiplayer-only games.

- **Actions** is the minimal action set, by ALE's numbers: 0 no-op, 1 fire, 2 up, 3 right, 4 left, 5 down, 6 up right,
  7 up left, 8 down right, 9 down left, and 10 to 17 the eight directions with fire. Skiing and LostLuggage have no fire
  button.
- **Lives** is the number at the start in the default mode, as ALE counts them; 0 where it does not.
- **Modes** and **difficulties** are the values of `mode` and `difficulty`; the first one is the default. Bit 0 of a
  difficulty is the left switch at A, bit 1 the right one.
- **Start** is the input of the first frames of an episode, before the agent's own actions.
- **Multiplayer** marks the games with a variant for two or four players; [its id](#multiplayer-variants) is below.

| id | ROM | cartridge | television | actions | lives | modes | difficulties | start | multiplayer |
|---|---|---|---|---|---|---|---|---|---|
"""
_SEVERAL = """
## Multiplayer variants

Combat, Joust, Maze Craze and Warlords have no single-player mode.

| PettingZoo's name | id | players |
|---|---|---|
"""
_NAMES = {0: "no-op", 1: "fire", 2: "up", 3: "right", 4: "left", 5: "down", 10: "up + fire", 40: "RESET"}


def games_page() -> str:
    """The whole page, as Markdown."""
    multiplayer = {variant.game.name for variant in MULTIPLAYER_VARIANTS.values()}
    return _HEAD + "".join(f"| {' | '.join(_cells(game, game.name in multiplayer))} |\n" for game in GAMES) + _tail()


def _cells(game: Game, multiplayer: bool) -> list[str]:
    actions = "all 18" if game.actions == ALL_ACTIONS else short(game.actions)
    first = ", ".join(
        f"{times} frames {_NAMES[action]}" if times > 1 else _NAMES[action] for action, times in _runs(game.start)
    )
    kind = f"{game.cartridge}, paddles" if game.paddles else game.cartridge
    numbers = [str(game.lives), short(game.modes), short(game.difficulties)]
    return [
        f"`{game.id}-v5`",
        f"`{game.name}`",
        kind,
        f"{game.television}, {game.height} lines",
        actions,
        *numbers,
        first or "",
        "yes" if multiplayer else "",
    ]


def _tail() -> str:
    return _SEVERAL + "".join(
        f"| `{variant.name}` | {_id(variant)} | {variant.players} |\n" for variant in MULTIPLAYER_VARIANTS.values()
    )


def _id(variant: MultiplayerVariant) -> str:
    """The id of a multiplayer world."""
    return f"`{variant.id}-v5`" if variant.implied else f"`{variant.id}-v5` with `players={variant.players}`"


def short(numbers: tuple[int, ...]) -> str:
    """Increasing numbers as ranges: 0-2, 5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    text = ", ".join("-".join(map(str, span)) for span in spans)
    return text if len(spans) <= 12 else f"{', '.join(text.split(', ')[:3])}, … {text.split(', ')[-1]}"


def _runs(actions: tuple[int, ...]) -> list[tuple[int, int]]:
    """Run-length encoding of actions."""
    runs: list[tuple[int, int]] = []
    for action in actions:
        if runs and runs[-1][0] == action:
            runs[-1] = (action, runs[-1][1] + 1)
        else:
            runs.append((action, 1))
    return runs


if __name__ == "__main__":
    sys.stdout.write(games_page())
