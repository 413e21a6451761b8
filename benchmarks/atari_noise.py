"""Random ROM images for every cartridge kind."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from worldloom.atari.cartridges.cartridge import KIB, Cartridge, CartridgeKind, cartridge

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SIZES = {
    CartridgeKind.K2: (2,), CartridgeKind.K4: (4,), CartridgeKind.F8: (8,), CartridgeKind.F8SC: (8,),
    CartridgeKind.F6: (16,), CartridgeKind.F6SC: (16,), CartridgeKind.F4: (32,), CartridgeKind.F4SC: (32,),
    CartridgeKind.E0: (8,), CartridgeKind.FE: (8,), CartridgeKind.E7: (16,),
    CartridgeKind.K3F: (6, 6, 8, 8, 16, 16, 34, 256), CartridgeKind.FA: (12,), CartridgeKind.CV: (2, 4),
    CartridgeKind.UA: (8,), CartridgeKind.DPC: (10,),
}  # fmt: skip
"""Image sizes in KiB by kind."""
SHARES = {
    CartridgeKind.K2: 16,
    CartridgeKind.K4: 16,
    CartridgeKind.F8: 8,
    CartridgeKind.F4: 1,
    CartridgeKind.F4SC: 1,
    CartridgeKind.K3F: 2,
}
"""Relative frequency of kinds; 4 for the others. Small images run as many instructions as large ones."""
SIGNS = {
    CartridgeKind.E0: "8D E0 1F",
    CartridgeKind.E7: "AD E5 1F",
    CartridgeKind.FE: "20 00 D0 C6 C5",
    CartridgeKind.UA: "8D 40 02",
    CartridgeKind.CV: "9D FF F3",
    CartridgeKind.K3F: "85 3F 85 3F",
}
"""Signature bytes by kind."""
JAMS = np.array([0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2])
"""Opcodes that halt the CPU."""
JUMPS = np.array([0x4C, 0x6C, 0x20, 0x60, 0x40, 0x00, 0x10, 0x30, 0x50, 0x70, 0x90, 0xB0, 0xD0, 0xF0])
CHUNK = 256
"""ROMs per chunk."""
POOL = 512 * KIB
"""Random bytes from which the images of a chunk are cut."""
STORES = np.array([0x85, 0x86, 0x84, 0x95, 0x8D, 0x9D, 0x99, 0x91, 0x81, 0x8E, 0x8C])
PROGRAM = bytes.fromhex(
    "78 D8 A2 FF 9A"  # SEI; CLD; LDX #$FF; TXS
    "A9 02 85 00 85 02 85 02 85 02 A9 2B 8D 96 02 A9 00 85 00"  # three lines of VSYNC; the timer
    # The display depends on joysticks, fire button, collisions and switches.
    "E6 80 AD 80 02 85 1B A5 0C 85 06 A5 02 45 07 85 07 AD 82 02 85 0A 85 2C"
    "AD 84 02 D0 FB 85 02 85 01 A2 C0"  # wait for the timer; 192 lines
    # Each scanline has a player, a missile and the ball.
    "85 02 86 09 8A 85 1B 85 0E 85 10 85 20 85 2A 85 04 85 1D 85 1F 85 14 CA D0 E6"
    "A9 02 85 01 A2 1E 85 02 CA D0 FB 4C 05 FC"  # 30 lines without a picture; again
)
"""A working program at $FC00: it draws frames of 262 scanlines and reads joysticks and switches."""


class Style(Enum):
    """Style of the bytes."""

    BYTES = "any bytes"
    CALM = "any bytes but those at which the CPU stays for ever"
    BUSY = "instructions, most of which address the TIA, the RIOT, RAM, hotspots and places to jump to"
    UNDOCUMENTED = "the same, of opcodes outside of the documentation, which may stay for ever"
    MUTANT = "a program that works, with a few bytes changed, among instructions"


STYLES = (0.2, 0.15, 0.2, 0.1, 0.35)
"""Probabilities of the styles: mutants draw the most; the others mostly derail soon."""


def _lengths() -> Bytes:
    """Length of each instruction, by the low bits of its opcode: one, three for absolute addresses, else two."""
    opcode = np.arange(256)
    column = opcode & 0x1F
    three = (column >= 0x0C) & (column <= 0x0F) | (column >= 0x19) & (column != 0x1A) | (opcode == 0x20)
    one = (
        np.isin(column, (0x08, 0x0A, 0x12, 0x18, 0x1A))
        | (column == 0x02) & (opcode < 0x80)
        | np.isin(opcode, (0x00, 0x40, 0x60))
    )
    return np.where(one, 1, np.where(three, 3, 2)).astype(np.uint8)


LENGTHS = _lengths()
"""Bytes of an instruction by its opcode."""


def instructions(count: int, opcodes: Bytes, generator: np.random.Generator) -> Bytes:
    """The bytes of ``count`` instructions with opcodes drawn from ``opcodes``."""
    opcode = generator.choice(opcodes, count)
    zero = np.stack(
        [generator.integers(0, 0x2D, count), generator.integers(0x80, 0x100, count), generator.integers(0, 256, count)]
    )
    far = np.stack(
        [
            generator.integers(0x1000, 0x10000, count),
            0x280 + generator.integers(0, 32, count),
            0xFFE0 + generator.integers(0, 32, count),
            0xF000 + generator.integers(0, 0x200, count),
            generator.choice([0x220, 0x240, 0x1F0, 0x0, 0x3F], count),
            generator.integers(0, 0x10000, count),
        ]
    )
    every = np.arange(count)
    near = zero[generator.choice(3, count, p=(0.5, 0.35, 0.15)), every]
    absolute = far[generator.choice(6, count, p=(0.4, 0.15, 0.15, 0.1, 0.1, 0.1)), every]
    near = np.where((opcode & 0x1F) == 0x10, generator.integers(-24, 24, count) & 255, near)  # branches do not go far
    three = LENGTHS[opcode] == 3
    written = np.stack([opcode, np.where(three, absolute & 255, near), absolute >> 8], axis=1).astype(np.uint8)
    return written[np.arange(3) < LENGTHS[opcode][:, None]]


def _opcodes(style: Style) -> Bytes:
    """The opcodes of a style, repeated by frequency."""
    every = np.arange(256)
    if style is Style.UNDOCUMENTED:
        odd = every[np.isin(every & 3, (3,)) | np.isin(every & 0x1F, (0x02, 0x04, 0x0C, 0x14, 0x1A, 0x1C))]
        return np.concatenate([every, odd, odd]).astype(np.uint8)
    calm = every[~np.isin(every, JAMS)]
    return np.concatenate([calm, np.repeat(STORES, 8), np.repeat(JUMPS, 2)]).astype(np.uint8)


def _pool(style: Style, generator: np.random.Generator) -> Bytes:
    """Random bytes of a style, from which images are cut."""
    if style not in (Style.BYTES, Style.CALM):
        return instructions(POOL // 2, _opcodes(style), generator)
    noise = generator.integers(0, 256, POOL, dtype=np.uint8)
    if style is Style.CALM:
        noise[np.isin(noise, JAMS)] = 0xEA
    return noise


def image_of(kind: CartridgeKind, style: Style, pool: Bytes, generator: np.random.Generator) -> bytes:
    """An image cut from ``pool`` with the signature of a kind. Noise may match another kind, which then applies."""
    size = int(generator.choice(SIZES[kind])) * KIB
    start = generator.integers(len(pool) - size)
    image = pool[start : start + size].copy()
    ends = range(4 * KIB, size + 1, 4 * KIB) if size % (4 * KIB) == 0 or kind is CartridgeKind.DPC else (size,)
    for end in ends:
        if style is Style.MUTANT:
            image[end - KIB : end - KIB + len(PROGRAM)] = _mutated(generator)
            image[end - 4 : end - 2] = 0x00, 0xFC
        elif style is not Style.BYTES or generator.random() < 0.5:
            image[end - 4 : end] = (
                generator.integers(256),
                0xFC | generator.integers(3),
                generator.integers(256),
                0xF0 | generator.integers(16),
            )
    if kind in (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC):
        for start in range(0, size, 4 * KIB):
            image[start + 128 : start + 256] = image[start : start + 128]
    sign = np.frombuffer(bytes.fromhex(SIGNS.get(kind, "")), np.uint8)
    image[0x300 : 0x300 + len(sign)] = sign
    return image.tobytes()


def _mutated(generator: np.random.Generator) -> Bytes:
    """The program with up to four bytes changed: any of them, or the address that an instruction stores to."""
    program = np.frombuffer(PROGRAM, np.uint8).copy()
    places = generator.integers(0, len(program), generator.integers(5))
    program[places] = generator.integers(0, 256, len(places))
    stores = np.flatnonzero(program[:-1] == 0x85) + 1
    changed = stores[generator.random(len(stores)) < 0.1]
    program[changed] = generator.integers(0, 0x2D, len(changed))
    return program


def cartridges(seed: int, chunk: int) -> list[Cartridge]:
    """The ``CHUNK`` cartridges of a chunk of the random sequence, of all kinds and styles."""
    generator = np.random.default_rng((seed, chunk))
    shares = np.array([SHARES.get(kind, 4) for kind in CartridgeKind], float)
    kinds = generator.choice(len(CartridgeKind), CHUNK, p=shares / shares.sum())
    styles = generator.choice(list(Style), CHUNK, p=STYLES)
    pools = {style: _pool(style, generator) for style in Style}
    return [
        cartridge(image_of(CartridgeKind(kind), style, pools[style], generator))
        for kind, style in zip(kinds, styles, strict=True)
    ]
