"""Game selection: from names and settings to ROMs, game specifications and a ROM bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from worldloom.atari.cartridges import roms
from worldloom.atari.cartridges.cartridge import cartridge
from worldloom.atari.cartridges.power_on import memory_at_power_on, timer_at_power_on
from worldloom.atari.emulator.emulator_batch import EmulatorBatch, emulation_result
from worldloom.atari.emulator.pack_roms import pack_roms
from worldloom.atari.emulator.rom_bank import RomBank, RomEntry, Slot
from worldloom.atari.env.settings import Settings
from worldloom.atari.frames.television import FIRST_LINE, TRIAL_FRAMES, Format, Television, television_of
from worldloom.atari.games.game_table import ALL_ACTIONS, Game
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY, MultiplayerVariant, find_variant, variant_of
from worldloom.atari.games.reward_rules_cpp import number_of
from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Shard

MAX_LINES = {Format.NTSC: 291, Format.PAL: 343, Format.SECAM: 343}
"""Scanlines after which a frame without VSYNC ends: 290 or 342 are still allowed."""
MIN_RESISTANCE, MAX_RESISTANCE = 27_450, 790_196
SWITCHES = 0x3F
"""Switches as bits of SWCHB: colour, nothing pressed, both difficulties at B."""
DIFFICULTY_SHIFT = 6
"""Bit of the left difficulty switch; the right one is the next bit."""
RIGHT_PORT_PADDLES = ("pong", "warlords")
CYCLES_IN_LINE = 76


@dataclass(frozen=True)
class GameSpec:
    """One game of a batch.

    Attributes:
        rom: The ROM file.
        game: Row of the game table; None for an unknown ROM, which has no reward rule.
        television: Standard and visible scanlines.
        mode, difficulty: Mode and difficulty of the game.
        variant: Multiplayer variant, which replaces ``mode``; None for one player.
    """

    rom: roms.Rom
    game: Game | None
    television: Television
    mode: int
    difficulty: int
    variant: MultiplayerVariant | None = None

    @property
    def id(self) -> str:
        """Its id: ``MsPacman-v5``, or the path of an unknown ROM."""
        if self.game is None:
            return str(self.rom.source.resolve())
        return f"{self.game.id if self.variant is None else self.variant.id}-v5"

    def choices(self, settings: Settings, several: bool) -> tuple[int, ...]:
        """The console action of each agent action; ``several`` games share one list of all 18."""
        if self.game is None:
            return ALL_ACTIONS
        if settings.full_action_space or settings.continuous or several:
            return tuple(action if action in self.game.legal else 0 for action in ALL_ACTIONS)
        return self.game.actions


def game_specs(names: Sequence[str], settings: Settings) -> tuple[GameSpec, ...]:
    """The games with these names: ``ms_pacman``, ``MsPacman-v5``, or the path of a ROM."""
    if not names:
        raise InputError("an Atari world needs at least one game: name one")
    if settings.players > 1 and len(names) > 1:
        raise InputError("a multiplayer world has one game: name one, or leave players out")
    return tuple(_game_spec(name, settings) for name in names)


def _game_spec(name: str, settings: Settings) -> GameSpec:
    named = None if roms.is_path(name) else variant_of(name)
    rom = roms.find(name if named is None else named.game.name)
    game = rom.game
    mode = _chosen_option("mode", settings.mode, (0,) if game is None else game.modes, rom)
    difficulty = _chosen_option("difficulty", settings.difficulty, range(4) if game is None else game.difficulties, rom)
    if settings.players == 1:
        _require_alone(game, named)
    variant = _variant_for(rom, named, settings) if settings.players > 1 else None
    standard = None if settings.television == "auto" else Format[settings.television.upper()]
    television = television_of(game, _line_counts(rom) if game is None and standard is None else (), standard)
    return GameSpec(rom, game, television, mode, difficulty, variant)


def _require_alone(game: Game | None, named: MultiplayerVariant | None) -> None:
    """InputError if ``named``, or every variant of ``game``, is for several players."""
    if game is not None and (game.name in MULTIPLAYER_ONLY or (named is not None and named.implied)):
        variant = named or find_variant(game.name)
        raise InputError(
            f"{(named or game).id}-v5 is for {variant.players} players: give players={variant.players}, "
            "and name no other game"
        )


def _variant_for(rom: roms.Rom, named: MultiplayerVariant | None, settings: Settings) -> MultiplayerVariant:
    if settings.mode is not None:
        raise InputError("the mode of a multiplayer game is that of its variant: leave mode out, or players")
    if rom.game is None:
        raise InputError(f"{rom.name} has no known multiplayer variant: name a game of the table, or leave players out")
    variant = named or find_variant(rom.game.name)
    if variant.players != settings.players:
        raise InputError(
            f"{variant.id}-v5 is for {variant.players} players, not {settings.players}: "
            f"leave players out, or give players={variant.players}"
        )
    return variant


def _chosen_option(what: str, requested: int | None, options: Sequence[int], rom: roms.Rom) -> int:
    """The requested mode or difficulty, or the first one."""
    if requested is None:
        return options[0]
    if requested not in options:
        raise InputError(
            f"{rom.name} has no {what} {requested}: choose one of {', '.join(map(str, options))}, or leave it out"
        )
    return requested


def rom_bank_of(specs: Sequence[GameSpec]) -> RomBank:
    """The ROM bank of these games."""
    return pack_roms([_entry(spec.rom, spec.game, spec.television, spec.difficulty, spec.variant) for spec in specs])


def _entry(
    rom: roms.Rom, game: Game | None, television: Television, difficulty: int, variant: MultiplayerVariant | None = None
) -> RomEntry:
    board = cartridge(rom.image)
    numbers = {
        Slot.SLICES: board.slices,
        Slot.KIND: int(board.kind),
        Slot.RAM_BYTES: board.ram_bytes,
        Slot.RULES: -1 if game is None else number_of(game.name if variant is None else variant.rule),
        Slot.FIRST_LINE: television.first_line,
        Slot.HEIGHT: television.height,
        Slot.MAX_LINES: MAX_LINES[television.format],
        Slot.COMBS: int(game is None or game.blanks),
        Slot.LEFT: int(game is not None and game.paddles),
        Slot.RIGHT: int(game is not None and game.name in RIGHT_PORT_PADDLES),
        Slot.SWAP_PORTS: int(game is not None and game.swapped_ports),
        Slot.SWAP_PADDLES: int(game is not None and game.swapped_paddles),
        Slot.SWITCHES: SWITCHES | difficulty << DIFFICULTY_SHIFT,
        Slot.PADDLE_MIN: MIN_RESISTANCE,
        Slot.PADDLE_MAX: MAX_RESISTANCE if game is None else game.paddle_limit,
        Slot.TIMER: timer_at_power_on(board.kind),
        Slot.FORMAT: int(television.format),
        Slot.PLAYERS: 1 if variant is None else variant.players,
    }
    memory = bytearray(memory_at_power_on(board.kind))
    for cell, value in () if game is None else game.memory:
        memory[cell] = value
    return RomEntry(board.words, numbers, bytes(memory))


def _line_counts(rom: roms.Rom) -> list[int]:
    """Scanlines of the first frames of an unknown ROM on an NTSC console."""
    rom_bank = pack_roms([_entry(rom, None, Television(Format.NTSC, FIRST_LINE, Format.NTSC.height), 0)])
    device = wp.get_device("cpu")
    emulator, machine = EmulatorBatch(rom_bank, 1, device), wp.array(rom_bank.power_on, dtype=wp.uint8, device=device)
    game, frames = wp.zeros(1, dtype=wp.int32, device=device), wp.ones(1, dtype=wp.int32, device=device)
    pressed, pictures = (
        wp.zeros(shape, dtype=wp.uint8, device=device) for shape in ((1, 1, 2), (1, 2, rom_bank.height, 160))
    )
    shard, result, counts = Shard(0, 1, None, True, device, None), emulation_result(1, device), []
    for _ in range(TRIAL_FRAMES):
        emulator.emulate(shard, machine, game, pressed, frames, None, result, pictures, window=0)
        counts.append(int(machine.numpy()[0, :4].view(np.int32)[0]) // CYCLES_IN_LINE)
    return counts
