"""A small Atari 2600 program, assembled byte by byte: frames of given lengths with one colour per scanline."""

from __future__ import annotations

from collections.abc import Sequence

VSYNC, VBLANK, WSYNC, COLUBK = 0x00, 0x01, 0x02, 0x09
COUNTER = 0x80
"""RAM address of the frame counter."""
SHORTEST = 262
"""Scanlines of a normal frame."""
_TOP, _SHOWN = 37, 192
_TABLE = 0xF800


def colour_bars(added: Sequence[int]) -> bytes:
    """A 4K image whose frame k has ``262 + added[k]`` scanlines; the last of at most 200 frames repeats."""
    assert 0 < len(added) <= 200
    code = bytearray()

    def store(value: int, register: int) -> None:
        code.extend((0xA9, value, 0x85, register))  # LDA #value, STA register

    def wait(lines: int) -> None:
        code.extend((0xA0, lines, 0x85, WSYNC, 0x88, 0xD0, 0xFB))  # LDY #lines, and until Y is 0: STA WSYNC, DEY, BNE

    code.extend(
        (0x78, 0xD8, 0xA2, 0xFF, 0x9A, 0xA9, 0x00, 0x95, 0x00, 0xCA, 0xD0, 0xFB)
    )  # SEI, CLD, the stack, and zeros from $01 to $FF
    frame = 0xF000 + len(code)
    store(2, VSYNC)
    code.extend((0x85, WSYNC) * 3)
    store(2, VBLANK)
    store(0, VSYNC)
    wait(_TOP)
    store(0, VBLANK)
    code.extend((0xA2, 0x00, 0xA0, _SHOWN))  # LDX #0, LDY #lines, and until Y is 0:
    code.extend((0x85, WSYNC, 0x86, COLUBK, 0xE8, 0xE8, 0x88, 0xD0, 0xF7))  # STA WSYNC, STX COLUBK, INX, INX, DEY, BNE
    store(2, VBLANK)
    code.extend((0xA6, COUNTER, 0xBC, _TABLE & 0xFF, _TABLE >> 8))  # LDX COUNTER, LDY table,X
    code.extend((0xE8, 0xE0, len(added), 0xB0, 0x02, 0x86, COUNTER))  # INX, CPX #length, BCS, STX COUNTER
    code.extend((0xC0, 0x00, 0xF0, 0x05, 0x85, WSYNC, 0x88, 0xD0, 0xFB))  # until Y is 0: STA WSYNC, DEY, BNE
    wait(SHORTEST - 3 - _TOP - _SHOWN)
    code.extend((0x4C, frame & 0xFF, frame >> 8))  # JMP frame
    image = bytearray(4096)
    image[: len(code)] = code
    image[_TABLE & 0xFFF : (_TABLE & 0xFFF) + len(added)] = bytes(added)
    image[0xFFC:] = bytes((0x00, 0xF0, 0x00, 0xF0))
    return bytes(image)
