"""Boot: the inputs of each frame from power-on until the game has started in the requested mode."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from worldloom.atari.emulator.inputs import BEGIN, RESET, SELECT
from worldloom.atari.games.game_table import RESET as PRESS_RESET
from worldloom.atari.games.game_table import Game, read_numbers, read_table
from worldloom.atari.games.multiplayer import MultiplayerVariant
from worldloom.core.base.errors import InputError

NOOP, FIRE, RIGHT, DOWN, UPFIRE = 0, 1, 3, 5, 10
NOOP_FRAMES, RESET_FRAMES = 60, 4
"""Frames after power-on without input, and frames with RESET."""
TABLE = Path(__file__).parents[1] / "games" / "tables" / "modes.txt"


def boot(game: Game | None, mode: int, difficulty: int = 0) -> list[int]:
    """Inputs of player A and the switches from power-on to the start of the game; None is an unknown ROM."""
    return _around([], ()) if game is None else _around(select_mode(game, mode, difficulty), game.start)


def boot_variant(variant: MultiplayerVariant) -> list[int]:
    """The same for a multiplayer variant."""
    if variant.presses is None:
        chosen = _double_dunk_menu([RIGHT])
    else:
        chosen = _press(variant.held) * variant.presses + [RESET] * RESET_FRAMES
    return _around(chosen, variant.game.start)


def _around(chosen: list[int], start: tuple[int, ...]) -> list[int]:
    """The whole boot, with the inputs ``chosen`` that select a mode and the first actions ``start`` of the game."""
    played = chosen + [RESET] * RESET_FRAMES + [RESET if action == PRESS_RESET else action for action in start]
    return [NOOP] * NOOP_FRAMES + [RESET] * RESET_FRAMES + [played[0] + BEGIN] + played[1:]


def select_mode(game: Game, mode: int, difficulty: int = 0) -> list[int]:
    """Inputs that select a mode, after a first RESET; empty for games with one mode."""
    if mode not in game.modes:
        raise InputError(f"{game.name} has no mode {mode}: choose one of {', '.join(map(str, game.modes))}")
    if game.name == "double_dunk":
        return _double_dunk(mode)
    if game.name == "video_cube":
        return _video_cube(mode)
    if game.name not in _presses():
        return []
    held, presses, words = _presses()[game.name]
    if difficulty & 2 and "right_a" in words:
        presses = read_numbers(words["right_a"])
    waits, resets = int(words.get("waits", 0)), int(words.get("resets", RESET_FRAMES))
    return [NOOP] * waits + _press(held) * presses[game.modes.index(mode)] + [RESET] * resets


def counted_boot_frames(game: Game, mode: int, difficulty: int = 0) -> int:
    """Frames of the mode selection that ALE counts as frames of the episode: those without a switch pressed."""
    return sum(pressed not in (SELECT, RESET) for pressed in select_mode(game, mode, difficulty))


@cache
def _presses() -> dict[str, tuple[int, tuple[int, ...], dict[str, str]]]:
    """By name of a game: frames that SELECT is held, presses by mode, and options."""
    rows = read_table(TABLE)
    return {
        name: (int(held), read_numbers(presses), dict(word.partition("=")[::2] for word in more.split()))
        for name, held, presses, more in rows
    }


def _press(held: int) -> list[int]:
    return [SELECT] * held + [NOOP]


def _double_dunk(mode: int) -> list[int]:
    """Lines three to six of its menu are the bits of the mode."""
    pushes = [DOWN]
    for option in range(4):
        pushes += [DOWN, RIGHT] if mode >> option & 1 else [DOWN]
    return _double_dunk_menu(pushes)


def _double_dunk_menu(pushes: list[int]) -> list[int]:
    """SELECT opens a menu: down moves to the next line, right changes a line, up with fire closes the menu."""
    return _press(2) + [frame for push in pushes for frame in (push, NOOP)] + [RESET] * RESET_FRAMES + [UPFIRE, NOOP]


def _video_cube(mode: int) -> list[int]:
    """The hundreds are the cube, which holding right increments every 16 frames; the rest is the kind of game."""
    cube, kind = divmod(mode, 100)
    return _press(2) * (0, 11, 44)[kind] + [RESET] * RESET_FRAMES + [RIGHT] * max(16 * cube - 17, 0)
