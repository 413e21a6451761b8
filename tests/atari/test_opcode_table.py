"""The opcode table: lengths, disjoint fields, and valid selectors."""

from __future__ import annotations

import re

from worldloom.atari import native
from worldloom.atari.native import opcode_table

TABLE = opcode_table.table()
COUNTED = {opcode: words for opcode, words in enumerate(TABLE) if words[1] & 7}
"""Opcodes with cycles in the table: all documented ones except for three, which count their own."""
BREAK, RETURN_FROM_INTERRUPT, JUMP_BY_POINTER = 0x00, 0x40, 0x6C


def lengths() -> list[int]:
    """Lengths of instructions, parsed from ``native/machine/common.h``."""
    text = re.findall(r"LENGTHS\[16\] = \{(.*?)\}", native.header("machine/common"), flags=re.DOTALL)[0]
    words = [int(word, 16) for word in re.findall(r"0x([0-9A-F]{8})u", text)]
    return [words[opcode >> 4] >> 2 * (opcode & 15) & 3 for opcode in range(256)]


def test_148_of_the_151_documented_opcodes_are_there_once():
    assert len(TABLE) == 256 and len(COUNTED) == 148
    assert len(list(opcode_table._documented_opcodes())) == 148  # none is named twice
    assert not {BREAK, RETURN_FROM_INTERRUPT, JUMP_BY_POINTER} & COUNTED.keys()
    assert all(
        how >> 3 & 3 == 0 and how & opcode_table.BIT["SPECIAL"]
        for opcode, (_, how) in enumerate(TABLE)
        if opcode not in COUNTED
    )


def test_lengths_are_those_by_which_instructions_are_fetched():
    read = lengths()
    assert {opcode: how >> 3 & 3 for opcode, (_, how) in COUNTED.items()} == {
        opcode: read[opcode] for opcode in COUNTED
    }
    assert read[BREAK] == 1  # it goes past the byte behind it, which is not read


def test_fields_do_not_overlap():
    how = [0b111, 0b11 << 3, *opcode_table.BIT.values(), 0xF << 24, 0xF << 28]
    assert sum(how) == 0xFFFFFFFF  # no bit is in two of them
    assert all(what >> 20 == opcode_table.NO_MORE and bits < 1 << 32 for what, bits in TABLE)


def test_bytes_are_picked_that_are_there():
    for opcode, (what, how) in enumerate(TABLE):
        left, index, byte = how >> 28, what >> 16 & 15, how >> 24 & 15
        assert (
            left <= opcode_table.ZERO
            and index in (opcode_table.X, opcode_table.Y, opcode_table.ZERO)
            and byte in (opcode_table.FROM_A, opcode_table.FROM_WORD)
        ), hex(opcode)
        into = [what >> 4 * place & 15 for place in range(4)]
        assert all(picked in (place, 4) for place, picked in enumerate(into)), hex(opcode)
        assert into.count(4) <= 1, hex(opcode)  # every register stays, or one of them gets the result
