"""A batch of consoles: the emulation of a frame skip per launch, one thread per console on a GPU.

For N consoles, G games and P programs of F frames:

- ``machine``: uint8 (N, record): state of each console as bytes, followed by the RAM of its cartridge. It is the only
  data that is kept between launches.
- ``game``: int32 (N,): the game of each console, a row of ``table``.
- ``words``: uint32: ROMs of all games, one after the other, one word per byte.
- ``table``: int32 (G, len(Slot)): constants of each game.
- ``pressed``: uint8 (P, F, 2 or 4): inputs of each frame of a program: the action of player A plus ``RESET``,
  ``SELECT`` and ``BEGIN``; the action of player B plus ``WARM_UP``; those of players C and D in four-player games.
- ``frames``: int32 (P,): length of each program, at most F.
- ``force``: int32 (P, F) or None: paddle step of each frame; None stands for ``PADDLE_STEP``.
- ``program``: int32 (N,) or None: the program of each console; -1 skips the console; None runs program k in console k.
- ``shares``: int32 (N, 3) or None: points of players B, C and D in multiplayer games.
- ``emulation_result``: points, lives, end of game. A console stops after the frame that ends its game, or with
  ``one_life`` after the frame that loses a life, and skips the frames that follow.
- ``pictures``: uint8 (N, 2, height, 160): colours (palette indices). Frames alternate between the two pictures;
  ``newest`` is the index of the last one. Of F frames those from F - ``window`` on are logged, alternating between two
  logs, so that at most the last two can be drawn. With ``EVERY_FRAME`` as the window each earlier frame is drawn when
  it ends. A frame that is cut off leaves the rest of its picture unchanged.
- ``shard``: the range of consoles, and a mask: consoles with another mask value are skipped.

``emulate`` logs the display events of those frames. ``draw`` renders the logs, so frames that are not observed are
never drawn. Both only launch kernels and allocate nothing, so they can be captured into graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.atari.emulator.console_kernels import CONSOLES_PER_THREAD, kernels
from worldloom.atari.emulator.inputs import WARM_UP
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.native import WIDTH
from worldloom.core.model.launch import Shard

BLOCK = 32
"""Threads per block of the emulation on a GPU: small blocks spread few consoles over all multiprocessors."""
WARPS, MIN_LANES = 4, 8
"""On a GPU: warps per multiprocessor to aim for, and minimum number of consoles per warp."""
RASTER_THREADS = 32
"""Threads that share the scanlines of a picture on a GPU: one warp."""
DRAW_BLOCK = 128
"""Threads per block of the drawing."""
LOG = 2048
"""Words of a frame's log, including its header of eleven. If a log overflows, the emulating thread draws it."""


@dataclass(frozen=True)
class EmulationResult:
    """Results of the programs that N consoles ran.

    Attributes:
        earned: int32 (N,): points.
        lives: int32 (N,): lives left.
        over: bool (N,): whether the game is over.
        ran: int32 (N,): number of emulated frames.
        newest: int32 (N,): index of the picture of the last frame.
    """

    earned: wp.array
    lives: wp.array
    over: wp.array
    ran: wp.array
    newest: wp.array


def emulation_result(count: int, device: wp.Device) -> EmulationResult:
    """Allocate the results of ``count`` consoles."""
    earned, lives, ran, newest = (wp.zeros(count, dtype=wp.int32, device=device) for _ in range(4))
    return EmulationResult(earned, lives, wp.zeros(count, dtype=wp.bool, device=device), ran, newest)


class EmulatorBatch:
    """A batch of consoles on one device: the ROM bank, the logs and the launches of the kernels.

    Args:
        rom_bank: The games.
        num_consoles: Number of consoles.
        device: Device of the arrays.
        log_words: Words of one frame's log.

    Attributes:
        log: uint32 (num_consoles * 2 * log_words,): the two logs of each console.
        raster_threads: Threads that share the scanlines of a picture.
        consoles_per_thread: Consoles that share a thread, at most ``CONSOLES_PER_THREAD``.
    """

    def __init__(self, rom_bank: RomBank, num_consoles: int, device: wp.Device, log_words: int = LOG) -> None:
        self.rom_bank, self.num_consoles, self.device, self.log_words = rom_bank, num_consoles, device, log_words
        self.words = wp.array(rom_bank.words, dtype=wp.uint32, device=device)
        self.table = wp.array(rom_bank.table, dtype=wp.int32, device=device)
        self.log = wp.empty(num_consoles * 2 * log_words, dtype=wp.uint32, device=device)
        self.log.fill_(0xFFFFFFFF)
        self._kernels = kernels()
        self.raster_threads = 1 if device.is_cpu else RASTER_THREADS
        self.consoles_per_thread = CONSOLES_PER_THREAD if device.is_cpu else 1

    def power_on(self, machine: wp.array, game: wp.array) -> None:
        """Power consoles on; their RAM is kept."""
        wp.launch(
            self._kernels.power_on,
            len(machine),
            [machine, game, self.words, self.table],
            device=self.device,
            record_tape=False,
        )

    def emulate(
        self,
        shard: Shard,
        machine: wp.array,
        game: wp.array,
        pressed: wp.array,
        frames: wp.array,
        program: wp.array | None,
        emulation_result: EmulationResult,
        pictures: wp.array,
        *,
        window: int,
        one_life: bool = False,
        force: wp.array | None = None,
        shares: wp.array | None = None,
    ) -> None:
        """Emulate the frames of programs in the consoles of ``shard``; see the module for the arrays."""
        lanes = self._lanes(shard.count)
        inputs = [
            shard.first,
            shard.count,
            lanes,
            self.consoles_per_thread,
            shard.mask,
            shard.value,
            window,
            one_life,
            self.log_words,
            machine,
            game,
            self.words,
            self.table,
            pressed,
            frames,
            program,
            force,
            shares,
        ]
        outputs = [
            emulation_result.earned,
            emulation_result.lives,
            emulation_result.over,
            emulation_result.ran,
            emulation_result.newest,
            self.log,
            pictures,
        ]
        threads = -(-shard.count // (lanes * self.consoles_per_thread)) * 32
        wp.launch(
            self._kernels.emulate,
            threads,
            [*inputs, *outputs],
            device=self.device,
            stream=shard.stream,
            block_dim=BLOCK,
            record_tape=False,
        )

    def _lanes(self, count: int) -> int:
        """Consoles per warp: as few as fill the GPU with warps, since fewer consoles diverge less."""
        if not self.device.is_cuda:
            return 32
        lanes = 32
        while lanes > MIN_LANES and count <= lanes // 2 * WARPS * self.device.sm_count:
            lanes //= 2
        return lanes

    def draw(self, shard: Shard, game: wp.array, pictures: wp.array) -> None:
        """Draw the frames that the last call of :meth:`emulate` logged for the same consoles."""
        inputs = [
            shard.first,
            shard.mask,
            shard.value,
            self.raster_threads,
            self.log_words,
            game,
            self.table,
            self.log,
            pictures,
        ]
        threads = shard.count * 2 * self.raster_threads
        wp.launch(
            self._kernels.draw,
            threads,
            inputs,
            device=self.device,
            stream=shard.stream,
            block_dim=DRAW_BLOCK,
            record_tape=False,
        )


def next_picture(
    rom_bank: RomBank, game: int, state: np.ndarray[Any, np.dtype[np.uint8]]
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The next frame of the console of ``state``, uint8 (1, record), without input: colours, uint8 (height, 160).

    ``state`` is not changed.
    """
    device = wp.get_device("cpu")
    emulator, result = EmulatorBatch(rom_bank, 1, device), emulation_result(1, device)
    shard = Shard(0, 1, None, True, device, None)
    machine = wp.array(state, dtype=wp.uint8, device=device)
    games, frames = wp.array([game], dtype=wp.int32, device=device), wp.ones(1, dtype=wp.int32, device=device)
    pictures = wp.zeros((1, 2, rom_bank.height, WIDTH), dtype=wp.uint8, device=device)
    pressed = wp.array([[[0, WARM_UP]]], dtype=wp.uint8, device=device)  # also draws a game that is over
    emulator.emulate(shard, machine, games, pressed, frames, None, result, pictures, window=1)
    emulator.draw(shard, games, pictures)
    picture: np.ndarray[Any, np.dtype[np.uint8]] = pictures.numpy()[0, int(result.newest.numpy()[0])]
    return picture
