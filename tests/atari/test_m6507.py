"""The 6507: documented instructions against py65; undocumented ones and timing against fixed values."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bare_machine import JAM, MAX_INSTRUCTIONS, Machines, run_program
from thorough import THOROUGH

from worldloom.atari.cartridges.cartridge import POLL, cartridge

mpu6502 = pytest.importorskip("py65.devices.mpu6502", reason="py65, the second opinion on the 6502, is not installed")

CASES_OF_AN_OPCODE = 12 if THOROUGH else 5
CORRECTED = {0xCE: 6}
"""Cycles of DEC absolute, which py65 counts as 3."""
ORIGIN = 0xF000


class TouchedError(Exception):
    """An address of a chip was accessed."""


class Board:
    """Memory as the console decodes it: RAM and ROM with their mirrors."""

    def __init__(self, ram: bytearray, rom: bytes) -> None:
        self.ram, self.rom = ram, rom

    def __getitem__(self, address: int) -> int:
        if address & 0x1000:
            return self.rom[address & 0xFFF]
        if address & 0x280 == 0x80:
            return self.ram[address & 0x7F]
        raise TouchedError

    def __setitem__(self, address: int, value: int) -> None:
        if address & 0x1280 == 0x80:
            self.ram[address & 0x7F] = value
        elif not address & 0x1000:
            raise TouchedError


def documented() -> dict[int, int]:
    """The documented opcodes and the lengths of their instructions."""
    lengths = {"imp": 1, "acc": 1, "abs": 3, "abx": 3, "aby": 3, "ind": 3}
    return {
        opcode: lengths.get(mode, 2) for opcode, (name, mode) in enumerate(mpu6502.MPU().disassemble) if name != "???"
    }


def case_of(
    opcode: int, length: int, place: int, image: bytearray, chance: random.Random
) -> tuple[list[int], bytearray]:
    """Registers and RAM of a case: one instruction, written to ``place``, that accesses only RAM and ROM."""
    while True:
        ram = bytearray(chance.randbytes(128))
        low, high = chance.randrange(256), chance.choice([0, 1, 4, 0x10, 0xF0, 0xF7, 0xFF, 0x0D, 0x55])
        image[place : place + length] = bytes([opcode, low, high])[:length]
        flags = chance.randrange(256) | 0x30
        if opcode & 0x61 == 0x61:  # ADC and SBC in decimal mode are tested on their own
            flags &= ~8
        registers = [
            ORIGIN + place,
            *(chance.choice([chance.randrange(256), 0, 255, 127, 128]) for _ in range(3)),
            chance.randrange(0x83, 0xFD),
            flags,
        ]
        try:
            after = step(registers, ram, image)[0][0]
        except TouchedError:
            continue
        if after == ORIGIN + place + length or (after & 0x1000 and after & 0xFFF < 0xFF0 and not 7 <= after & 15 < 10):
            return registers, ram


def step(registers: list[int], ram: bytearray, image: bytes) -> tuple[list[int], bytearray, int]:
    """One instruction on py65: registers, RAM and cycles after it."""
    after = bytearray(ram)
    mpu = mpu6502.MPU(Board(after, bytes(image)))
    mpu.pc, mpu.a, mpu.x, mpu.y, mpu.sp, mpu.p = registers
    mpu.step()
    return [mpu.pc, mpu.a, mpu.x, mpu.y, mpu.sp, mpu.p | 0x30], after, mpu.processorCycles


@pytest.mark.parametrize("by_lines", [False, True], ids=["as on a CPU", "as on a GPU"])
def test_documented_instructions_do_what_py65_does(by_lines: bool):
    chance = random.Random(6507)
    lengths = documented()
    opcodes = [opcode for opcode in lengths for _ in range(CASES_OF_AN_OPCODE)]
    chance.shuffle(opcodes)
    for batch in (opcodes[start : start + 250] for start in range(0, len(opcodes), 250)):
        image = bytearray([JAM] * 4096)
        image[0xFFE:] = bytes([0x34, 0xF5])
        cases = [case_of(opcode, lengths[opcode], 16 * k + 7, image, chance) for k, opcode in enumerate(batch)]
        machines = Machines(
            cartridge(bytes(image)),
            np.array([r for r, _ in cases]),
            np.array([list(ram) for _, ram in cases], np.uint8),
        ).run(by_lines=by_lines)
        for k, opcode in enumerate(batch):
            registers, ram, cycles = step(*cases[k], image)
            name = f"{opcode:02X} with {cases[k][0]}"
            assert machines.registers[k, :6].tolist() == registers, name
            assert bytes(machines.memory[k]) == bytes(ram), name
            assert machines.registers[k, 6] == CORRECTED.get(opcode, cycles) + 2 * (MAX_INSTRUCTIONS - 1), name


def program(*instructions: str, end: int = JAM) -> bytes:
    """An image of 4 KiB with hexadecimal instructions at $F000, filled with JAM."""
    code = bytes.fromhex(" ".join(instructions))
    image = bytearray([end] * 4096)
    image[: len(code)] = code
    image[0xFFC:0xFFE] = bytes([0x00, 0xF0])
    return bytes(image)


def ram_after(*instructions: str) -> bytes:
    return bytes(run_program(cartridge(program(*instructions))).memory[0])


@pytest.mark.parametrize(
    ("one", "other", "carry", "total"),
    [(0x19, 0x28, 0, 0x47), (0x99, 0x01, 0, 0x100), (0x58, 0x46, 1, 0x105), (0, 0, 1, 1), (0x99, 0x99, 1, 0x199)],
)
def test_decimal_sums_and_differences(one: int, other: int, carry: int, total: int):
    enter = "38" if carry else "18"
    ram = ram_after(f"F8 {enter} A9 {one:02X} 69 {other:02X} 85 80")
    assert ram[0] == total & 0xFF
    back = ram_after(f"F8 {'18' if carry else '38'} A9 {total & 0xFF:02X} E9 {other:02X} 85 80")
    assert back[0] == one


def test_a_carry_out_of_a_decimal_sum_is_seen():
    assert ram_after("F8 18 A9 99 69 01 D8 A9 00 69 00 85 80")[0] == 1
    assert ram_after("F8 18 A9 98 69 01 D8 A9 00 69 00 85 80")[0] == 0


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ("A9 0F 85 90 A9 F0 07 90", {0x10: 0x1E, "a": 0xFE}),  # SLO
        ("38 A9 81 85 90 A9 FF 27 90", {0x10: 0x03, "a": 0x03}),  # RLA
        ("A9 05 85 90 A9 FF 47 90", {0x10: 0x02, "a": 0xFD}),  # SRE
        ("38 A9 04 85 90 A9 01 67 90", {0x10: 0x82, "a": 0x83}),  # RRA
        ("A9 3C A2 0F 87 90", {0x10: 0x0C}),  # SAX
        ("A9 77 85 90 A9 00 A7 90", {"a": 0x77, "x": 0x77}),  # LAX
        ("A9 10 85 90 A9 0F C7 90 A9 00 2A", {0x10: 0x0F, "a": 1}),  # DCP
        ("38 A9 0F 85 90 A9 30 E7 90", {0x10: 0x10, "a": 0x20}),  # ISB
        ("A9 C3 0B 81 A9 00 2A", {"a": 1}),  # ANC
        ("A9 FF 4B 03", {"a": 0x01}),  # ASR
        ("38 A9 FF 6B 80", {"a": 0xC0}),  # ARR
        ("A9 F0 A2 3C CB 10", {"x": 0x20}),  # SBX
        ("38 A9 30 EB 10", {"a": 0x20}),  # SBC
        ("A2 83 9E 80 04", {0x00: 0x01}),  # SHX lets through what the page after it has
        ("04 80 14 80 0C 80 00 1C 80 00 80 80 1A A9 05", {"a": 5}),  # NOPs
    ],
)
def test_undocumented_instructions(instructions: str, expected: dict[int | str, int]):
    machine = run_program(cartridge(program(instructions)))
    result = {**dict(enumerate(machine.memory[0].tolist())), "a": machine.registers[0, 1], "x": machine.registers[0, 2]}
    assert {key: result[key] for key in expected} == expected


def test_every_opcode_ends_a_run():
    """Any byte runs to the limit of 25,000 instructions."""
    images = [program(f"{opcode:02X}", end=opcode) for opcode in range(256)]
    for image in images[::5]:
        machine = run_program(cartridge(image))
        assert machine.registers[0, 7] == MAX_INSTRUCTIONS
        assert machine.registers[0, 6] >= 2 * MAX_INSTRUCTIONS


@pytest.mark.parametrize("read", ["AD 84 02", "AE 84 02", "AC 84 02", "2C 85 02", "AD 85 02"])
@pytest.mark.parametrize("branch", ["D0", "10", "30"])
@pytest.mark.parametrize(
    ("interval", "value"), [(0x94, 200), (0x95, 37), (0x96, 140), (0x97, 9), (0x96, 0), (0x97, 255)]
)
def test_waiting_for_the_timer_ends_as_if_every_round_were_run(read: str, branch: str, interval: int, value: int):
    """Skipping iterations of a timer-polling loop changes no cycle, register or flag; the last case ends in a wait."""
    image = program(
        f"A9 {value:02X} 8D {interval:02X} 02 EA", read, branch, "FB 08 68 85 80 86 81 84 82 AD 84 02 85 83"
    )
    cart = cartridge(image)
    ending = [
        run_program(cart, words=words, by_lines=by_lines)
        for words in (cart.words, cart.words & ~np.uint32(POLL))
        for by_lines in (False, True)
    ]
    for other in ending[1:]:
        assert np.array_equal(ending[0].registers, other.registers)
        assert np.array_equal(ending[0].memory, other.memory)
    flagged = (cart.words & POLL).any()
    assert flagged == (branch == "10" or "84 02" in read)


def test_a_wait_across_a_page_takes_its_extra_cycle():
    image = bytearray(program("A9 40 8D 96 02 4C FC F0"))
    image[0x0FC:0x104] = bytes.fromhex("AD 84 02 D0 FB 85 80 02")
    cart = cartridge(bytes(image))
    ending = [run_program(cart, words=words) for words in (cart.words, cart.words & ~np.uint32(POLL))]
    assert (cart.words[0x0FC] & POLL) and np.array_equal(ending[0].registers, ending[1].registers)


def test_the_stack_lies_in_ram_and_is_seen_through_page_zero():
    assert ram_after("A2 FF 9A A9 5A 48 A5 FF 85 80")[0] == 0x5A


@pytest.mark.parametrize(
    ("instructions", "last"),
    [
        ("A5 32", 0x32), ("A2 02 B5 31", 0x31), ("AD 32 11", None), ("AD 32 01", 0x01), ("A2 01 BD 31 01", 0x01),
        ("A9 02 85 90 A9 25 85 91 A0 00 B1 90", 0x25), ("A9 02 85 90 A9 25 85 91 A2 01 A1 8F", 0x25),
        ("A2 05 9A 68", 0x28), ("A9 2D 85 FF A2 FF 9A 68", 0x2D),
    ],
)  # fmt: skip
def test_undriven_bits_are_those_of_the_last_byte_on_the_bus(instructions: str, last: int | None):
    """Reads of the TIA leave six bits of the bus: the last byte of the instruction or of its pointer."""
    result = ram_after(instructions, "85 80")[0]
    assert result == (JAM if last is None else last & 0x3F)
