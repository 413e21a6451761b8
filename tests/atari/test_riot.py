"""The RIOT: its timer against a Python formula, and its ports."""

from __future__ import annotations

import random

import pytest
from bare_machine import run_program

from worldloom.atari.cartridges.cartridge import cartridge

INTERVALS = {0x94: 0, 0x95: 3, 0x96: 6, 0x97: 10}
"""Registers that set the timer, and their intervals as powers of two."""


def image_of(code: bytes) -> bytes:
    image = bytearray([0x02] * 4096)
    image[: len(code)] = code
    image[0xFFC:0xFFE] = bytes([0x00, 0xF0])
    return bytes(image)


class Timer:
    """The timer after it was set to ``value`` at cycle 0."""

    def __init__(self, value: int, shift: int) -> None:
        self.value, self.shift, self.noted = value, shift, None

    def left(self, cycle: int) -> int:
        return self.value - ((cycle - 1) >> self.shift) - 1

    def intim(self, cycle: int) -> int:
        if self.left(cycle) >= 0:
            return self.left(cycle)
        past = (self.value << self.shift) - (cycle - 1) - 1
        if past <= -2 and self.noted is None:
            self.noted = cycle
        if self.noted is not None:
            past = self.value - ((cycle - 1) >> self.shift) - (self.noted - (self.value << self.shift))
        return past & 0xFF

    def timint(self, cycle: int) -> int:
        return 0 if self.left(cycle) >= 0 or self.noted is not None else 0x80


@pytest.mark.parametrize("register", INTERVALS)
@pytest.mark.parametrize("value", [0, 1, 2, 3, 17, 255])
def test_the_timer_counts_by_its_formula(register: int, value: int):
    chance = random.Random(register * 256 + value)
    timer = Timer(value, INTERVALS[register])
    code = bytearray([0xA9, value, 0x8D, register, 0x02])
    cycle, expected = 0, []
    for place in range(100):
        for _ in range(chance.choice([0, 0, 1, 2, 5])):
            code += bytes([0xEA])
            cycle += 2
        if chance.random() < 0.2:  # a wait that makes time pass: 25 rounds of a loop
            code += bytes([0xA2, 25, 0xCA, 0xD0, 0xFD])
            cycle += 2 + 25 * 5 - 1
            crossed = (0xF000 + len(code)) >> 8 != (0xF000 + len(code) - 3) >> 8
            cycle += 24 if crossed else 0
        flag = chance.random() < 0.25
        code += bytes([0xAD, 0x85 if flag else 0x84, 0x02, 0x85, 0x80 + place])
        cycle += 4
        expected.append(timer.timint(cycle) if flag else timer.intim(cycle))
        cycle += 3
    assert run_program(cartridge(image_of(bytes(code)))).memory[0, :100].tolist() == expected


def test_setting_the_timer_anew_forgets_that_it_had_expired():
    code = bytes.fromhex("A9 01 8D 94 02 EA EA EA AD 84 02 A9 05 8D 96 02 EA AD 85 02 85 80 AD 84 02 85 81")
    assert run_program(cartridge(image_of(code))).memory[0, :2].tolist() == [0, 4]


def test_ports_show_their_pins_whatever_is_written():
    code = bytes.fromhex(
        "A9 FF 8D 81 02 8D 83 02 A9 00 8D 80 02 8D 82 02 AD 80 02 85 80 AD 81 02 85 81 AD 82 02 85 82 AD 83 02 85 83"
    )
    assert run_program(cartridge(image_of(code))).memory[0, :4].tolist() == [0xFF, 0xFF, 0x3F, 0x00]


def test_registers_are_mirrored():
    code = bytes.fromhex("A9 40 8D FE 06 EA AD 84 02 85 80 AD 9C 03 85 81 AD 86 02 85 82")
    assert run_program(cartridge(image_of(code))).memory[0, :3].tolist() == [0x3F, 0x3F, 0x3F]
