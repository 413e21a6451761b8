"""Cartridges: what kind a ROM image is, and the image as the console's CPU reads it.

A kind says how a cartridge switches banks of ROM into the 4 KiB that the console sees, and what RAM it adds. Images do not name their kind: it follows
from their size and from the instructions that switch banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError

KIB = 1024
MAX_IMAGE_BYTES = 256 * KIB
"""Bytes of the largest image: a bank is named by 8 bits, in steps of 1 KiB."""

READ, FETCH, POLL = 1 << 24, 1 << 25, 1 << 26
"""Flags of a word: reading this byte does more than to give it; fetch an instruction here byte by byte; a loop that waits for the timer begins here."""

Words = np.ndarray[Any, np.dtype[np.uint32]]


class CartridgeKind(IntEnum):
    """How a cartridge switches its banks; numbered as in the console's C++ source."""

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
        """The name as cartridges are listed everywhere: ``2K``, ``4K``, ``3F``, ``F8``..."""
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
"""Bytes of memory in the cartridge, for kinds that have any; those of a DPC are its registers."""

_SIGNATURES = {
    CartridgeKind.E0: ("8D E0 1F", "8D E0 5F", "8D E9 FF", "0C E0 1F", "AD E0 1F", "AD E9 FF", "AD ED FF", "AD F3 BF"),
    CartridgeKind.E7: ("AD E2 FF", "AD E5 FF", "AD E5 1F", "AD E7 1F", "0C E7 1F", "8D E7 FF", "8D E7 1F"),
    CartridgeKind.FE: ("20 00 D0 C6 C5", "20 C3 F8 A5 82", "D0 FB 20 73 FE", "20 00 F0 84 D6"),
    CartridgeKind.UA: ("8D 40 02", "AD 40 02", "BD 1F 02"),
    CartridgeKind.CV: ("9D FF F3", "99 00 F4"),
}
"""Instructions, as bytes, that only programs for such a cartridge use: they touch its hotspots or its RAM."""


@dataclass(frozen=True)
class Cartridge:
    """A ROM image made ready for the console.

    Attributes:
        kind: How its banks are switched.
        image: The image as given.
        words: One word for each byte of ROM, uint32 ((slices + 1) * 1024,): the byte, the two after it, and flags in the high byte. The last slice stands for
            what is no ROM.
        slices: Size of the ROM in KiB.
        banks: Number of banks that can be switched.
        ram_bytes: Bytes of memory in the cartridge.
    """

    kind: CartridgeKind
    image: bytes
    words: Words
    slices: int
    banks: int
    ram_bytes: int


def detect_kind(image: bytes) -> CartridgeKind:
    """The kind of cartridge that an image was made for.

    Raises:
        InputError: Where no cartridge has images of this size.
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
        f"A ROM image of {size:,} bytes fits no cartridge that is supported; images have 2, 4, 8, 10, 12, 16 or 32 KiB, or up to 256 KiB for cartridges "
        "of kind 3F, so choose a whole, unpacked image without a header."
    )


def cartridge(image: bytes) -> Cartridge:
    """An image made ready for the console.

    Raises:
        InputError: Where no cartridge has images of this size.
    """
    kind = detect_kind(image)
    shown = np.frombuffer(image, dtype=np.uint8)
    if kind is CartridgeKind.K2:
        shown = np.tile(shown, 2)
    elif kind is CartridgeKind.CV:
        shown = shown[-2 * KIB :]
    elif kind is CartridgeKind.DPC:
        shown = shown[: 10 * KIB]
    return Cartridge(kind, image, _words(shown, kind), len(shown) // KIB, _banks(shown, kind), RAM_BYTES.get(kind, 0))


def _matches(image: bytes, kind: CartridgeKind) -> bool:
    """Whether an image bears the signs of a kind."""
    if kind in (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC):
        # The first 256 bytes of each bank lie behind RAM: assemblers leave both halves alike.
        starts = range(0, len(image), 4 * KIB)
        return all(image[start : start + 128] == image[start + 128 : start + 256] for start in starts)
    if kind is CartridgeKind.K3F:
        return image.count(b"\x85\x3f") >= 2
    return any(bytes.fromhex(sign) in image for sign in _SIGNATURES[kind])


def _first_of(image: bytes, kinds: tuple[CartridgeKind, ...], otherwise: CartridgeKind) -> CartridgeKind:
    return next((kind for kind in kinds if _matches(image, kind)), otherwise)


def _banks(shown: np.ndarray[Any, Any], kind: CartridgeKind) -> int:
    size = {
        CartridgeKind.E0: KIB,
        CartridgeKind.E7: 2 * KIB,
        CartridgeKind.K3F: 2 * KIB,
        CartridgeKind.CV: 2 * KIB,
    }.get(kind, 4 * KIB)
    return len(shown[: 8 * KIB] if kind is CartridgeKind.DPC else shown) // size


def _special(kind: CartridgeKind, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The bytes of an image of ``size`` bytes whose reading does more than to give the byte: hotspots, and those behind RAM or registers."""
    hotspots = {
        CartridgeKind.F8: (0xFF8, 0xFFA), CartridgeKind.F8SC: (0xFF8, 0xFFA), CartridgeKind.DPC: (0xFC0, 0x1000), CartridgeKind.F6: (0xFF6, 0xFFA), CartridgeKind.F6SC: (0xFF6, 0xFFA),
        CartridgeKind.F4: (0xFF4, 0xFFC), CartridgeKind.F4SC: (0xFF4, 0xFFC), CartridgeKind.FA: (0xFF8, 0xFFB), CartridgeKind.E0: (0xFE0, 0xFF8), CartridgeKind.E7: (0xFE0, 0xFEC),
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


def _words(shown: np.ndarray[Any, Any], kind: CartridgeKind) -> Words:
    size = len(shown)
    byte = shown.astype(np.uint32)
    word = byte | np.roll(byte, -1) << 8 | np.roll(byte, -2) << 16
    special = _special(kind, size)
    # Where a slice ends, the next bytes of the image need not be the next that the CPU sees: the last whole instruction is followed by a look around.
    slice_bytes = {
        CartridgeKind.E0: KIB,
        CartridgeKind.E7: 2 * KIB,
        CartridgeKind.K3F: 2 * KIB,
        CartridgeKind.CV: 2 * KIB,
    }.get(kind, 4 * KIB)
    near_end = np.arange(size) % slice_bytes >= slice_bytes - 3
    alone = special | np.roll(special, -1) | np.roll(special, -2) | near_end
    if kind is CartridgeKind.FE:
        special = np.ones(
            size, dtype=bool
        )  # the half that is read depends on the address, that of instructions on the last jump
    word |= np.where(special, READ, 0).astype(np.uint32) | np.where(alone, FETCH, 0).astype(np.uint32)
    polls = _polls(shown) & ~alone & ~np.roll(alone, -1) & ~np.roll(alone, -2) & ~np.roll(alone, -3)
    word |= np.where(polls, POLL, 0).astype(np.uint32)
    return np.concatenate([word, np.full(KIB, READ | FETCH, dtype=np.uint32)]).astype(np.uint32)


def _polls(shown: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where a loop of two instructions begins that waits for the timer: a read of INTIM or TIMINT and a branch back to it."""
    opcode, low, high, branch, back = (np.roll(shown, -place) for place in range(5))
    loads = np.isin(opcode, (0xAD, 0xAE, 0xAC))
    counts = loads & (low == 0x84) & np.isin(branch, (0xD0, 0x10, 0x30))
    flags = (loads | (opcode == 0x2C)) & (low == 0x85) & (branch == 0x10)
    found: np.ndarray[Any, np.dtype[np.bool_]] = (
        (counts | flags) & (high == 0x02) & (back == 0xFB) & (np.arange(len(shown)) % KIB < KIB - 5)
    )
    return found
