"""Programs that write to the TIA all the time, at all clocks of a scanline, in frames that end."""

from __future__ import annotations

import numpy as np

VSYNC, VBLANK, WSYNC, HMM0, HMOVE, CXCLR = 0x00, 0x01, 0x02, 0x22, 0x2A, 0x2C
REGISTERS = (*range(0x04, 0x15), *range(0x1B, 0x2C))
STACKS = (0x07, 0x08, 0x0B, 0x0F, 0x1C, 0x2C, 0x7E, 0x7F, 0x80, 0x81, 0xFD, 0xFE, 0xFF)
INPUTS = (*range(0x08, 0x0E), *range(0x280, 0x286))
VALUES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 48, 0x60, 0x70, 0x80, 255, 255, 170, 85, 24, 129)
ORIGIN, SIZE, ROUNDS, KEPT = 0xF000, 4096, 0x80, 0x81


def _store(value: int, register: int) -> list[int]:
    return [0xA9, value, 0x85, register]


def _piece(generator: np.random.Generator, address: int, pushes: float) -> list[int]:
    """A few instructions at ``address``."""
    chance, value = generator.random(), int(generator.choice(VALUES))
    register = int(generator.choice(REGISTERS))
    if chance < 0.02:
        return [0x85, WSYNC]
    if chance < 0.08:  # a collision is read, and kept in RAM
        return [0xA5, int(generator.integers(8)), 0x85, KEPT + int(generator.integers(100))]
    if chance < 0.09:
        return _store(int(generator.choice([0, 2, 0x80, 0x82])), VBLANK)
    if chance < 0.09 + pushes:  # JSR pushes two bytes into the chip in one cycle
        return [
            0xA2,
            int(generator.choice([0x0D, 0x12, 0x12, 0x14, 0x1C, 0x29])),
            0x9A,
            0x20,
            address + 6 & 255,
            address + 6 >> 8,
        ]
    if chance < 0.12 + pushes:  # stars
        return [*_store(0x70, HMM0), 0x85, WSYNC, *_store(0x60, HMOVE), *[0xEA] * 9, 0x85, HMM0]
    if chance < 0.16 + pushes:  # a player is placed, and something happens at once
        return [
            0x85,
            0x10 + int(generator.integers(2)),
            0x85,
            int(generator.choice([CXCLR, 0x1B, 0x1C, 0x04, 0x05, HMOVE, 0x0A])),
        ]
    if chance < 0.20 + pushes:  # pushes and pulls, in the chip and at the edges of the RAM
        return [0xA2, int(generator.choice(STACKS)), 0x9A, *map(int, generator.choice([0x48, 0x08, 0x68, 0x28], 3))]
    if chance < 0.24 + pushes:  # a port, the timer, a paddle or a button is read, and kept in RAM
        address = int(generator.choice(INPUTS))
        return [0xAD, address & 255, address >> 8, 0x85, KEPT + int(generator.integers(100))]
    return _store(value, register) if chance < 0.7 else [0x85, register] if chance < 0.9 else [0xEA]


def dense_program(generator: np.random.Generator, pushes: float = 0.03) -> bytes:
    """A 4K image; ``pushes`` is the fraction of pushes onto a stack in the TIA."""
    code = [
        *_store(2, VSYNC),
        *[0x85, WSYNC] * 3,
        *_store(0, VSYNC),
        0xA9,
        int(generator.integers(1, 6)),
        0x85,
        ROUNDS,
        0xA2,
        0xFF,
        0x9A,
    ]
    code += [*[0x85, WSYNC] * int(generator.integers(45)), *_store(0, VBLANK)]
    again = ORIGIN + len(code)
    while len(code) < SIZE - 80:
        code += _piece(generator, ORIGIN + len(code), pushes)
    code += [
        0xC6,
        ROUNDS,
        0xF0,
        0x03,
        0x4C,
        again & 255,
        again >> 8,
        *_store(0x82, VBLANK),
        *[0x85, WSYNC] * int(generator.integers(8)),
        0x4C,
        0x00,
        0xF0,
    ]
    return bytes([*code, *[0xEA] * (SIZE - 6 - len(code)), *[0x00, 0xF0] * 3])


def edge_programs() -> list[bytes]:
    """Edge cases, one image each, with frames that are cut off.

    The stack leaves the RAM, queues are full, players just miss each other, and a frame ends at a push.
    """
    shown = [*_store(2, VSYNC), *[0x85, WSYNC] * 3, *_store(0, VSYNC), *[0x85, WSYNC] * 60, *_store(0, VBLANK)]
    nusiz, colupf, pf1, grp0, grp1, resp0, resp1, hmp0 = 0x04, 0x08, 0x0E, 0x1B, 0x1C, 0x10, 0x11, 0x20

    def stack(at: int) -> list[int]:
        return [0xA2, at, 0x9A]

    def wait(rounds: int) -> list[int]:
        """About 320 cycles per iteration."""
        return [0xA0, rounds, 0xA2, 64, 0xCA, 0xD0, 0xFD, 0x88, 0xD0, 0xF8]

    def place(register: int, pause: int) -> list[int]:
        return [0x85, WSYNC, *[0xEA] * pause, 0x85, register]

    beside = [
        *place(resp0, 22),
        *place(resp1, 24),
        *_store(255, grp0),
        0x85,
        grp1,
        *_store(0x80, hmp0),
        *[0x85, WSYNC] * 9,
    ]

    bodies = [
        [
            *shown,
            *beside,
            *place(HMOVE, 0),
            *_store(0, grp1),
            0xA5,
            0x07,
            0x85,
            KEPT,
        ],  # one player moves to where the other was until then
        [*shown, *_store(5, nusiz), 0xA5, 0x0C],  # the last access is a read of an input
        [*shown, *stack(0x0B), *_store(5, nusiz), 0x68],
        [*shown, *stack(0x0B), *_store(5, nusiz), 0x28],
        [
            *shown,
            *_store(0, colupf),
            *_store(5, nusiz),
            *_store(0, colupf),
        ],  # the last access tells the chip what it knows
        [*shown, *stack(0x80), 0x20, 0x00, 0xF1],  # JSR, half of it into the chip
        [*shown, *stack(0x7E), *_store(0xF1, 0x80), 0x60],  # RTS, half of it from the chip
        [*shown, *stack(0x2C), *_store(2, WSYNC), *[0x48] * 18],  # more pushes in a line than can wait
        [*shown, *stack(0x2C), 0x85, WSYNC, *[0x08] * 18],
        [*wait(200), *stack(0x1C), 0xA9, 0xAA, 0x48, 0x85, pf1],  # the first access after the last line
        [*wait(200), *stack(0x1C), 0xA9, 0xAA, 0x08, 0x85, pf1],
        [
            *[0xEA] * 3,
            *wait(0),
            *wait(0),
            *wait(0),
            *wait(0),
            0xA9,
            0x55,
            0x85,
            pf1,
            0x85,
            grp0,
            0x85,
            resp0,
        ],  # a first access after 2^18 cycles
    ]

    def image(body: list[int]) -> bytes:
        stay = ORIGIN + len(body)
        code = [*body, 0x4C, stay & 255, stay >> 8]
        code += [0xEA] * (0x100 - len(code)) + [*_store(0x18, grp0), 0x4C, 0x04, 0xF1]
        return bytes([*code, *[0xEA] * (SIZE - 6 - len(code)), *[0x00, 0xF0] * 3])

    return [image(body) for body in bodies]
