"""Which games a batch plays: their ROMs, what is known of them, and both as the console's kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from worldloom.atari.cartridges import roms
from worldloom.atari.cartridges.cartridge import cartridge
from worldloom.atari.cartridges.power_on import memory_at_power_on, timer_at_power_on
from worldloom.atari.emulator.console import EmulatorBatch, RomBank, RomEntry, Slot, emulation_result, pack_roms
from worldloom.atari.env.settings import Settings
from worldloom.atari.frames.television import FIRST_LINE, TRIAL_FRAMES, Format, Television, television_of
from worldloom.atari.games.game_table import ALL_ACTIONS, Game
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY, MultiplayerVariant, find_variant, variant_of
from worldloom.atari.games.reward_rules_cpp import number_of
from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Shard

MAX_LINES = {Format.NTSC: 291, Format.PAL: 343, Format.SECAM: 343}
"""Lines after which a frame ends that nothing else ends: 290 or 342 are not too many yet."""
MIN_RESISTANCE, MAX_RESISTANCE = 27_450, 790_196
SWITCHES = 0x3F
"""The console's switches as bits of a port: colour, nothing pressed, both difficulties at B."""
DIFFICULTY_SHIFT = 6
"""The place of the left difficulty switch among those bits; the right one follows."""
RIGHT_PORT_PADDLES = ("pong", "warlords")
CYCLES_IN_LINE = 76


@dataclass(frozen=True)
class GameSpec:
    """One game of a batch.

    Attributes:
        rom: The file.
        game: Its row in the table of games; None for a ROM that is not in it, which has no rules.
        television: What it is shown on.
        mode, difficulty: The variant that is played.
        duel: The variant for several players, which ``mode`` then says nothing about; None for one player.
    """

    rom: roms.Rom
    game: Game | None
    television: Television
    mode: int
    difficulty: int
    variant: MultiplayerVariant | None = None

    @property
    def id(self) -> str:
        """What finds it: ``MsPacman-v5``, or the path of a ROM that is not in the table."""
        if self.game is None:
            return str(self.rom.source.resolve())
        return f"{self.game.id if self.variant is None else self.variant.id}-v5"

    def choices(self, settings: Settings, several: bool) -> tuple[int, ...]:
        """What the agent's choices press, as actions of the console; ``several`` games share one list of all 18."""
        if self.game is None:
            return ALL_ACTIONS
        if settings.full_action_space or settings.continuous or several:
            return tuple(action if action in self.game.legal else 0 for action in ALL_ACTIONS)
        return self.game.actions


def game_specs(names: Sequence[str], settings: Settings) -> tuple[GameSpec, ...]:
    """The games that ``names`` name: as ``ms_pacman`` or ``MsPacman-v5``, or by the path of a ROM."""
    if not names:
        raise InputError("an Atari world plays one game or more: name them")
    if settings.players > 1 and len(names) > 1:
        raise InputError("several players play one game: name one, or leave players out")
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
    """InputError where nobody plays alone what ``named`` names, or any variant of ``game``."""
    if game is not None and (game.name in MULTIPLAYER_ONLY or (named is not None and named.implied)):
        variant = named or find_variant(game.name)
        raise InputError(
            f"{(named or game).id}-v5 is for {variant.players} players: give players={variant.players}, and name no other game beside it"
        )


def _variant_for(rom: roms.Rom, named: MultiplayerVariant | None, settings: Settings) -> MultiplayerVariant:
    if settings.mode is not None:
        raise InputError("several players play the variant of a game that is for them: leave mode out, or players")
    if rom.game is None:
        raise InputError(
            f"nothing is known about several players of {rom.name}: name a game of the table, or leave players out"
        )
    variant = named or find_variant(rom.game.name)
    if variant.players != settings.players:
        raise InputError(
            f"{variant.id}-v5 is for {variant.players} players, not {settings.players}: leave players out, or give players={variant.players}"
        )
    return variant


def _chosen_option(what: str, wanted: int | None, there: Sequence[int], rom: roms.Rom) -> int:
    """The mode or difficulty that is asked for, or the first that there is."""
    if wanted is None:
        return there[0]
    if wanted not in there:
        raise InputError(
            f"{rom.name} has no {what} {wanted}: choose one of {', '.join(map(str, there))}, or leave it out"
        )
    return wanted


def rom_bank_of(found: Sequence[GameSpec]) -> RomBank:
    """The games as the kernels take them."""
    return pack_roms(
        [_entry(title.rom, title.game, title.television, title.difficulty, title.variant) for title in found]
    )


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
    """The lines of each of the first frames of a ROM that nobody has described, tried as NTSC."""
    rom_bank = pack_roms([_entry(rom, None, Television(Format.NTSC, FIRST_LINE, Format.NTSC.height), 0)])
    device = wp.get_device("cpu")
    bench, machine = EmulatorBatch(rom_bank, 1, device), wp.array(rom_bank.power_on, dtype=wp.uint8, device=device)
    game, frames = wp.zeros(1, dtype=wp.int32, device=device), wp.ones(1, dtype=wp.int32, device=device)
    pressed, pictures = (
        wp.zeros(shape, dtype=wp.uint8, device=device) for shape in ((1, 1, 2), (1, 2, rom_bank.height, 160))
    )
    alone, told, counts = Shard(0, 1, None, True, device, None), emulation_result(1, device), []
    for _ in range(TRIAL_FRAMES):
        bench.emulate(alone, machine, game, pressed, frames, None, told, pictures, window=0)
        counts.append(int(machine.numpy()[0, :4].view(np.int32)[0]) // CYCLES_IN_LINE)
    return counts
