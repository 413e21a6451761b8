"""Programs for the Atari 2600, written down instruction by instruction with the cycles that they take."""

from __future__ import annotations

from enum import IntEnum

ORIGIN = 0xF000
SIZE = 4096
CYCLES = 76
"""Of a line."""


class Register(IntEnum):
    """Registers of the television chip, by their addresses."""

    VSYNC = 0x00
    VBLANK = 0x01
    WSYNC = 0x02
    RSYNC = 0x03
    NUSIZ0 = 0x04
    NUSIZ1 = 0x05
    COLUP0 = 0x06
    COLUP1 = 0x07
    COLUPF = 0x08
    COLUBK = 0x09
    CTRLPF = 0x0A
    REFP0 = 0x0B
    REFP1 = 0x0C
    PF0 = 0x0D
    PF1 = 0x0E
    PF2 = 0x0F
    RESP0 = 0x10
    RESP1 = 0x11
    RESM0 = 0x12
    RESM1 = 0x13
    RESBL = 0x14
    GRP0 = 0x1B
    GRP1 = 0x1C
    ENAM0 = 0x1D
    ENAM1 = 0x1E
    ENABL = 0x1F
    HMP0 = 0x20
    HMP1 = 0x21
    HMM0 = 0x22
    HMM1 = 0x23
    HMBL = 0x24
    VDELP0 = 0x25
    VDELP1 = 0x26
    VDELBL = 0x27
    RESMP0 = 0x28
    RESMP1 = 0x29
    HMOVE = 0x2A
    HMCLR = 0x2B
    CXCLR = 0x2C


class Program:
    """A program of 4 KiB. It clears RAM and chip, and then goes through what is written down, again and again.

    Attributes:
        cycle: The cycles of the current line so far, as long as :meth:`next_line` began it.
        line: The lines since the program began.
    """

    def __init__(self) -> None:
        self._code = bytearray(
            (0x78, 0xD8, 0xA2, 0xFF, 0x9A, 0xA9, 0x00, 0x95, 0x00, 0xCA, 0xD0, 0xFB)
        )  # SEI, CLD, the stack, zeros from $01 to $FF
        self._loop = ORIGIN + len(self._code)
        self.cycle = self.line = 0

    @property
    def room(self) -> int:
        """Bytes that are left."""
        return SIZE - 8 - len(self._code)

    def _take(self, cycles: int, *code: int) -> None:
        self._code.extend(code)
        self.cycle += cycles
        self.line += self.cycle // CYCLES
        self.cycle %= CYCLES

    def set(self, register: Register, value: int) -> None:
        self._take(2, 0xA9, value & 255)  # LDA #value
        self.strobe(register)

    def strobe(self, register: Register) -> None:
        """Write to a register, whatever A holds, in 3 cycles."""
        self._take(3, 0x85, register)  # STA register

    def strobe_at(self, cycle: int, register: Register) -> None:
        """Write to a register so that the instruction ends with a cycle of the line, 3 cycles or more from here."""
        gap = cycle - self.cycle - 3
        if gap == 1:
            self._take(4, 0x8D, register, 0)  # STA register, with an address of two bytes
        else:
            self.pause(gap)
            self.strobe(register)

    def keep(self, latch: int, cell: int) -> None:
        """Copy a collision latch, 0 to 7, to a cell of the RAM, 0 to 127."""
        self._take(6, 0xA5, latch, 0x85, 0x80 + cell)  # LDA latch, STA cell

    def pause(self, cycles: int) -> None:
        """Let cycles go by: any number but 1."""
        assert cycles >= 0 and cycles != 1
        if cycles % 2:
            self._take(3, 0x24, 0x80)  # BIT $80
            cycles -= 3
        for _ in range(cycles // 2):
            self._take(2, 0xEA)  # NOP

    def next_line(self) -> None:
        """Wait for the end of the line."""
        self._take(0, 0x85, Register.WSYNC)
        self.line, self.cycle = self.line + 1, 0

    def wait(self, lines: int) -> None:
        """Wait for the end of 1 to 255 lines."""
        self._take(
            0, 0xA2, lines, 0x85, Register.WSYNC, 0xCA, 0xD0, 0xFB
        )  # LDX #lines, and until X is 0: STA WSYNC, DEX, BNE
        self.line, self.cycle = self.line + lines, 4

    def stay(self) -> None:
        """Do nothing for ever."""
        here = ORIGIN + len(self._code)
        self._take(3, 0x4C, here & 255, here >> 8)  # JMP here

    def image(self) -> bytes:
        """The ROM."""
        assert self.room >= 0
        code = bytes(self._code) + bytes((0x4C, self._loop & 255, self._loop >> 8))  # JMP loop
        return code.ljust(SIZE - 4, b"\0") + bytes((0x00, 0xF0, 0x00, 0xF0))
