"""ROM bank: the ROMs of a batch side by side, and one row of numbers per game, in the layout that the kernels read."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

RECORD = 320
"""Bytes of a console's state, without the cartridge's RAM."""
RAM = 4
"""Byte offset of the 128 bytes of RAM in a state."""


class Slot(enum.IntEnum):
    """Columns of the game table."""

    IMAGE = 0  # index of the ROM's first word
    SLICES = 1  # size of the ROM in KiB
    KIND = 2  # cartridge kind
    RAM_BYTES = 3  # bytes of cartridge RAM
    RULES = 4  # number of the reward rule; -1 for a ROM without one: no reward, never over
    FIRST_LINE = 5  # first scanline of the picture
    HEIGHT = 6  # scanlines of the picture
    MAX_LINES = 7  # scanlines after which a frame without VSYNC ends
    COMBS = 8  # 1: HMOVE blanks eight pixels at the left
    LEFT = 9  # controller in the left port: 0 joystick, 1 paddles
    RIGHT = 10  # controller in the right port
    SWAP_PORTS = 11
    SWAP_PADDLES = 12
    SWITCHES = 13  # colour and difficulty switches, as bits of SWCHB
    PADDLE_MIN = 14  # minimum resistance of a paddle
    PADDLE_MAX = 15  # maximum resistance of a paddle
    TIMER = 16  # value of the timer at power-on
    FORMAT = 17  # 0 NTSC, 1 PAL, 2 SECAM; the emulation depends on it only for PAL, where colours may fade
    PLAYERS = 18  # 1, 2 or 4; four players use the paddles of both ports


@dataclass(frozen=True)
class RomEntry:
    """One game of a ROM bank.

    Attributes:
        words: Its ROM, uint32, one word per byte (:meth:`worldloom.atari.cartridges.cartridge.Cartridge.words`).
        numbers: Its row of the game table by slot, without ``IMAGE``; missing slots are 0.
        power_on: RAM at power-on: 128 bytes, followed by the cartridge's RAM.
    """

    words: np.ndarray[Any, np.dtype[np.uint32]]
    numbers: dict[Slot, int]
    power_on: bytes = bytes(128)


@dataclass(frozen=True)
class RomBank:
    """The games of a batch in the layout that the kernels read.

    Attributes:
        words: uint32 (bytes of all ROMs,).
        table: int32 (games, len(Slot)).
        record: Bytes of one console's state including the cartridge's RAM; a multiple of 4.
        height: Scanlines of the tallest picture.
        power_on: uint8 (games, record): the state at power-on, by game.
    """

    words: np.ndarray[Any, np.dtype[np.uint32]]
    table: np.ndarray[Any, np.dtype[np.int32]]
    record: int
    height: int
    power_on: np.ndarray[Any, np.dtype[np.uint8]]
