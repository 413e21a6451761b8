"""The opcode table: each instruction of the 6507 as two words of flags, so that a GPU runs all with the same code.

An instruction reads a byte, combines it with a register, and stores the result. Each documented opcode except for
jumps, stack operations and four flag operations is a choice among these, so consoles at different instructions run the
same code: ``native/m6507/m6507_cuda.h``.
"""

from __future__ import annotations

from collections.abc import Iterator

NOTHING, INTO_A, INTO_X, INTO_Y, INTO_S = 0x3210, 0x3214, 0x3240, 0x3410, 0x4210
"""Destination of a result, as a selector of ``pick`` for the word that holds A, X, Y and S."""
A, X, Y, S, BYTE, ZERO = range(6)
"""Left operand: a register, the byte that was read, or 0; a selector of ``pick`` in four bits."""
NO_MORE = 0x444
"""High digits of the selector of the index register, so that ``pick`` extracts only that register."""

FLAGS = (
    "PAGE_ZERO", "POINTS", "CROSSES", "READS", "WRITES",  # addressing; CROSSES adds a cycle at a page crossing
    "ADDS", "INVERTS", "CARRIES", "ONE_MORE", "ANDS", "XORS", "HALVES",  # right operand and operation
    "SETS_NZ", "SETS_C", "SETS_V", "TESTS", "BRANCHES", "SPECIAL", "DECIMAL",
)  # fmt: skip
"""Flags of the second word, from bit 5 on. Below them: cycles (3 bits) and bytes (2 bits). Above them: source of the
byte and left operand (4 bits each)."""
BIT = {name: 1 << (5 + index) for index, name in enumerate(FLAGS)}
FROM_WORD, FROM_A = 5, 0
"""Without memory access the byte is the one after the opcode, or A."""

MODES = {
    # name: bytes, cycles to read, to write, to modify, index register, flags
    "#": (2, 2, 0, 0, ZERO, ""),
    "z": (2, 3, 3, 5, ZERO, "PAGE_ZERO"),
    "zx": (2, 4, 4, 6, X, "PAGE_ZERO"),
    "zy": (2, 4, 4, 6, Y, "PAGE_ZERO"),
    "a": (3, 4, 4, 6, ZERO, ""),
    "ax": (3, 4, 5, 7, X, "CROSSES"),
    "ay": (3, 4, 5, 7, Y, "CROSSES"),
    "(x": (2, 6, 6, 0, X, "PAGE_ZERO POINTS"),
    ")y": (2, 5, 6, 0, ZERO, "PAGE_ZERO POINTS CROSSES"),
}

OPERATIONS = {
    # name: left operand, destination, flags, opcodes
    "LDA": (ZERO, INTO_A, "ADDS SETS_NZ", "A9# A5z B5zx ADa BDax B9ay A1(x B1)y"),
    "LDX": (ZERO, INTO_X, "ADDS SETS_NZ", "A2# A6z B6zy AEa BEay"),
    "LDY": (ZERO, INTO_Y, "ADDS SETS_NZ", "A0# A4z B4zx ACa BCax"),
    "ORA": (A, INTO_A, "ANDS XORS SETS_NZ", "09# 05z 15zx 0Da 1Dax 19ay 01(x 11)y"),
    "AND": (A, INTO_A, "ANDS SETS_NZ", "29# 25z 35zx 2Da 3Dax 39ay 21(x 31)y"),
    "EOR": (A, INTO_A, "XORS SETS_NZ", "49# 45z 55zx 4Da 5Dax 59ay 41(x 51)y"),
    "ADC": (A, INTO_A, "ADDS CARRIES SETS_NZ SETS_C SETS_V DECIMAL", "69# 65z 75zx 6Da 7Dax 79ay 61(x 71)y"),
    "SBC": (A, INTO_A, "ADDS INVERTS CARRIES SETS_NZ SETS_C SETS_V DECIMAL", "E9# E5z F5zx EDa FDax F9ay E1(x F1)y"),
    "CMP": (A, NOTHING, "ADDS INVERTS ONE_MORE SETS_NZ SETS_C", "C9# C5z D5zx CDa DDax D9ay C1(x D1)y"),
    "CPX": (X, NOTHING, "ADDS INVERTS ONE_MORE SETS_NZ SETS_C", "E0# E4z ECa"),
    "CPY": (Y, NOTHING, "ADDS INVERTS ONE_MORE SETS_NZ SETS_C", "C0# C4z CCa"),
    "BIT": (A, NOTHING, "ANDS SETS_NZ SETS_V TESTS", "24z 2Ca"),
    "STA": (A, NOTHING, "WRITES", "85z 95zx 8Da 9Dax 99ay 81(x 91)y"),
    "STX": (X, NOTHING, "WRITES", "86z 96zy 8Ea"),
    "STY": (Y, NOTHING, "WRITES", "84z 94zx 8Ca"),
    "INC": (BYTE, NOTHING, "READS WRITES ONE_MORE SETS_NZ", "E6z F6zx EEa FEax"),
    "DEC": (BYTE, NOTHING, "READS WRITES INVERTS SETS_NZ", "C6z D6zx CEa DEax"),
    "ASL": (BYTE, NOTHING, "READS WRITES ADDS SETS_NZ SETS_C", "06z 16zx 0Ea 1Eax"),
    "ROL": (BYTE, NOTHING, "READS WRITES ADDS CARRIES SETS_NZ SETS_C", "26z 36zx 2Ea 3Eax"),
    "LSR": (ZERO, NOTHING, "READS WRITES HALVES SETS_NZ SETS_C", "46z 56zx 4Ea 5Eax"),
    "ROR": (ZERO, NOTHING, "READS WRITES HALVES CARRIES SETS_NZ SETS_C", "66z 76zx 6Ea 7Eax"),
}

IMPLIED = {
    # opcode: left operand, destination, flags; one byte, two cycles
    0xAA: (A, INTO_X, "SETS_NZ"), 0xA8: (A, INTO_Y, "SETS_NZ"),
    0x8A: (X, INTO_A, "SETS_NZ"), 0x98: (Y, INTO_A, "SETS_NZ"),
    0xBA: (S, INTO_X, "SETS_NZ"), 0x9A: (X, INTO_S, ""),
    0xE8: (X, INTO_X, "ONE_MORE SETS_NZ"), 0xC8: (Y, INTO_Y, "ONE_MORE SETS_NZ"),
    0xCA: (X, INTO_X, "INVERTS SETS_NZ"), 0x88: (Y, INTO_Y, "INVERTS SETS_NZ"),
    0x0A: (A, INTO_A, "ADDS SETS_NZ SETS_C"), 0x2A: (A, INTO_A, "ADDS CARRIES SETS_NZ SETS_C"),
    0x4A: (ZERO, INTO_A, "HALVES SETS_NZ SETS_C"), 0x6A: (ZERO, INTO_A, "HALVES CARRIES SETS_NZ SETS_C"),
    0x18: (ZERO, NOTHING, "SETS_C"), 0x38: (ZERO, NOTHING, "INVERTS ONE_MORE SETS_C"), 0xB8: (ZERO, NOTHING, "SETS_V"),
    0xEA: (ZERO, NOTHING, ""),
}  # fmt: skip

BRANCHES = (0x10, 0x30, 0x50, 0x70, 0x90, 0xB0, 0xD0, 0xF0)
SPECIAL = {
    # opcode: bytes, cycles; opcodes missing in all tables are special too, and count their own
    0x20: (3, 6), 0x60: (1, 6), 0x4C: (3, 3), 0x48: (1, 3), 0x08: (1, 3), 0x68: (1, 4), 0x28: (1, 4),
    0x58: (1, 2), 0x78: (1, 2), 0xD8: (1, 2), 0xF8: (1, 2),
}  # fmt: skip


def _bits(flags: str) -> int:
    return sum(BIT[name] for name in flags.split())


def _encode(
    length: int,
    cycles: int,
    flags: int,
    left: int = ZERO,
    into: int = NOTHING,
    index: int = ZERO,
    byte: int = FROM_WORD,
) -> tuple[int, int]:
    return into | index << 16 | NO_MORE << 20, cycles | length << 3 | flags | byte << 24 | left << 28


def _operation(left: int, into: int, flags: int, mode: str) -> tuple[int, int]:
    length, reading, writing, changing, index, way = MODES[mode]
    if flags & BIT["WRITES"]:
        return _encode(
            length,
            changing if flags & BIT["READS"] else writing,
            flags | _bits(way) & ~BIT["CROSSES"],
            left,
            into,
            index,
        )
    return _encode(length, reading, flags | _bits(way) | (0 if mode == "#" else BIT["READS"]), left, into, index)


def _documented_opcodes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Each documented opcode and its two words."""
    for left, into, flags, ways in OPERATIONS.values():
        for way in ways.split():
            yield int(way[:2], 16), _operation(left, into, _bits(flags), way[2:])
    for opcode, (left, into, flags) in IMPLIED.items():
        yield opcode, _encode(1, 2, _bits(flags), left, into, byte=FROM_A)
    for opcode in BRANCHES:
        yield opcode, _encode(2, 2, BIT["BRANCHES"])
    for opcode, (length, cycles) in SPECIAL.items():
        yield opcode, _encode(length, cycles, BIT["SPECIAL"])


def table() -> list[tuple[int, int]]:
    """The two words of all 256 opcodes."""
    known = dict(_documented_opcodes())
    return [known.get(opcode, _encode(0, 0, BIT["SPECIAL"])) for opcode in range(256)]


def source() -> str:
    """The flags and the table ``OPCODE_TABLE`` as C++ text, the second word of an opcode in the high half."""
    flags = ", ".join(f"{name} = {bit:#x}" for name, bit in BIT.items())
    words = ", ".join(f"{how << 32 | what:#x}ull" for what, how in table())
    return f"enum OpcodeFlag : u32 {{ {flags} }};\nstatic const unsigned long long OPCODE_TABLE[256] = {{{words}}};\n"
