"""Random programs for the console: bytes for all kinds of cartridges, and loops that wait for the timer."""

from __future__ import annotations

import numpy as np

from worldloom.atari.cartridges.cartridge import KIB, Cartridge, CartridgeKind, cartridge

SIZES = {
    CartridgeKind.K2: 2, CartridgeKind.K4: 4, CartridgeKind.F8: 8, CartridgeKind.F8SC: 8, CartridgeKind.F6: 16,
    CartridgeKind.F6SC: 16, CartridgeKind.F4: 32, CartridgeKind.F4SC: 32, CartridgeKind.E0: 8, CartridgeKind.FE: 8,
    CartridgeKind.E7: 16,
    CartridgeKind.K3F: 64, CartridgeKind.FA: 12, CartridgeKind.CV: 2, CartridgeKind.UA: 8, CartridgeKind.DPC: 10,
}  # fmt: skip
"""KiB of an image of each kind."""
SIGNS = {
    CartridgeKind.E0: "8D E0 1F",
    CartridgeKind.E7: "AD E5 1F",
    CartridgeKind.FE: "20 00 D0 C6 C5",
    CartridgeKind.UA: "8D 40 02",
    CartridgeKind.CV: "9D FF F3",
    CartridgeKind.K3F: "85 3F 85 3F",
}
"""Bytes by which a kind is detected."""
WAITS = (
    "AD 84 02 D0 FB",
    "AC 84 02 10 FB",
    "AE 84 02 30 FB",
    "2C 85 02 10 FB",
    "A9 20 8D 96 02",
    "8D 94 02",
    "8D 97 02",
)


def random_cartridge(kind: CartridgeKind, generator: np.random.Generator) -> Cartridge:
    """A cartridge of a kind whose program is noise.

    Opcodes that touch memory and jump are more frequent than others, and so are waits for the timer.
    """
    image = generator.integers(0, 256, SIZES[kind] * KIB, dtype=np.uint8)
    often = generator.random(len(image)) < generator.choice([0.0, 0.3])
    image[often] = generator.choice(
        [0x8D, 0x9D, 0xAD, 0x85, 0xA5, 0x4C, 0xF0, 0xFF, 0xF9, 0x10, 0xD0, 0xCA], often.sum()
    )
    image[np.isin(image, (0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2))] = 0xEA
    for place in generator.integers(0, len(image) - 8, len(image) // 64):
        wait = np.frombuffer(bytes.fromhex(generator.choice(WAITS)), np.uint8)
        image[place : place + len(wait)] = wait
    if kind in (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC):
        for start in range(0, len(image), 4 * KIB):
            image[start : start + 256] = 0
    sign = bytes.fromhex(SIGNS.get(kind, ""))
    image[0x300 : 0x300 + len(sign)] = np.frombuffer(sign, np.uint8)
    image[-4:] = (generator.integers(256), generator.choice([0xF3, 0xFA, 0xFD]), generator.integers(256), 0xFC)
    found = cartridge(image.tobytes())
    return (
        found if found.kind is kind else random_cartridge(kind, generator)
    )  # noise may bear the signs of another kind
