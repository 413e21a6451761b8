"""How episodes begin: what is pressed from power-on to the first step, and the states that come of it, kept to be copied.

A start is a game, a number of frames with nothing pressed, and whether the button is pressed for a frame after them. For each there
is a program from power-on, and one that goes on with a game after the loss of a life.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.atari.emulator.console import WARM_UP, EmulationResult, EmulatorBatch, RomBank, emulation_result
from worldloom.atari.env.boot import FIRE, NOOP, boot, boot_variant
from worldloom.atari.env.game_selection import GameSpec
from worldloom.atari.env.settings import Settings
from worldloom.core.model.launch import Shard

FRAMES_PER_LAUNCH = 2
"""Frames of a launch whose pictures can be drawn."""


@dataclass(frozen=True)
class StartPrograms:
    """All starts of a batch, ``games x noops x 2`` of them: the last of the three is whether the button is pressed.

    Attributes:
        pressed: uint8 (2 x starts, frames, 2, or 4 for four players): the programs from power-on, and after them those that go on with a game.
        frames: int32 (2 x starts,): the lengths of the programs.
        rests: int32 (starts,): the frames after the boot.
        fires: bool (games,): whether the button is pressed.
        noops: How many numbers of no-ops there are to choose from.
    """

    pressed: np.ndarray[Any, np.dtype[np.uint8]]
    frames: np.ndarray[Any, np.dtype[np.int32]]
    rests: np.ndarray[Any, np.dtype[np.int32]]
    fires: np.ndarray[Any, np.dtype[np.bool_]]
    noops: int

    @property
    def count(self) -> int:
        """The number of starts."""
        return len(self.frames) // 2


def starts(found: Sequence[GameSpec], settings: Settings) -> StartPrograms:
    """Every start of these games."""
    fires = [settings.use_fire_reset and FIRE in title.choices(settings, len(found) > 1) for title in found]
    noops = max(1, settings.noop_max)
    boots: list[list[int]] = []
    rests: list[list[int]] = []
    for title, fire in zip(found, fires, strict=True):
        first = boot(title.game, title.mode, title.difficulty) if title.variant is None else boot_variant(title.variant)
        for number in range(noops):
            for button in (NOOP, FIRE):
                rest = _rest(number, [button] * int(fire), settings)
                rests.append(rest)
                boots.append(first + rest)
    programs = boots + rests
    held = np.zeros((len(programs), max(map(len, programs)), max(2, settings.players)), np.uint8)
    for row, program in enumerate(programs):
        held[row, : len(program), 0] = program
    for row, (whole, rest) in enumerate(zip(boots, rests, strict=True)):
        held[row, : len(whole) - len(rest), 1] = WARM_UP
    frames, waits = (np.array([len(program) for program in part], np.int32) for part in (programs, rests))
    return StartPrograms(held, frames, waits, np.array(fires), noops)


def _rest(number: int, fire: list[int], settings: Settings) -> list[int]:
    """What is pressed after the boot: no-ops, chosen by their number, and the button."""
    if settings.noop_max == 0:
        return fire
    if settings.like == "vector":
        return fire + [NOOP] * max(number - len(fire), 0)
    least = 1 if settings.like == "envpool" and not fire else 0
    return [NOOP] * (number + least) + fire


class StartStates:
    """The states that starts lead to, made on the device: every game is booted once, and then waits as each of its starts does.

    Attributes:
        machine: uint32 (starts, words): the state of the console.
        pictures: uint32 (starts, words): its pictures.
        outcome: What its program led to.
    """

    def __init__(self, rom_bank: RomBank, chosen: StartPrograms, device: wp.Device) -> None:
        games, count = len(rom_bank.table), chosen.count
        boots = np.arange(games) * (count // games)
        lengths = chosen.frames[boots] - chosen.rests[boots]
        machine, pictures, _ = _run_programs(
            rom_bank, device, np.arange(games), rom_bank.power_on, None, chosen.pressed[boots], lengths
        )
        game = np.arange(count) // (count // games)
        found = _run_programs(
            rom_bank, device, game, machine.numpy(), pictures.numpy(), chosen.pressed[count:], chosen.frames[count:]
        )
        self.machine, self.pictures, self.outcome = as_words(found[0]), as_words(found[1]), found[2]


def _run_programs(
    rom_bank: RomBank, device: wp.Device, game: Any, machine: Any, pictures: Any, pressed: Any, frames: Any
) -> tuple[wp.array, wp.array, EmulationResult]:
    """Consoles that play ``game``, from the state and the pictures of that game, after the programs of ``pressed``.

    Every frame is drawn: games that do not end a frame while a switch is held leave in the picture what was there before.
    """
    count = len(game)
    bench, told = EmulatorBatch(rom_bank, count, device), emulation_result(count, device)
    states = wp.array(machine[game], dtype=wp.uint8, device=device)
    first_seen = np.zeros((count, 2, rom_bank.height, 160), np.uint8) if pictures is None else pictures[game]
    shown = wp.array(
        first_seen, dtype=wp.uint8, device=device, copy=False
    )  # of all games half a gigabyte, which a CPU takes over as it is
    del first_seen
    games, everyone = wp.array(game, dtype=wp.int32, device=device), Shard(0, count, None, True, device, None)
    for first in range(0, max(1, int(frames.max())), FRAMES_PER_LAUNCH):
        held = wp.array(pressed[:, first : first + FRAMES_PER_LAUNCH], dtype=wp.uint8, device=device)
        left = wp.array(np.clip(frames - first, 0, FRAMES_PER_LAUNCH), dtype=wp.int32, device=device)
        bench.emulate(everyone, states, games, held, left, None, told, shown, window=FRAMES_PER_LAUNCH)
        bench.draw(everyone, games, shown)
    wp.synchronize_device(device)
    return states, shown, told


def as_words(array: wp.array) -> wp.array:
    """The bytes of an array as uint32 (rows, words), in the same memory."""
    rows = array.shape[0]
    found = wp.array(ptr=array.ptr, dtype=wp.uint32, shape=(rows, array.size // rows // 4), device=array.device)
    found.owner = array  # which keeps the memory
    return found
