"""Start states of episodes: the inputs from power-on to the first step, and the states they lead to.

A start is a game, a number of no-op frames, and whether the fire button is pressed for one frame after them. Each start
has a program from power-on, and one that continues a game after a lost life.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.atari.emulator.emulator_batch import EmulationResult, EmulatorBatch, emulation_result
from worldloom.atari.emulator.inputs import WARM_UP
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.env.boot import FIRE, NOOP, boot, boot_variant
from worldloom.atari.env.game_selection import GameSpec
from worldloom.atari.env.settings import Settings
from worldloom.core.model.launch import Shard

FRAMES_PER_LAUNCH = 2
"""Frames per launch: those whose pictures can be drawn."""


@dataclass(frozen=True)
class StartPrograms:
    """All starts of a batch, in the order (game, number of no-ops, fire button).

    Attributes:
        pressed: uint8 (2 x starts, frames, 2, or 4 for four players): programs from power-on, followed by programs that
            continue a game.
        frames: int32 (2 x starts,): lengths of the programs.
        rests: int32 (starts,): frames after the boot.
        fires: bool (games,): whether the fire button is pressed.
        noops: Number of different no-op counts.
    """

    pressed: np.ndarray[Any, np.dtype[np.uint8]]
    frames: np.ndarray[Any, np.dtype[np.int32]]
    rests: np.ndarray[Any, np.dtype[np.int32]]
    fires: np.ndarray[Any, np.dtype[np.bool_]]
    noops: int

    @property
    def count(self) -> int:
        """Number of starts."""
        return len(self.frames) // 2


def start_programs(specs: Sequence[GameSpec], settings: Settings) -> StartPrograms:
    """The programs of every start of these games."""
    fires = [settings.use_fire_reset and FIRE in spec.choices(settings, len(specs) > 1) for spec in specs]
    noops = max(1, settings.noop_max)
    boots: list[list[int]] = []
    rests: list[list[int]] = []
    for spec, fire in zip(specs, fires, strict=True):
        booting = boot(spec.game, spec.mode, spec.difficulty) if spec.variant is None else boot_variant(spec.variant)
        for number in range(noops):
            for button in (NOOP, FIRE):
                rest = _rest(number, [button] * int(fire), settings)
                rests.append(rest)
                boots.append(booting + rest)
    programs = boots + rests
    pressed = np.zeros((len(programs), max(map(len, programs)), max(2, settings.players)), np.uint8)
    for row, program in enumerate(programs):
        pressed[row, : len(program), 0] = program
    for row, (whole, rest) in enumerate(zip(boots, rests, strict=True)):
        pressed[row, : len(whole) - len(rest), 1] = WARM_UP
    frames, waits = (np.array([len(program) for program in part], np.int32) for part in (programs, rests))
    return StartPrograms(pressed, frames, waits, np.array(fires), noops)


def _rest(number: int, fire: list[int], settings: Settings) -> list[int]:
    """Inputs after the boot: no-ops, selected by ``number``, and the fire button."""
    if settings.noop_max == 0:
        return fire
    if settings.like == "vector":
        return fire + [NOOP] * max(number - len(fire), 0)
    least = 1 if settings.like == "envpool" and not fire else 0
    return [NOOP] * (number + least) + fire


class StartStates:
    """The states that starts lead to, computed on the device: each game boots once, then each start runs its no-ops.

    Attributes:
        machine: uint32 (starts, words): state of the console.
        pictures: uint32 (starts, words): its pictures.
        result: Result of the program.
    """

    def __init__(self, rom_bank: RomBank, starts: StartPrograms, device: wp.Device) -> None:
        games, count = len(rom_bank.table), starts.count
        boots = np.arange(games) * (count // games)
        lengths = starts.frames[boots] - starts.rests[boots]
        machine, pictures, _ = _run_programs(
            rom_bank, device, np.arange(games), rom_bank.power_on, None, starts.pressed[boots], lengths
        )
        game = np.arange(count) // (count // games)
        machine, pictures, self.result = _run_programs(
            rom_bank, device, game, machine.numpy(), pictures.numpy(), starts.pressed[count:], starts.frames[count:]
        )
        self.machine, self.pictures = as_words(machine), as_words(pictures)


def _run_programs(
    rom_bank: RomBank, device: wp.Device, game: Any, machine: Any, pictures: Any, pressed: Any, frames: Any
) -> tuple[wp.array, wp.array, EmulationResult]:
    """Run the programs of ``pressed`` in consoles that play ``game``, from the state and the pictures of that game.

    Every frame is drawn: some games end no frame while a switch is held, and their picture keeps its earlier contents.
    """
    count = len(game)
    emulator, result = EmulatorBatch(rom_bank, count, device), emulation_result(count, device)
    states = wp.array(machine[game], dtype=wp.uint8, device=device)
    initial = np.zeros((count, 2, rom_bank.height, 160), np.uint8) if pictures is None else pictures[game]
    # No copy on a CPU: the pictures of all games take half a gigabyte.
    drawn = wp.array(initial, dtype=wp.uint8, device=device, copy=False)
    del initial
    games, shard = wp.array(game, dtype=wp.int32, device=device), Shard(0, count, None, True, device, None)
    for first in range(0, max(1, int(frames.max())), FRAMES_PER_LAUNCH):
        inputs = wp.array(pressed[:, first : first + FRAMES_PER_LAUNCH], dtype=wp.uint8, device=device)
        lengths = wp.array(np.clip(frames - first, 0, FRAMES_PER_LAUNCH), dtype=wp.int32, device=device)
        emulator.emulate(shard, states, games, inputs, lengths, None, result, drawn, window=FRAMES_PER_LAUNCH)
        emulator.draw(shard, games, drawn)
    wp.synchronize_device(device)
    return states, drawn, result


def as_words(array: wp.array) -> wp.array:
    """The bytes of an array as uint32 (rows, words), in the same memory."""
    rows = array.shape[0]
    words = wp.array(ptr=array.ptr, dtype=wp.uint32, shape=(rows, array.size // rows // 4), device=array.device)
    words.owner = array  # keeps the memory alive
    return words
