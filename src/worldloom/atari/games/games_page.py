"""The page of the documentation that lists the games, written from their tables: ``python -m worldloom.atari.games.games_page > docs/worlds/atari_games.md``."""

from __future__ import annotations

import sys

from worldloom.atari.games.game_table import ALL_ACTIONS, GAMES, Game
from worldloom.atari.games.multiplayer import MULTIPLAYER_VARIANTS, MultiplayerVariant

_HEAD = """# The games of the Atari 2600

Written from the tables in `src/worldloom/atari/games/tables` by `python -m worldloom.atari.games.games_page`. [Atari 2600](atari.md) says what the settings are.

The 104 games of the Arcade Learning Environment, and four that nobody plays alone.

- **Actions** are the minimal ones, by ALE's numbers: 0 nothing, 1 the button, 2 up, 3 right, 4 left, 5 down, 6 up right, 7 up left,
  8 down right, 9 down left, and 10 to 17 all but the first two again with the button. Skiing and LostLuggage take no button.
- **Lives** are those at the start in the first mode, as ALE counts them; 0 where it does not.
- **Modes** and **difficulties** are what `mode` and `difficulty` take; the first one is the usual. Bit 0 of a difficulty is the left
  switch at A, bit 1 the right one.
- **First** is what is pressed in the first frames of an episode, before the agent's own actions.
- **Several** are the games that have a variant for two or four; [its id](#for-several-players) stands below.

| id | ROM | cartridge | television | actions | lives | modes | difficulties | first | several |
|---|---|---|---|---|---|---|---|---|---|
"""
_SEVERAL = """
## For several players

Nobody plays Combat, Joust, Maze Craze and Warlords alone.

| PettingZoo's name | id | players |
|---|---|---|
"""
_NAMES = {0: "nothing", 1: "button", 2: "up", 3: "right", 4: "left", 5: "down", 10: "up + button", 40: "RESET"}


def games_page() -> str:
    """The whole page, as Markdown."""
    two = {variant.game.name for variant in MULTIPLAYER_VARIANTS.values()}
    return _HEAD + "".join(f"| {' | '.join(_cells(game, game.name in two))} |\n" for game in GAMES) + _tail()


def _cells(game: Game, two: bool) -> list[str]:
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
        "yes" if two else "",
    ]


def _tail() -> str:
    return _SEVERAL + "".join(
        f"| `{variant.name}` | {_way(variant)} | {variant.players} |\n" for variant in MULTIPLAYER_VARIANTS.values()
    )


def _way(variant: MultiplayerVariant) -> str:
    """How a world of several players is named."""
    return f"`{variant.id}-v5`" if variant.implied else f"`{variant.id}-v5` with `players={variant.players}`"


def short(numbers: tuple[int, ...]) -> str:
    """Numbers that rise, with spans: 0-2, 5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    text = ", ".join("-".join(map(str, span)) for span in spans)
    return text if len(spans) <= 12 else f"{', '.join(text.split(', ')[:3])}, … {text.split(', ')[-1]}"


def _runs(actions: tuple[int, ...]) -> list[tuple[int, int]]:
    """Actions in a row that are the same, and how many there are."""
    runs: list[tuple[int, int]] = []
    for action in actions:
        if runs and runs[-1][0] == action:
            runs[-1] = (action, runs[-1][1] + 1)
        else:
            runs.append((action, 1))
    return runs


if __name__ == "__main__":
    sys.stdout.write(games_page())
