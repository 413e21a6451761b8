"""Kernels of the console: power-on, emulation and drawing. Their C++ is assembled from the headers of ``native``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import warp as wp

from worldloom.atari import native
from worldloom.atari.emulator.rom_bank import RECORD, Slot
from worldloom.atari.games.reward_rules_cpp import rules_source
from worldloom.core.kernels.array_types import Bools, Bytes2D, Bytes3D, Bytes4D, Ints, Ints2D, Words
from worldloom.core.kernels.launch_kernels import picked

REGISTERS = 128
"""Registers of a thread on a GPU: 16 warps then fit on a multiprocessor."""
CONSOLES_PER_THREAD = 16
"""Consoles that a CPU thread interleaves."""
EVERY_FRAME = 1 << 20
"""Value of ``window`` that draws all frames."""

CONSTANTS = (
    f"enum : unsigned {{ RECORD_WORDS = {RECORD // 4}, SLOTS = {len(Slot)}, NOTHING_LOGGED = 0xFFFFFFFFu, "
    f"MAX_CONSOLES_PER_THREAD = {CONSOLES_PER_THREAD} }};\nenum : int {{ EVERY_FRAME = {EVERY_FRAME} }};\n"
)
"""C++ constants that the headers use."""


def _power_on_one(k: int, machine: Bytes2D, game: Ints, words: Words, table: Ints2D): ...


def _emulate_some(
    first: int, count: int, turn: int, consoles_per_thread: int, mask: Bools, value: bool, window: int,
    one_life: bool, log_words: int, machine: Bytes2D, game: Ints, words: Words, table: Ints2D, pressed: Bytes3D,
    frames: Ints, program: Ints, force: Ints2D, shares: Ints2D, earned: Ints, lives: Ints, over: Bools, ran: Ints,
    newest: Ints, log: Words, pictures: Bytes4D,
): ...  # fmt: skip


def _draw_one(
    k: int, slot: int, lane: int, lanes: int, log_words: int, game: Ints, table: Ints2D, log: Words, pictures: Bytes4D
): ...


@dataclass(frozen=True)
class Kernels:
    """The compiled kernels of the console."""

    power_on: wp.Kernel
    emulate: wp.Kernel
    draw: wp.Kernel


def _emulator(machine: str) -> wp.Kernel:
    """The emulation kernel, from the C++ source of the struct ``Machine``."""
    emulate_some = wp.func_native(machine + native.header("kernels/emulate"))(_emulate_some)

    @wp.kernel(enable_backward=False, module="unique", cuda_max_registers=REGISTERS)
    def emulate(
        first: int, count: int, lanes: int, consoles_per_thread: int, mask: Bools, value: bool, window: int,
        one_life: bool, log_words: int, machine: Bytes2D, game: Ints, words: Words, table: Ints2D, pressed: Bytes3D,
        frames: Ints, program: Ints, force: Ints2D, shares: Ints2D, earned: Ints, lives: Ints, over: Bools, ran: Ints,
        newest: Ints, log: Words, pictures: Bytes4D,
    ):  # fmt: skip
        lane = wp.tid() % 32
        turn = wp.tid() // 32 * lanes + lane
        if lane >= lanes or turn * consoles_per_thread >= count:
            return
        emulate_some(
            first, count, turn, consoles_per_thread, mask, value, window, one_life, log_words, machine, game, words,
            table, pressed, frames, program, force, shares, earned, lives, over, ran, newest, log, pictures,
        )  # fmt: skip

    return emulate


@cache
def kernels() -> Kernels:
    """The kernels, built on the first call from the headers and the reward rules."""
    machine = CONSTANTS + native.machine(rules_source())
    power_on_one = wp.func_native(machine + native.header("kernels/power_on"))(_power_on_one)
    draw_one = wp.func_native(CONSTANTS + native.rasterizer() + native.header("kernels/draw"))(_draw_one)

    @wp.kernel(enable_backward=False, module="unique")
    def power_on(machine: Bytes2D, game: Ints, words: Words, table: Ints2D):
        power_on_one(wp.tid(), machine, game, words, table)

    @wp.kernel(enable_backward=False, module="unique")
    def draw(
        first: int, mask: Bools, value: bool, raster_threads: int, log_words: int,
        game: Ints, table: Ints2D, log: Words, pictures: Bytes4D,
    ):  # fmt: skip
        picture = wp.tid() // raster_threads
        k = first + picture // 2
        if not picked(mask, value, k):
            return
        draw_one(k, picture % 2, wp.tid() % raster_threads, raster_threads, log_words, game, table, log, pictures)

    return Kernels(power_on, _emulator(machine), draw)
