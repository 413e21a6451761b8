"""Programs that test the TIA beyond what games do, at every clock of a scanline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from references.assembler import CYCLES, Program, Register

FRAME_LINES = 262
_SHOWN = 230  # lines with random writes
_COLOURS = {Register.COLUP0: 0x1E, Register.COLUP1: 0x4E, Register.COLUPF: 0x8E, Register.COLUBK: 0x02}
_OBJECTS = (Register.HMP0, Register.HMP1, Register.HMM0, Register.HMM1, Register.HMBL)
_PLACES = (Register.RESP0, Register.RESP1, Register.RESM0, Register.RESM1, Register.RESBL)
_SWITCHES = (Register.ENAM0, Register.ENAM1, Register.ENABL)
_WRITES = (
    [register for register in Register if register > Register.RSYNC] + [Register.HMOVE] * 2 + [Register.VBLANK]
)  # VSYNC and what waits for the end of a line are no part of random play


def _begin_frame(program: Program) -> None:
    program.set(Register.VSYNC, 2)
    for _ in range(3):
        program.next_line()
    program.set(Register.VSYNC, 0)
    program.line = 0


def _keep_latches(program: Program) -> None:
    for latch in range(8):
        program.keep(latch, latch)
    program.strobe(Register.CXCLR)


def random_writes(seed: int, pause: int, sync: float, writes: list[Register] | None = None) -> bytes:
    """Random writes to random registers, with pauses below ``pause`` cycles, and WSYNC with probability ``sync``."""
    rng, program, cell = np.random.default_rng(seed), Program(), 8
    writes = writes or _WRITES
    _begin_frame(program)
    for register, value in _COLOURS.items():
        program.set(register, value)
    for register in (
        Register.GRP0,
        Register.GRP1,
        Register.PF0,
        Register.PF1,
        Register.PF2,
        Register.NUSIZ0,
        Register.NUSIZ1,
        Register.CTRLPF,
    ):
        program.set(register, int(rng.integers(1, 256)))
    for register in _SWITCHES:
        program.set(register, 2)
    program.set(Register.VBLANK, 0)
    program.wait(int(rng.integers(20, 36)))
    while program.room > 120 and program.line < _SHOWN:
        chance = rng.random()
        if chance < sync:
            program.wait(int(rng.integers(1, 4)))
        elif chance < sync + 0.1 and cell < 0x70:  # below the cells that end the game whose name the program bears
            program.keep(int(rng.integers(8)), cell)
            cell += 1
        else:
            gap = int(rng.integers(pause))
            program.pause(gap if gap != 1 else 0)
            register = writes[rng.integers(len(writes))]
            program.set(register, _random_value(rng, register))
    program.next_line()
    _keep_latches(program)
    program.wait(max(1, FRAME_LINES - 4 - program.line))
    program.set(Register.CTRLPF, 0)
    program.set(Register.VBLANK, 2)
    return program.image()


def _random_value(rng: np.random.Generator, register: Register) -> int:
    if register is Register.VBLANK:
        return 2 * int(rng.random() < 0.1)
    if register in _SWITCHES:
        return 2 * int(rng.random() < 0.8)
    if register in (Register.RESMP0, Register.RESMP1):
        return 2 * int(rng.random() < 0.2)
    return int(rng.integers(256))


def random_frames(seed: int, lengths: list[int]) -> bytes:
    """Frames of random lengths, with VSYNC too short, within a scanline or missing, and writes across frames."""
    rng, program = np.random.default_rng(seed), Program()
    for register, value in _COLOURS.items():
        program.set(register, value)
    for register, value in ((Register.GRP0, 0xA7), (Register.GRP1, 0x35), (Register.ENABL, 2), (Register.PF1, 0x5A)):
        program.set(register, value)
    for _ in range(int(rng.integers(1, 5))):
        program.set(Register.VSYNC, 2)
        program.pause(int(rng.integers(2, 30)))
        for _ in range(int(rng.choice([0, 0, 1, 2, 3, 3, 3, 5]))):
            program.next_line()
        program.pause(int(rng.integers(2, 40)))
        program.set(Register.VSYNC, 0)
        left = int(rng.choice(lengths))
        while left > 0 and program.room > 150:
            lines = min(left, int(rng.integers(1, 60)))
            program.wait(lines)
            left -= lines
            program.pause(int(rng.integers(2, 40)))
            register = rng.choice(
                [
                    Register.VBLANK,
                    Register.HMOVE,
                    Register.RESP0,
                    Register.RESM0,
                    Register.CTRLPF,
                    Register.HMP0,
                    Register.NUSIZ0,
                    Register.COLUBK,
                ]
            )
            program.set(Register(register), int(rng.integers(256)) & (2 if register == Register.VBLANK else 255))
        _keep_latches(program)
    return program.image()


def frames_cut_off() -> Iterator[bytes]:
    """A frame of one colour, then one of another that is cut off: the program never writes again."""
    registers = [register for register in Register if register not in (Register.VSYNC, Register.WSYNC)]
    for cycle, register in [
        *((38 + register % 4, register) for register in registers),
        (36, Register.PF1),
        (73, Register.RESP0),
    ]:
        program = Program()
        for colour in (0x1E, 0x8E):
            _begin_frame(program)
            program.set(Register.COLUBK, colour)
            program.set(Register.VBLANK, 0)
            program.wait(100)
            program.next_line()
            if colour == 0x1E:
                program.wait(150)
        program.strobe_at(cycle, register)
        program.stay()
        yield program.image()


def moves_at_every_cycle() -> Iterator[bytes]:
    """HMOVE in each cycle of a scanline except for the fourth, for slow and fast motion to both sides."""
    cycles = [cycle for cycle in range(3, CYCLES + 2) if cycle != 4]
    for first in range(0, len(cycles), 14):
        program = Program()
        _begin_frame(program)
        for register, value in {
            **_COLOURS,
            Register.GRP0: 0x81,
            Register.GRP1: 0xA5,
            Register.ENAM0: 2,
            Register.ENAM1: 2,
            Register.ENABL: 2,
        }.items():
            program.set(register, value)
        program.wait(30)
        for cycle in cycles[first : first + 14]:
            for motion in (0x70, 0x10, 0x90):
                program.next_line()
                program.set(Register.HMP0, motion)
                for register in _OBJECTS[1:]:
                    program.strobe(register)
                for register in _PLACES:
                    program.pause(2)
                    program.strobe(register)
                program.next_line()
                program.next_line()
                program.strobe_at(cycle, Register.HMOVE)
                program.wait(1)
        program.wait(max(1, FRAME_LINES - 4 - program.line))
        yield program.image()


def objects_over_objects() -> Iterator[bytes]:
    """Every set of players, missiles and ball over a playfield, with every priority."""
    for size in (0x06, 0x25):
        for first in (0, 16):
            program = Program()
            _begin_frame(program)
            for register, value in {
                **_COLOURS,
                Register.PF0: 0x50,
                Register.PF1: 0x89,
                Register.PF2: 0x53,
                Register.NUSIZ0: size,
                Register.NUSIZ1: size,
            }.items():
                program.set(register, value)
            program.next_line()
            program.pause(33)
            for register in (Register.RESBL, Register.RESP0, Register.RESM0, Register.RESP1, Register.RESM1):
                program.strobe(register)
            program.wait(30)
            for shown in range(first, first + 16):
                program.next_line()
                program.set(Register.GRP0, 0xB7 * (shown & 1))
                program.set(Register.GRP1, 0xED * (shown >> 1 & 1))
                for bit, register in enumerate(_SWITCHES):
                    program.set(register, 2 * (shown >> (2 + bit) & 1))
                for mode in (0x00, 0x02, 0x14, 0x26, 0x33):
                    program.next_line()
                    program.set(Register.CTRLPF, mode)
                program.next_line()
                program.keep(shown % 8, 8 + shown)
            program.next_line()
            _keep_latches(program)
            program.wait(max(1, FRAME_LINES - 4 - program.line))
            yield program.image()
