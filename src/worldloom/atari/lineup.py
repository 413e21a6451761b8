"""Which games a batch plays: their ROMs, what is known of them, and both as the console's kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worldloom.atari import roms
from worldloom.atari.cartridge import cartridge
from worldloom.atari.console import Entry, Shelf, Slot, shelve
from worldloom.atari.games import ALL_ACTIONS, Game, find_game, game_of_rom
from worldloom.atari.settings import Settings
from worldloom.core.errors import InputError

MOST_LINES, MOST_LINES_PAL = 290, 342
LEAST_RESISTANCE = 27_450
SWITCHES = 0x3F
"""The console's switches as bits of a port: colour, nothing pressed, both difficulties at B."""
PADDLES_AT_THE_RIGHT = ("pong", "warlords")
_CHANCE = np.random.RandomState(4753849).randint(0, 2**32, size=256, dtype=np.uint64)
"""The numbers that ALE fills memory with when a console is switched on."""
TIMER_DRAW = 132


@dataclass(frozen=True)
class Title:
    """One game of a batch.

    Attributes:
        rom: The file.
        game: Its row in the table of games; None for a ROM that is not in it, which has no rules.
        mode, difficulty: The variant that is played.
    """

    rom: roms.Rom
    game: Game | None
    mode: int
    difficulty: int

    @property
    def name(self) -> str:
        """Its id without the version, such as ``MsPacman``; the name of the file for a ROM that is not in the table."""
        return Path(self.rom.name).stem if self.game is None else self.game.id

    def choices(self, settings: Settings, several: bool) -> tuple[int, ...]:
        """What the agent's choices press, as actions of the console; ``several`` games share one list of all 18."""
        if self.game is None:
            return ALL_ACTIONS
        if settings.full_action_space or several:
            return tuple(action if action in self.game.legal else 0 for action in ALL_ACTIONS)
        return self.game.actions


def titles(names: Sequence[str], settings: Settings) -> tuple[Title, ...]:
    """The games that ``names`` name: as ``ms_pacman`` or ``MsPacman-v5``, or by the path of a ROM."""
    if not names:
        raise InputError("an Atari world plays one game or more: name them")
    return tuple(_title(name, settings) for name in names)


def _title(name: str, settings: Settings) -> Title:
    rom = roms.find(name if is_path(name) else find_game(name).name)
    game = game_of_rom(rom.md5)
    mode, difficulty = _variant("mode", settings.mode, () if game is None else game.modes, rom), 0
    difficulty = _variant("difficulty", settings.difficulty, range(4) if game is None else game.difficulties, rom)
    return Title(rom, game, mode, difficulty)


def is_path(name: str) -> bool:
    """Whether ``name`` is the path of a ROM, and no name of a game."""
    return Path(name).suffix.lower() in (".bin", ".a26", ".rom")


def _variant(what: str, wanted: int | None, there: Sequence[int], rom: roms.Rom) -> int:
    """The mode or difficulty that is asked for, or the first that there is."""
    if wanted is None:
        return there[0] if there else 0
    if wanted not in there:
        raise InputError(f"{rom.name} has no {what} {wanted}: choose one of {', '.join(map(str, there)) or 'none'}, or leave it out")
    return wanted


def on_shelf(found: Sequence[Title]) -> Shelf:
    """The games as the kernels take them."""
    return shelve([_entry(title) for title in found])


def _entry(title: Title) -> Entry:
    game, board = title.game, cartridge(title.rom.image)
    pal = game is not None and game.television == "PAL"
    numbers = {
        Slot.SLICES: board.slices,
        Slot.KIND: int(board.kind),
        Slot.RAM_BYTES: board.ram_bytes,
        Slot.RULES: -1 if game is None else game.number,
        Slot.FIRST_LINE: 34 if game is None else game.top,
        Slot.HEIGHT: 210 if game is None else game.height,
        Slot.MOST_LINES: MOST_LINES_PAL if pal else MOST_LINES,
        Slot.COMBS: int(game is None or game.blanks),
        Slot.LEFT: int(game is not None and game.paddles),
        Slot.RIGHT: int(game is not None and game.name in PADDLES_AT_THE_RIGHT),
        Slot.SWAP_PORTS: int(game is not None and game.swapped_ports),
        Slot.SWAP_PADDLES: int(game is not None and game.swapped_paddles),
        Slot.SWITCHES: SWITCHES + 64 * title.difficulty,
        Slot.PADDLE_LEAST: LEAST_RESISTANCE,
        Slot.PADDLE_MOST: 790_196 if game is None else game.paddle_limit,
        Slot.TIMER: 25 + int(_CHANCE[TIMER_DRAW]) % 75,
        Slot.FORMAT: int(pal),
    }
    power_on = _CHANCE[:128].astype(np.uint8).tobytes() + bytes(board.ram_bytes)
    return Entry(board.words, numbers, power_on)
