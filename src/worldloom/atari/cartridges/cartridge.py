"""Cartridges: the kind of a ROM image, and the image in the layout that the emulated CPU reads.

The kind defines how a cartridge maps banks of ROM into the console's 4 KiB and what RAM it adds. Images do not name
their kind: it is detected from their size and from instructions that switch banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError

KIB = 1024
MAX_IMAGE_BYTES = 256 * KIB
"""Maximum size of an image: a bank has an index of 8 bits, in units of 1 KiB."""

READ, FETCH, POLL = 1 << 24, 1 << 25, 1 << 26
"""Flags of a word: a read has a side effect; fetch an instruction byte by byte; start of a timer-polling loop."""

Words = np.ndarray[Any, np.dtype[np.uint32]]


class CartridgeKind(IntEnum):
    """Bank-switching scheme; numbered as in the console's C++ source."""

    K2 = 0
    K4 = 1
    F8 = 2
    F8SC = 3
    F6 = 4
    F6SC = 5
    F4 = 6
    F4SC = 7
    E0 = 8
    FE = 9
    E7 = 10
    K3F = 11
    FA = 12
    CV = 13
    UA = 14
    DPC = 15

    @property
    def label(self) -> str:
        """The usual name: ``2K``, ``4K``, ``3F``, ``F8``..."""
        return {CartridgeKind.K2: "2K", CartridgeKind.K4: "4K", CartridgeKind.K3F: "3F"}.get(self, self.name)


RAM_BYTES = {
    CartridgeKind.F8SC: 128,
    CartridgeKind.F6SC: 128,
    CartridgeKind.F4SC: 128,
    CartridgeKind.FA: 256,
    CartridgeKind.CV: 1024,
    CartridgeKind.E7: 2048,
    CartridgeKind.DPC: 64,
}
"""Bytes of cartridge memory by kind; those of a DPC are its registers."""

_SIGNATURES = {
    CartridgeKind.E0: ("8D E0 1F", "8D E0 5F", "8D E9 FF", "0C E0 1F", "AD E0 1F", "AD E9 FF", "AD ED FF", "AD F3 BF"),
    CartridgeKind.E7: ("AD E2 FF", "AD E5 FF", "AD E5 1F", "AD E7 1F", "0C E7 1F", "8D E7 FF", "8D E7 1F"),
    CartridgeKind.FE: ("20 00 D0 C6 C5", "20 C3 F8 A5 82", "D0 FB 20 73 FE", "20 00 F0 84 D6"),
    CartridgeKind.UA: ("8D 40 02", "AD 40 02", "BD 1F 02"),
    CartridgeKind.CV: ("9D FF F3", "99 00 F4"),
}
"""Instructions, as bytes, that only programs for such a cartridge use: they access its hotspots or its RAM."""


@dataclass(frozen=True)
class Cartridge:
    """A ROM image in the layout of the emulator.

    Attributes:
        kind: Bank-switching scheme.
        image: The original image.
        words: One word per byte of ROM, uint32 ((slices + 1) * 1024,): the byte, the two following ones, and flags in
            the high byte. The last slice stands for addresses outside of the ROM.
        slices: Size of the ROM in KiB.
        banks: Number of banks.
        ram_bytes: Bytes of cartridge memory.
    """

    kind: CartridgeKind
    image: bytes
    words: Words
    slices: int
    banks: int
    ram_bytes: int


def detect_kind(image: bytes) -> CartridgeKind:
    """Detect the cartridge kind of an image.

    Raises:
        InputError: If no kind has images of this size.
    """
    size = len(image)
    if size == 2 * KIB:
        return CartridgeKind.CV if _matches(image, CartridgeKind.CV) else CartridgeKind.K2
    if size == 4 * KIB:
        return CartridgeKind.CV if _matches(image, CartridgeKind.CV) else CartridgeKind.K4
    if size == 8 * KIB:
        return _first_of(
            image,
            (CartridgeKind.F8SC, CartridgeKind.E0, CartridgeKind.K3F, CartridgeKind.UA, CartridgeKind.FE),
            CartridgeKind.F8,
        )
    if 10 * KIB <= size < 10 * KIB + 256:
        return CartridgeKind.DPC
    if size == 12 * KIB:
        return CartridgeKind.FA
    if size == 16 * KIB:
        return _first_of(image, (CartridgeKind.F6SC, CartridgeKind.E7, CartridgeKind.K3F), CartridgeKind.F6)
    if size == 32 * KIB:
        return _first_of(image, (CartridgeKind.F4SC, CartridgeKind.K3F), CartridgeKind.F4)
    if 0 < size <= MAX_IMAGE_BYTES and size % (2 * KIB) == 0 and _matches(image, CartridgeKind.K3F):
        return CartridgeKind.K3F
    if size == 0:
        raise InputError("The ROM image is empty; choose the file that holds the game.")
    raise InputError(
        f"A ROM image of {size:,} bytes fits no cartridge that is supported; "
        "images have 2, 4, 8, 10, 12, 16 or 32 KiB, or up to 256 KiB for cartridges of kind 3F, "
        "so choose a whole, unpacked image without a header."
    )


def cartridge(image: bytes) -> Cartridge:
    """Convert an image to the layout of the emulator.

    Raises:
        InputError: If no kind has images of this size.
    """
    kind = detect_kind(image)
    rom = np.frombuffer(image, dtype=np.uint8)
    if kind is CartridgeKind.K2:
        rom = np.tile(rom, 2)
    elif kind is CartridgeKind.CV:
        rom = rom[-2 * KIB :]
    elif kind is CartridgeKind.DPC:
        rom = rom[: 10 * KIB]
    return Cartridge(kind, image, _words(rom, kind), len(rom) // KIB, _banks(rom, kind), RAM_BYTES.get(kind, 0))


def _matches(image: bytes, kind: CartridgeKind) -> bool:
    """Whether an image has the signature of a kind."""
    if kind in (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC):
        # The first 256 bytes of each bank are hidden by RAM: assemblers leave both halves equal.
        starts = range(0, len(image), 4 * KIB)
        return all(image[start : start + 128] == image[start + 128 : start + 256] for start in starts)
    if kind is CartridgeKind.K3F:
        return image.count(b"\x85\x3f") >= 2
    return any(bytes.fromhex(signature) in image for signature in _SIGNATURES[kind])


def _first_of(image: bytes, kinds: tuple[CartridgeKind, ...], otherwise: CartridgeKind) -> CartridgeKind:
    return next((kind for kind in kinds if _matches(image, kind)), otherwise)


def _bank_bytes(kind: CartridgeKind) -> int:
    """Size of a bank."""
    if kind is CartridgeKind.E0:
        return KIB
    return 2 * KIB if kind in (CartridgeKind.E7, CartridgeKind.K3F, CartridgeKind.CV) else 4 * KIB


def _banks(rom: np.ndarray[Any, Any], kind: CartridgeKind) -> int:
    return len(rom[: 8 * KIB] if kind is CartridgeKind.DPC else rom) // _bank_bytes(kind)


def _special(kind: CartridgeKind, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The bytes of an image of ``size`` bytes whose reads have a side effect: hotspots, RAM and registers."""
    hotspots = {
        CartridgeKind.F8: (0xFF8, 0xFFA), CartridgeKind.F8SC: (0xFF8, 0xFFA), CartridgeKind.DPC: (0xFC0, 0x1000),
        CartridgeKind.F6: (0xFF6, 0xFFA), CartridgeKind.F6SC: (0xFF6, 0xFFA), CartridgeKind.F4: (0xFF4, 0xFFC),
        CartridgeKind.F4SC: (0xFF4, 0xFFC), CartridgeKind.FA: (0xFF8, 0xFFB), CartridgeKind.E0: (0xFE0, 0xFF8),
        CartridgeKind.E7: (0xFE0, 0xFEC),
    }  # fmt: skip
    hidden = {
        CartridgeKind.F8SC: 0x100,
        CartridgeKind.F6SC: 0x100,
        CartridgeKind.F4SC: 0x100,
        CartridgeKind.FA: 0x200,
        CartridgeKind.DPC: 0x80,
    }
    offset = np.arange(size) % (4 * KIB)
    first, end = hotspots.get(kind, (0, 0))
    special = (offset >= first) & (offset < end) | (offset < hidden.get(kind, 0))
    if kind is CartridgeKind.E7:
        special |= (np.arange(size) >= size - 2 * KIB) & (np.arange(size) < size - 2 * KIB + 512)
    return special


def _words(rom: np.ndarray[Any, Any], kind: CartridgeKind) -> Words:
    size = len(rom)
    byte = rom.astype(np.uint32)
    word = byte | np.roll(byte, -1) << 8 | np.roll(byte, -2) << 16
    special = _special(kind, size)
    # At the end of a bank the next bytes of the image need not be the next ones in the CPU's address space.
    bank_bytes = _bank_bytes(kind)
    near_end = np.arange(size) % bank_bytes >= bank_bytes - 3
    bytewise = special | np.roll(special, -1) | np.roll(special, -2) | near_end
    if kind is CartridgeKind.FE:
        # Data reads depend on the address, instruction fetches on the last jump.
        special = np.ones(size, dtype=bool)
    word |= np.where(special, READ, 0).astype(np.uint32) | np.where(bytewise, FETCH, 0).astype(np.uint32)
    near_bytewise = np.logical_or.reduce([np.roll(bytewise, -n) for n in range(4)])
    polls = _polls(rom) & ~near_bytewise
    word |= np.where(polls, POLL, 0).astype(np.uint32)
    return np.concatenate([word, np.full(KIB, READ | FETCH, dtype=np.uint32)]).astype(np.uint32)


def _polls(rom: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Starts of timer-polling loops of two instructions: a read of INTIM or TIMINT and a branch back to it."""
    opcode, low, high, branch, back = (np.roll(rom, -offset) for offset in range(5))
    loads = np.isin(opcode, (0xAD, 0xAE, 0xAC))
    counts = loads & (low == 0x84) & np.isin(branch, (0xD0, 0x10, 0x30))
    flags = (loads | (opcode == 0x2C)) & (low == 0x85) & (branch == 0x10)
    polls: np.ndarray[Any, np.dtype[np.bool_]]
    polls = (counts | flags) & (high == 0x02) & (back == 0xFB) & (np.arange(len(rom)) % KIB < KIB - 5)
    return polls
