"""The kernels of the console: many Ataris side by side, each in a thread of its own, a frame skip per launch.

For N consoles and G games:

- ``machine``: uint8 (N, record): the state of each console as bytes, and behind it the RAM of its cartridge. Nothing else outlives a launch.
- ``game``: int32 (N,): which game a console plays: a row of ``table``.
- ``words``: uint32: the ROMs of the games, one after the other, a word per byte. ``table``: int32 (G, len(Slot)): what is known of each game.
- ``pressed``: uint8 (P, F, 2 or 4): programs of what is held in each frame: the action of player A, with ``RESET``, ``SELECT`` and ``BEGIN``
  added to it; the action of player B, with ``WARM_UP``; those of the players C and D, where there are four.
- ``frames``: int32 (P,): how many of its F frames a program has.
- ``force``: int32 (P, F) or nothing: how far paddles are turned in each frame, of ``PADDLE_STEP``, which they are without it.
- ``program``: int32 (N,) or nothing: which program a console follows, -1 leaves it alone; without it console k follows program k.
- ``shares``: int32 (N, 3) or nothing: the points of the players B, C and D in games for several.
- ``outcome``: the points of the frames, the lives left and whether the game is over. A console stops behind the frame in which its game
  ends, or with ``one_life`` a life is lost, and does not go on where it has ended.
- ``pictures``: uint8 (N, 2, height, 160): colours (indices into the palette). Frames go to the two pictures in turns, ``newest`` is where
  the last one went. Of F frames those from F - ``window`` on are logged, in two logs in turns, so that at most the last two can be drawn.
  With ``EVERY_FRAME`` as the window all others are drawn too, each when it is over: a frame that is cut off leaves in its picture what was there before.
- ``shard``: the range of consoles, and a mask: those whose mask is otherwise are left alone.

``emulate`` keeps a log of what those frames show, and ``draw`` makes the pictures of it, so that frames that nobody looks at are
never drawn. Both only launch kernels, so that they may be recorded into graphs, and neither allocates.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import warp as wp

from worldloom.atari import native
from worldloom.atari.games.reward_rules_cpp import rules_source
from worldloom.core.kernels.launch_kernels import picked
from worldloom.core.model.launch import Shard

RECORD = 320
"""Bytes of a console's state, the cartridge's RAM not counted."""
RAM = 4
"""Where the 128 bytes of RAM lie in a state."""
RESET, SELECT = 32, 64
"""The switches of the console, added to the action of player A."""
BEGIN = 128
"""Before this frame the score and the lives are taken anew: what came before was not the game yet."""
WARM_UP = 128
"""Added to the action of player B: the frame is emulated whatever the rules make of it, since the game is not there yet."""
PADDLE_STEP = 23_000
"""The resistance by which a paddle turns in a frame, as ``native/tables.h`` has it."""
WIDTH = 160
BLOCK = 32
"""Threads of a block on a GPU: in small ones few consoles reach all multiprocessors."""
REGISTERS = 128
"""Of a thread on a GPU: with these 16 warps fit on a multiprocessor."""
WARPS, MIN_LANES = 4, 8
"""On a GPU as few consoles share a warp as it takes for so many warps per multiprocessor, and not less than so many."""
RASTER_THREADS = 32
"""On a GPU so many threads share the lines of a picture: a warp."""
CONSOLES_PER_THREAD = 16
"""Consoles that take turns on a thread of a CPU."""
DRAW_BLOCK = 128
"""Threads of a block that draws."""
LOG = 2048
"""Words of the log of one frame, its head of eleven included. Frames that need more are drawn in between, by the thread that emulates them."""

EVERY_FRAME = 1 << 20
"""A window: all frames are drawn."""


class Slot(enum.IntEnum):
    """What each column of the table of games holds."""

    IMAGE = 0  # where the ROM begins in the words
    SLICES = 1  # its length in KiB
    KIND = 2  # of cartridge
    RAM_BYTES = 3  # RAM of the cartridge
    RULES = 4  # the number of the game's rules; -1 for a ROM without any: no reward, no end
    FIRST_LINE = 5  # of the picture
    HEIGHT = 6  # lines of the picture
    MAX_LINES = 7  # of a frame that nothing ends
    COMBS = 8  # 1: HMOVE leaves eight black pixels at the left
    LEFT = 9  # controller: 0 joystick, 1 paddles
    RIGHT = 10
    SWAP_PORTS = 11
    SWAP_PADDLES = 12
    SWITCHES = 13  # colour and difficulties, as bits of SWCHB
    PADDLE_MIN = 14  # the smallest and the largest resistance of a paddle
    PADDLE_MAX = 15
    TIMER = 16  # what the timer holds when the power comes on
    FORMAT = 17  # 0 NTSC, 1 PAL, 2 SECAM: of the console only a PAL one cares, whose colours may fade
    PLAYERS = 18  # 1, 2 or 4: four hold the paddles of both ports


@dataclass(frozen=True)
class RomEntry:
    """One game on the shelf.

    Attributes:
        words: Its ROM, uint32, a word per byte (:meth:`worldloom.atari.cartridges.cartridge.Cartridge.words`).
        numbers: The numbers of its row by slot, but for ``IMAGE``; what is not given is 0.
        power_on: RAM when the power comes on: 128 bytes, and those of the cartridge's RAM.
    """

    words: np.ndarray[Any, np.dtype[np.uint32]]
    numbers: dict[Slot, int]
    power_on: bytes = bytes(128)


@dataclass(frozen=True)
class RomBank:
    """The games of a batch as the kernels read them.

    Attributes:
        words: uint32 (bytes of all ROMs,).
        table: int32 (games, len(Slot)).
        record: Bytes of the state of one console, the cartridge's RAM included; a multiple of 4.
        height: Lines of the tallest picture.
        power_on: uint8 (games, record): the state of each console when its power comes on.
    """

    words: np.ndarray[Any, np.dtype[np.uint32]]
    table: np.ndarray[Any, np.dtype[np.int32]]
    record: int
    height: int
    power_on: np.ndarray[Any, np.dtype[np.uint8]]


def pack_roms(entries: Sequence[RomEntry]) -> RomBank:
    """Put games side by side for the kernels."""
    table = np.zeros((len(entries), len(Slot)), np.int32)
    place = 0
    for row, entry in enumerate(entries):
        for slot, value in {**entry.numbers, Slot.IMAGE: place}.items():
            table[row, slot] = value
        place += len(entry.words)
    record = RECORD + (int(table[:, Slot.RAM_BYTES].max()) + 3) // 4 * 4
    machine = np.zeros((len(entries), record), np.uint8)
    for row, entry in enumerate(entries):
        machine[row, RAM : RAM + 128] = np.frombuffer(entry.power_on[:128], np.uint8)
        machine[row, RECORD : RECORD + len(entry.power_on) - 128] = np.frombuffer(entry.power_on[128:], np.uint8)
    words = np.concatenate([entry.words for entry in entries])
    rom_bank = RomBank(words, table, record, int(table[:, Slot.HEIGHT].max()), machine)
    bench = EmulatorBatch(rom_bank, len(entries), wp.get_device("cpu"))
    state = wp.array(machine, dtype=wp.uint8, device="cpu")
    bench.power_on(state, wp.array(np.arange(len(entries), dtype=np.int32), device="cpu"))
    return RomBank(words, table, record, rom_bank.height, state.numpy())


def _power_on_one(
    k: int,
    machine: wp.array2d(dtype=wp.uint8),
    game: wp.array(dtype=wp.int32),
    words: wp.array(dtype=wp.uint32),
    table: wp.array2d(dtype=wp.int32),
): ...


def _emulate_some(
    first: int,
    count: int,
    turn: int,
    together: int,
    mask: wp.array(dtype=wp.bool),
    value: bool,
    window: int,
    one_life: bool,
    log_words: int,
    machine: wp.array2d(dtype=wp.uint8),
    game: wp.array(dtype=wp.int32),
    words: wp.array(dtype=wp.uint32),
    table: wp.array2d(dtype=wp.int32),
    pressed: wp.array3d(dtype=wp.uint8),
    frames: wp.array(dtype=wp.int32),
    program: wp.array(dtype=wp.int32),
    force: wp.array2d(dtype=wp.int32),
    shares: wp.array2d(dtype=wp.int32),
    earned: wp.array(dtype=wp.int32),
    lives: wp.array(dtype=wp.int32),
    over: wp.array(dtype=wp.bool),
    ran: wp.array(dtype=wp.int32),
    newest: wp.array(dtype=wp.int32),
    log: wp.array(dtype=wp.uint32),
    pictures: wp.array4d(dtype=wp.uint8),
): ...


def _draw_one(
    k: int,
    slot: int,
    lane: int,
    lanes: int,
    log_words: int,
    game: wp.array(dtype=wp.int32),
    table: wp.array2d(dtype=wp.int32),
    log: wp.array(dtype=wp.uint32),
    pictures: wp.array4d(dtype=wp.uint8),
): ...


@dataclass(frozen=True)
class Kernels:
    """The compiled kernels of the console."""

    power_on: wp.Kernel
    emulate: wp.Kernel
    draw: wp.Kernel


def _emulator(machine: str) -> wp.Kernel:
    """The kernel that runs the frames of consoles, of the source of a machine."""
    emulate_some = wp.func_native(machine + native.header("kernels/emulate"))(_emulate_some)

    @wp.kernel(enable_backward=False, module="unique", cuda_max_registers=REGISTERS)
    def emulate(
        first: int,
        count: int,
        lanes: int,
        together: int,
        mask: wp.array(dtype=wp.bool),
        value: bool,
        window: int,
        one_life: bool,
        log_words: int,
        machine: wp.array2d(dtype=wp.uint8),
        game: wp.array(dtype=wp.int32),
        words: wp.array(dtype=wp.uint32),
        table: wp.array2d(dtype=wp.int32),
        pressed: wp.array3d(dtype=wp.uint8),
        frames: wp.array(dtype=wp.int32),
        program: wp.array(dtype=wp.int32),
        force: wp.array2d(dtype=wp.int32),
        shares: wp.array2d(dtype=wp.int32),
        earned: wp.array(dtype=wp.int32),
        lives: wp.array(dtype=wp.int32),
        over: wp.array(dtype=wp.bool),
        ran: wp.array(dtype=wp.int32),
        newest: wp.array(dtype=wp.int32),
        log: wp.array(dtype=wp.uint32),
        pictures: wp.array4d(dtype=wp.uint8),
    ):
        lane = wp.tid() % 32
        turn = wp.tid() // 32 * lanes + lane
        if lane >= lanes or turn * together >= count:
            return
        emulate_some(
            first, count, turn, together, mask, value, window, one_life, log_words, machine, game, words, table, pressed, frames, program, force, shares,
            earned, lives, over, ran, newest, log, pictures,
        )  # fmt: skip

    return emulate


CONSTANTS = f"""enum : unsigned {{ RECORD_WORDS = {RECORD // 4}, SLOTS = {len(Slot)}, NOTHING_LOGGED = 0xFFFFFFFFu, MAX_CONSOLES_PER_THREAD = {CONSOLES_PER_THREAD} }};
enum : int {{ EVERY_FRAME = {EVERY_FRAME} }};
"""
"""What the headers take from here, as C++ text."""


@cache
def kernels() -> Kernels:
    """The kernels, made when they are first asked for: their source is put together from the headers and the table of games."""
    machine = CONSTANTS + native.machine(rules_source())
    power_on_one = wp.func_native(machine + native.header("kernels/power_on"))(_power_on_one)
    draw_one = wp.func_native(CONSTANTS + native.rasterizer() + native.header("kernels/draw"))(_draw_one)

    @wp.kernel(enable_backward=False, module="unique")
    def power_on(
        machine: wp.array2d(dtype=wp.uint8),
        game: wp.array(dtype=wp.int32),
        words: wp.array(dtype=wp.uint32),
        table: wp.array2d(dtype=wp.int32),
    ):
        power_on_one(wp.tid(), machine, game, words, table)

    @wp.kernel(enable_backward=False, module="unique")
    def draw(
        first: int,
        mask: wp.array(dtype=wp.bool),
        value: bool,
        painters: int,
        log_words: int,
        game: wp.array(dtype=wp.int32),
        table: wp.array2d(dtype=wp.int32),
        log: wp.array(dtype=wp.uint32),
        pictures: wp.array4d(dtype=wp.uint8),
    ):
        picture = wp.tid() // painters
        k = first + picture // 2
        if not picked(mask, value, k):
            return
        draw_one(k, picture % 2, wp.tid() % painters, painters, log_words, game, table, log, pictures)

    return Kernels(power_on, _emulator(machine), draw)


@dataclass(frozen=True)
class EmulationResult:
    """What became of the programs that N consoles followed.

    Attributes:
        earned: int32 (N,): the points.
        lives: int32 (N,): the lives left.
        over: bool (N,): whether the game is over.
        ran: int32 (N,): the frames that were emulated.
        newest: int32 (N,): the picture that the last of them goes to.
    """

    earned: wp.array
    lives: wp.array
    over: wp.array
    ran: wp.array
    newest: wp.array


def emulation_result(count: int, device: wp.Device) -> EmulationResult:
    """Memory for what becomes of ``count`` consoles."""
    earned, lives, ran, newest = (wp.zeros(count, dtype=wp.int32, device=device) for _ in range(4))
    return EmulationResult(earned, lives, wp.zeros(count, dtype=wp.bool, device=device), ran, newest)


class EmulatorBatch:
    """Consoles side by side on one device: what their kernels need beside the columns of a simulation.

    Args:
        shelf: The games.
        num_consoles: How many.
        device: Where.
        log_words: Words of the log of one frame.

    Attributes:
        log: uint32 (num_consoles * 2 * log_words,): the two logs of each console.
        painters: Threads that share the lines of a picture.
        together: Consoles that share a thread, at most ``CONSOLES_PER_THREAD``.
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
        """Switch consoles on; their RAM stays as it is."""
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
        """Emulate the frames of programs in the consoles of ``shard``; the module says what the arrays hold."""
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
        """Consoles that share a warp. Few of them follow the same path for longer, and enough warps there must be."""
        if not self.device.is_cuda:
            return 32
        lanes = 32
        while lanes > MIN_LANES and count <= lanes // 2 * WARPS * self.device.sm_count:
            lanes //= 2
        return lanes

    def draw(self, shard: Shard, game: wp.array, pictures: wp.array) -> None:
        """Draw what the last call of :meth:`emulate` logged for the same consoles."""
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
    """What the console of ``state``, uint8 (1, record), shows in its next frame, with nothing pressed: colours, uint8 (height, 160). The state stays."""
    device = wp.get_device("cpu")
    bench, told, alone = (
        EmulatorBatch(rom_bank, 1, device),
        emulation_result(1, device),
        Shard(0, 1, None, True, device, None),
    )
    machine = wp.array(state, dtype=wp.uint8, device=device)
    games, one = wp.array([game], dtype=wp.int32, device=device), wp.ones(1, dtype=wp.int32, device=device)
    pictures = wp.zeros((1, 2, rom_bank.height, WIDTH), dtype=wp.uint8, device=device)
    pressed = wp.array([[[0, WARM_UP]]], dtype=wp.uint8, device=device)  # of a game that is over, too
    bench.emulate(alone, machine, games, pressed, one, None, told, pictures, window=1)
    bench.draw(alone, games, pictures)
    picture: np.ndarray[Any, np.dtype[np.uint8]] = pictures.numpy()[0, int(told.newest.numpy()[0])]
    return picture
