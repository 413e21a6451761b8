"""Test programs in ALE and in the emulated 6507: every opcode, decimal mode, the timer, and bank switching.

ALE loads an unknown image under the name of a game. The RAM that a program leaves is compared.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from bare_machine import run_program

from worldloom.atari.cartridges.cartridge import KIB, CartridgeKind, cartridge

ale_py = pytest.importorskip("ale_py", reason="ale-py is not installed")

JAMS = {0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2}
JUMPS = {0x00, 0x20, 0x40, 0x60, 0x4C, 0x6C}
MOVES_STACK = {0x9A, 0x9B, 0xBB}
MOST_CASES = 60
"""Instructions per program."""
COUNT, RESULT, VALUE, POINTER = 0xD0, 0xD1, 0xD8, 0xE8
"""RAM addresses of the case counter, of the seven bytes of a case, and of operands."""
MIX = bytes.fromhex("A2 06 A9 00 C9 80 2A 55 D1 CA 10 F8 A6 D0 95 80 E6 D0 60")
"""A subroutine that hashes the seven bytes of a case into one and stores it."""
MIX_AT = 0xFFF0 - len(MIX)
START = bytes.fromhex("78 D8 A2 FF 9A A9 00 A2 7F 95 80 CA 10 FB")
"""Clears RAM."""
FRAMES = bytes.fromhex("A9 02 85 00 85 02 85 02 85 02 A9 00 85 00 A0 E6 85 02 88 D0 FB")
"""One empty frame; to be followed by a jump back."""


def length(opcode: int) -> int:
    low = opcode & 0x1F
    if low in (0x0C, 0x0D, 0x0E, 0x0F, 0x19, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F):
        return 3
    return 1 if low in (0x08, 0x0A, 0x12, 0x18, 0x1A) or (low == 0x02 and opcode < 0x80) else 2


def operand(opcode: int, value: int, index: tuple[int, int], chance: random.Random) -> tuple[bytes, bytes, int]:
    """Operand bytes that address RAM, instructions that prepare a pointer, and the zero-page address."""
    x, y = index
    low, zero = opcode & 0x1F, VALUE + chance.randrange(16)
    mirror = chance.randrange(4) * 0x400 + chance.randrange(2) * 0x100 + zero
    if length(opcode) == 1:
        return b"", b"", zero
    if low == 0x10:
        return bytes([1]), b"", zero  # a branch over one instruction
    if low in (0x01, 0x03):
        return (
            bytes([(POINTER - x) & 0xFF]),
            bytes([0xA9, mirror & 0xFF, 0x85, POINTER, 0xA9, mirror >> 8, 0x85, POINTER + 1]),
            zero,
        )
    if low in (0x11, 0x13):
        base = (mirror - y) & 0xFFFF
        return bytes([POINTER]), bytes([0xA9, base & 0xFF, 0x85, POINTER, 0xA9, base >> 8, 0x85, POINTER + 1]), zero
    by_y = opcode in (0x96, 0x97, 0xB6, 0xB7, 0x9E, 0x9F, 0xBE, 0xBF) or low in (0x19, 0x1B)
    if length(opcode) == 3:
        base = (mirror - (0 if low < 0x10 else y if by_y else x)) & 0xFFFF
        return bytes([base & 0xFF, base >> 8]), b"", zero
    if low in (0x04, 0x05, 0x06, 0x07):
        return bytes([zero]), b"", zero
    if low in (0x14, 0x15, 0x16, 0x17):
        return bytes([(zero - (y if by_y else x)) & 0xFF]), b"", zero
    return bytes([value]), b"", zero


def case_of(opcode: int, chance: random.Random, flags: int) -> bytes:
    """One instruction on random registers, then stores of A, X, cycles, P, Y, the operand and S."""
    a, value = (chance.choice([chance.randrange(256), 0, 255, 0x80, 0x7F, 0x99, 0x0F]) for _ in range(2))
    x, y = chance.randrange(256), chance.randrange(256)
    after, prepare, zero = operand(opcode, value, (x, y), chance)
    code = prepare + bytes(
        [
            0xA9,
            value,
            0x85,
            zero,
            0xA9,
            0x5A,
            0x48,
            0x48,
            0xA9,
            flags,
            0x48,
            0xA2,
            x,
            0xA0,
            y,
            0xA9,
            200,
            0x8D,
            0x94,
            0x02,
            0xA9,
            a,
            0x28,
        ]
    )
    code += (
        bytes([opcode])
        + after
        + (bytes([0xE8]) if opcode & 0x1F == 0x10 else b"")
        + bytes([0x85, RESULT, 0x86, RESULT + 1])
    )
    if opcode in MOVES_STACK:
        code += bytes([0xBA, 0x86, RESULT + 5, 0xA2, 0xFF, 0x9A])
    code += bytes(
        [
            0x08,
            0xD8,
            0xAD,
            0x84,
            0x02,
            0x85,
            RESULT + 2,
            0x68,
            0x85,
            RESULT + 3,
            0x84,
            RESULT + 4,
            0xBA,
            0x86,
            RESULT + 6,
            0xA2,
            0xFF,
            0x9A,
        ]
    )
    if opcode not in MOVES_STACK:
        code += bytes([0xA5, zero, 0x85, RESULT + 5])
    return code + bytes([0x20, (MIX_AT & 0xFF), MIX_AT >> 8])


def image_of(body: bytes) -> bytes:
    """A 4K image with a program that runs once and then draws empty frames."""
    code = START + body
    loop = 0xF000 + len(code)
    code += FRAMES + bytes([0x4C, loop & 0xFF, loop >> 8])
    assert len(code) < MIX_AT & 0xFFF
    return code + bytes((MIX_AT & 0xFFF) - len(code)) + MIX + bytes(12) + bytes([0x00, 0xF0, 0x00, 0xF0])


@pytest.fixture
def assert_equal(tmp_path: Path):
    """Run an image on ALE and on the emulated 6507, and compare RAM."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

    def compare(image: bytes, name: str = "tetris", message: str = "") -> None:
        (tmp_path / f"{name}.bin").write_bytes(image)
        ale = ale_py.ALEInterface()
        ale.loadROM(tmp_path / f"{name}.bin")
        np.testing.assert_array_equal(run_program(cartridge(image)).memory[0], ale.getRAM(), err_msg=message)

    return compare


def run_cases(assert_equal, cases: list[tuple[int, int]], chance: random.Random) -> None:
    for first in range(0, len(cases), MOST_CASES):
        part = cases[first : first + MOST_CASES]
        assert_equal(
            image_of(b"".join(case_of(opcode, chance, flags) for opcode, flags in part)),
            message=f"opcodes {[f'{opcode:02X}' for opcode, _ in part]}",
        )


def test_every_opcode_leaves_what_it_leaves_in_ale(assert_equal):
    chance = random.Random(2600)
    cases = [(opcode, chance.randrange(256)) for opcode in range(256) if opcode not in JAMS | JUMPS]
    chance.shuffle(cases)
    run_cases(assert_equal, cases, chance)


def test_digits_above_nine_add_up_as_in_ale(assert_equal):
    chance = random.Random(10)
    run_cases(
        assert_equal,
        [(opcode, 0x08 | chance.randrange(2)) for opcode in (0x69, 0xE9, 0x65, 0xF5, 0xEB, 0x67, 0xE7) * 10],
        chance,
    )


@pytest.mark.parametrize("register", [0x94, 0x95, 0x96, 0x97])
@pytest.mark.parametrize("value", [0, 1, 6])
def test_the_timer_counts_as_in_ale(assert_equal, register: int, value: int):
    chance = random.Random(value)
    body = bytes([0xA9, value, 0x8D, register, 0x02])
    for place in range(80):
        body += bytes([0xAD, chance.choice([0x84, 0x84, 0x84, 0x85]), 0x02, 0x85, 0x80 + place]) + bytes(
            [0xEA] * chance.choice([0, 1, 7])
        )
        body += bytes([0xA2, 40, 0xCA, 0xD0, 0xFD]) if chance.random() < 0.15 else b""
    assert_equal(image_of(body))


def test_ports_show_what_they_show_in_ale(assert_equal):
    body = bytes.fromhex(
        "A9 5A 8D 80 02 8D 82 02 A9 F0 8D 81 02 8D 83 02 AD 80 02 85 80 AD 81 02 85 81 "
        "AD 82 02 85 82 AD 83 02 85 83 AD 9C 03 85 84"
    )
    assert_equal(image_of(body + bytes.fromhex("A5 80 A9 00 85 84")))


@pytest.mark.parametrize(
    "read",
    [
        "A5 32",
        "A2 6F B5 93",
        "A0 6F B6 93 8A",
        "AD 32 25",
        "A2 13 BD FF 24",
        "A2 20 BD F0 1F",
        "A2 FF 9A 68",
        "A2 05 9A 68",
        "A2 FF 9A 28 08 68",
        "A2 08 9A 68",
    ],
)
def test_undriven_bits_are_those_of_ale(assert_equal, read: str):
    """Reads of the TIA, whose low bits are not driven: they are those of the last byte on the bus."""
    fill = "A2 7F 8A 49 55 95 80 CA 10 F8"
    assert_equal(image_of(bytes.fromhex(f"{fill} {read} 85 A0 D8 A2 FF 9A")))


BANKS = {
    CartridgeKind.F8: (8, range(0xFFF8, 0xFFFA), ""),
    CartridgeKind.F8SC: (8, range(0xFFF8, 0xFFFA), ""),
    CartridgeKind.F6: (16, range(0xFFF6, 0xFFFA), ""),
    CartridgeKind.F6SC: (16, range(0xFFF6, 0xFFFA), ""),
    CartridgeKind.F4: (32, range(0xFFF4, 0xFFFC), ""),
    CartridgeKind.FA: (12, range(0xFFF8, 0xFFFB), ""),
    CartridgeKind.E0: (8, range(0xFFE0, 0xFFF8), "8D E0 1F"),
    CartridgeKind.FE: (8, range(0), "20 00 D0 C6 C5"),
    CartridgeKind.UA: (8, range(0x220, 0x221), "8D 40 02"),
    CartridgeKind.DPC: (10, range(0xFFF8, 0xFFFA), ""),
}
"""Kinds with equal bank switching in ALE: KiB, hotspots, and a signature of the kind."""
RAM = {CartridgeKind.F8SC: 128, CartridgeKind.F6SC: 128, CartridgeKind.FA: 256}


@pytest.mark.parametrize("kind", BANKS)
def test_banks_and_ram_answer_as_in_ale(assert_equal, kind: CartridgeKind):
    """Random cartridge accesses: every KiB holds the same program and its own bytes, so it survives bank switches."""
    chance = random.Random(int(kind))
    size, hotspots, sign = BANKS[kind]
    ram = RAM.get(kind, 0)
    code, place = START, 0x80
    if ram:
        code += bytes([0xA2, 0x00, 0x9D, 0x00, 0xF0, 0xE8, 0xE0, ram & 0xFF, 0xD0, 0xF8])  # zeros
    if kind is CartridgeKind.DPC:
        code += bytes([0xA9, 0x00, 0xA2, 0x1F, 0x9D, 0x40, 0xF0, 0xCA, 0x10, 0xFA])  # zeros in all registers
    while len(code) < 0x200 - 0x30:
        touch = chance.random()
        if hotspots and touch < 0.3:
            spot = chance.choice(hotspots)
            code += bytes([chance.choice([0xAD, 0x8D]), spot & 0xFF, spot >> 8])
        elif kind is CartridgeKind.DPC and touch < 0.7:
            register, value = (
                chance.randrange(0x40, 0x60),
                chance.randrange(256) & (7 if chance.random() < 0.5 else 0xEF),
            )
            code += bytes([0xA9, value & 0xEF, 0x8D, register, 0xF0])
        elif ram and touch < 0.6:
            code += bytes([0xA9, chance.randrange(256), 0x8D, chance.randrange(ram), 0xF0])
        else:
            at = chance.choice([0xF300, 0xF700, 0xFB00, 0xFF00]) + chance.randrange(128)
            if ram and chance.random() < 0.5:
                at = 0xF000 + chance.randrange(2 * ram)
            if kind is CartridgeKind.DPC:
                at = chance.choice([at, 0xF000 + chance.randrange(8, 0x40)])
            if kind is CartridgeKind.FE and chance.random() < 0.5:
                at &= 0xDFFF
            code += bytes([0xAD, at & 0xFF, at >> 8, 0x85, place])
            place += 1
    assert_equal(banked_image(kind, size, sign, code), "pitfall2" if kind is CartridgeKind.DPC else "tetris")


def banked_image(kind: CartridgeKind, size: int, sign: str, code: bytes) -> bytes:
    loop = 0xFD00 + len(code)
    code += FRAMES + bytes([0x4C, loop & 0xFF, loop >> 8])
    image = bytearray(random.Random(int(kind)).randbytes(size * KIB))
    for start in range(0, len(image), KIB):
        image[start + 0x100 : start + 0x100 + len(code)] = code
        image[start + 0x3FC : start + 0x400] = bytes([0x00, 0xFD, 0x00, 0xFD])
        if kind in (CartridgeKind.F8SC, CartridgeKind.F6SC) and start % (4 * KIB) == 0:
            image[start : start + 256] = bytes(256)
    image[0x390 : 0x390 + len(bytes.fromhex(sign))] = bytes.fromhex(sign)
    assert cartridge(bytes(image)).kind is kind
    return bytes(image)
