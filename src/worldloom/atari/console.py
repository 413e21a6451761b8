"""The kernels of the console, as the world launches them.

**Stand-in.** The kernels below move a counter in RAM and bars in the picture. They have the signatures of the real ones: whoever puts
the console in their place keeps ``Slot``, ``Shelf`` and ``Bench``, and the world around them works as it is.

What the kernels take, for N consoles and G games:

- ``machine``: uint8 (N, record): the state of each console as bytes; the first ``STATE_BYTES`` are the console, with its 128 bytes of
  RAM from ``RAM``, and then the RAM of the cartridge. Nothing else outlives a launch.
- ``game``: int32 (N,): which game a console plays: a row of ``table``.
- ``images``: uint8: the ROMs of the games, one after the other. ``table``: int32 (G, len(Slot)): what is known of each game.
- ``pressed``: uint8 (P, F, 2): programs of what is held in each frame: the action of player A, with ``RESET``, ``SELECT`` and ``BEGIN``
  added to it; the action of player B.
- ``frames``: int32 (P,): how many of the F frames to emulate; 0 leaves a console alone.
- ``program``: int32 (N,): which program a console follows, -1 leaves it alone; without it console k follows program k, and P is N.
- ``earned``, ``lives``: int32 (N,), ``over``: bool (N,), ``ran``: int32 (N,): the points of the frames, the lives left and whether the
  game is over, after ``ran`` frames: a console stops behind the frame in which its game ends, and does not go on where it has ended.
- ``pictures``: uint8 (N, 2, height, 160): colours (indices into the palette) of the last frame but one of a window, and of the last.
  A frame that was not reached leaves its picture as it was: of F frames, frame F - 2 goes to picture 0 and frame F - 1 to picture 1.
- ``mask``: bool (N,) or nothing, and ``value``: consoles whose mask is otherwise are left alone. ``first``: the first of the range of consoles.

``emulate`` writes the accesses of those two frames to the television chip into a log of its own, and ``draw`` makes the pictures of it.
Both only launch kernels, so that they may be recorded into graphs, and neither allocates.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.launch import Shard

STATE_BYTES = 256
RAM = 0
"""Where the 128 bytes of RAM lie in a state."""
RESET, SELECT = 32, 64
"""The switches of the console, added to the action of player A."""
BEGIN = 128
"""Before this frame the score and the lives are taken anew: what came before was not the game yet."""
WIDTH = 160


class Slot(enum.IntEnum):
    """What each column of the table of games holds."""

    IMAGE = 0  # where the ROM begins in the images
    BYTES = 1  # its length
    KIND = 2  # of cartridge
    BANKS = 3
    RAM_BYTES = 4  # RAM of the cartridge
    RULES = 5  # the number of the game's rules; -1 for a ROM without any: no reward, no end
    FORMAT = 6  # 0 NTSC, 1 PAL, 2 SECAM
    FIRST_LINE = 7  # of the picture
    HEIGHT = 8  # lines of the picture
    FLAGS = 9  # 1: no blanks after HMOVE, 2: swapped ports, 4: swapped paddles
    LEFT = 10  # controller: 0 joystick, 1 paddles
    RIGHT = 11
    SWITCHES = 12  # the difficulty switches: 1 the left one is at A, 2 the right one
    PADDLE_MOST = 13  # the largest resistance of a paddle
    TIMER = 14  # what the timer holds when the power comes on


@dataclass(frozen=True)
class Entry:
    """One game on the shelf: its ROM as the kernels take it, the numbers of its row but for ``IMAGE`` and ``BYTES``, and its RAM at power-on.

    Attributes:
        image: The bytes of the ROM.
        numbers: By slot; what is not given is 0.
        power_on: 128 bytes, and those of the cartridge's RAM.
    """

    image: bytes
    numbers: dict[Slot, int]
    power_on: bytes = bytes(128)


@dataclass(frozen=True)
class Shelf:
    """The games of a batch as the kernels read them.

    Attributes:
        images: uint8 (bytes,).
        table: int32 (games, len(Slot)).
        record: Bytes of the state of one console.
        height: Lines of the tallest picture.
        power_on: uint8 (games, record): the state of each console when its power comes on.
    """

    images: np.ndarray[Any, np.dtype[np.uint8]]
    table: np.ndarray[Any, np.dtype[np.int32]]
    record: int
    height: int
    power_on: np.ndarray[Any, np.dtype[np.uint8]]


def shelve(entries: Sequence[Entry]) -> Shelf:
    """Put games side by side for the kernels."""
    images, table = bytearray(), np.zeros((len(entries), len(Slot)), np.int32)
    record = -(-(STATE_BYTES + max(entry.numbers.get(Slot.RAM_BYTES, 0) for entry in entries)) // 16) * 16
    power_on = np.zeros((len(entries), record), np.uint8)
    for row, entry in enumerate(entries):
        for slot, value in {**entry.numbers, Slot.IMAGE: len(images), Slot.BYTES: len(entry.image)}.items():
            table[row, slot] = value
        images += entry.image
        power_on[row, RAM : RAM + 128] = np.frombuffer(entry.power_on[:128], np.uint8)
    return Shelf(np.frombuffer(bytes(images), np.uint8), table, record, int(table[:, Slot.HEIGHT].max()), power_on)


@wp.kernel(enable_backward=False)
def _emulate(
    first: int,
    mask: wp.array(dtype=wp.bool),
    value: bool,
    machine: wp.array2d(dtype=wp.uint8),
    game: wp.array(dtype=wp.int32),
    images: wp.array(dtype=wp.uint8),
    table: wp.array2d(dtype=wp.int32),
    pressed: wp.array3d(dtype=wp.uint8),
    frames: wp.array(dtype=wp.int32),
    program: wp.array(dtype=wp.int32),
    earned: wp.array(dtype=wp.int32),
    lives: wp.array(dtype=wp.int32),
    over: wp.array(dtype=wp.bool),
    ran: wp.array(dtype=wp.int32),
    log: wp.array2d(dtype=wp.int32),
):
    """Stand-in. RAM: 0 frames (low), 1 frames (high), 2 the last action, 3 place, 4 lives, 5 over."""
    k = first + wp.tid()
    if mask:
        if mask[k] != value:
            return
    r = k
    if program:
        r = program[k]
    if r < 0:
        return
    points = int(0)
    done = int(0)
    log[k, 0] = -1
    log[k, 1] = -1
    for f in range(frames[r]):
        if machine[k, 5] == wp.uint8(0):
            held = int(pressed[r, f, 0])
            if held >= 128:
                machine[k, 4] = wp.uint8(3)
            number = int(machine[k, 0]) + 256 * int(machine[k, 1]) + 1
            machine[k, 0] = wp.uint8(number % 256)
            machine[k, 1] = wp.uint8((number // 256) % 256)
            machine[k, 2] = wp.uint8(held)
            machine[k, 3] = wp.uint8((int(machine[k, 3]) + held % 32 + 1) % 160)
            if int(machine[k, 3]) < held % 32 + 1:
                points += 3
            if number % 512 == 0:
                machine[k, 4] = wp.uint8(int(machine[k, 4]) - 1)
                if machine[k, 4] == wp.uint8(0):
                    machine[k, 5] = wp.uint8(1)
            if frames[r] - f <= 2:
                log[k, 2 - (frames[r] - f)] = int(machine[k, 3])
            done += 1
    earned[k] = points
    lives[k] = int(machine[k, 4])
    over[k] = machine[k, 5] == wp.uint8(1)
    ran[k] = done


@wp.kernel(enable_backward=False)
def _draw(
    first: int,
    mask: wp.array(dtype=wp.bool),
    value: bool,
    game: wp.array(dtype=wp.int32),
    table: wp.array2d(dtype=wp.int32),
    log: wp.array2d(dtype=wp.int32),
    pictures: wp.array4d(dtype=wp.uint8),
):
    k = first + wp.tid()
    if mask:
        if mask[k] != value:
            return
    for plane in range(2):
        if log[k, plane] >= 0:
            for y in range(table[game[k], 8]):
                for x in range(160):
                    colour = 0x0E if x == log[k, plane] else (y // 8) % 16 * 2
                    pictures[k, plane, y, x] = wp.uint8(colour)


class Bench:
    """Consoles side by side on one device: what their kernels need beside the columns of a simulation.

    Args:
        shelf: The games.
        num_consoles: How many.
        device: Where.
    """

    def __init__(self, shelf: Shelf, num_consoles: int, device: wp.Device) -> None:
        self.shelf, self.num_consoles, self.device = shelf, num_consoles, device
        self.images = wp.array(shelf.images, dtype=wp.uint8, device=device)
        self.table = wp.array(shelf.table, dtype=wp.int32, device=device)
        self._log = wp.full((num_consoles, 2), -1, dtype=wp.int32, device=device)

    def emulate(
        self,
        shard: Shard,
        machine: wp.array,
        game: wp.array,
        pressed: wp.array,
        frames: wp.array,
        program: wp.array | None,
        earned: wp.array,
        lives: wp.array,
        over: wp.array,
        ran: wp.array,
    ) -> None:
        """Emulate frames in the consoles of ``shard``; the module says what the arrays hold."""
        inputs = [shard.first, shard.mask, shard.value, machine, game, self.images, self.table, pressed, frames, program, earned, lives, over, ran, self._log]
        wp.launch(_emulate, shard.count, inputs, device=self.device, stream=shard.stream, record_tape=False)

    def draw(self, shard: Shard, game: wp.array, pictures: wp.array) -> None:
        """Draw what the last call of :meth:`emulate` logged for the same consoles."""
        inputs = [shard.first, shard.mask, shard.value, game, self.table, self._log, pictures]
        wp.launch(_draw, shard.count, inputs, device=self.device, stream=shard.stream, record_tape=False)
