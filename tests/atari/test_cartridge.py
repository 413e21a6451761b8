"""Cartridges: detection of the kind; banks, hotspots and RAM as programs read them."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bare_machine import run_program
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import SIGNS, SIZES

from worldloom.atari.cartridges.cartridge import KIB, MAX_IMAGE_BYTES, CartridgeKind, cartridge, detect_kind
from worldloom.core.base.errors import InputError

CODE, MARK = 0x100, 0x300
"""Offsets of the program and of the number in each KiB of an image."""
LOOK = (0xF300, 0xF700, 0xFB00, 0xFF00)
"""Addresses of the numbers of the four mapped KiB."""


def image_of(kind: CartridgeKind, code: bytes = b"") -> bytes:
    """An image whose KiBs hold the same program and their number, so that the program survives bank switches."""
    assert len(code) < 0x200
    image = bytearray()
    for number in range(SIZES[kind]):
        part = bytearray((7 * place + number) % 251 for place in range(KIB))
        if kind in (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC) and number % 4 == 0:
            part[:256] = bytes(256)
        part[CODE:MARK] = code + bytes([0x02] * (MARK - CODE - len(code)))
        part[MARK] = number
        sign = bytes.fromhex(SIGNS.get(kind, ""))
        part[MARK + 1 : MARK + 1 + len(sign)] = sign
        part[0x3FC:] = bytes([0x00, 0xFD, 0x00, 0xFD])
        image += part
    return bytes(image)


def read(address: int) -> bytes:
    return bytes([0xAD, address & 0xFF, address >> 8])


def write(address: int, value: int) -> bytes:
    return bytes([0xA9, value, 0x8D, address & 0xFF, address >> 8])


def seen(kind: CartridgeKind, *steps: bytes | int) -> list[int]:
    """The bytes that a program reads: steps are instructions, or addresses to read."""
    code, looks = b"", 0
    for step in steps:
        if isinstance(step, int):
            code += read(step) + bytes([0x85, 0x80 + looks])
            looks += 1
        else:
            code += step
    cart = cartridge(image_of(kind, code))
    assert cart.kind is kind
    return run_program(cart).memory[0, :looks].tolist()


FOUR_KIB = {
    CartridgeKind.F8: (0xFFF8, 2),
    CartridgeKind.F8SC: (0xFFF8, 2),
    CartridgeKind.F6: (0xFFF6, 4),
    CartridgeKind.F6SC: (0xFFF6, 4),
    CartridgeKind.F4: (0xFFF4, 8),
    CartridgeKind.F4SC: (0xFFF4, 8),
    CartridgeKind.FA: (0xFFF8, 3),
}
"""First hotspot of kinds with 4K banks, and number of hotspots."""


@pytest.mark.parametrize("kind", FOUR_KIB)
@pytest.mark.parametrize("touch", [read, lambda address: write(address, 0)], ids=["read", "write"])
def test_hotspots_switch_banks_of_4_kib(kind: CartridgeKind, touch):
    first, count = FOUR_KIB[kind]
    for bank in range(count):
        other = touch(first + (bank + 1) % count)
        assert seen(kind, other, touch(first + bank), *LOOK) == [4 * bank, 4 * bank + 1, 4 * bank + 2, 4 * bank + 3]


def test_a_hotspot_gives_the_byte_of_the_bank_that_it_switches_to():
    image = bytearray(image_of(CartridgeKind.F8, read(0xFFF8) + bytes([0x85, 0x80])))
    image[0x0FF8], image[0x1FF8] = 0x11, 0x22
    assert run_program(cartridge(bytes(image))).memory[0, 0] == 0x11


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        (CartridgeKind.K2, [0, 1, 0, 1]), (CartridgeKind.K4, [0, 1, 2, 3]), (CartridgeKind.F8, [4, 5, 6, 7]),
        (CartridgeKind.F8SC, [4, 5, 6, 7]), (CartridgeKind.F6, [0, 1, 2, 3]), (CartridgeKind.F6SC, [0, 1, 2, 3]),
        (CartridgeKind.F4, [0, 1, 2, 3]), (CartridgeKind.F4SC, [0, 1, 2, 3]), (CartridgeKind.E0, [4, 5, 6, 7]),
        (CartridgeKind.FE, [0, 1, 2, 3]), (CartridgeKind.K3F, [0, 1, 62, 63]), (CartridgeKind.FA, [8, 9, 10, 11]),
        (CartridgeKind.UA, [0, 1, 2, 3]), (CartridgeKind.DPC, [4, 5, 6, 7]),
    ],
)  # fmt: skip
def test_banks_at_power_on(kind: CartridgeKind, start: list[int]):
    assert seen(kind, *LOOK) == start


@pytest.mark.parametrize(
    ("kind", "size"),
    [(CartridgeKind.F8SC, 128), (CartridgeKind.F6SC, 128), (CartridgeKind.F4SC, 128), (CartridgeKind.FA, 256)],
)
def test_ram_is_written_below_and_read_above(kind: CartridgeKind, size: int):
    other = FOUR_KIB[kind][0]
    steps = [write(0xF000, 0x5A), write(0xF000 + size - 1, 0xA5), read(other), 0xF000 + size, 0xF000 + 2 * size - 1]
    assert seen(kind, *steps) == [0x5A, 0xA5]
    assert seen(kind, write(0xF001, 0x77), 0xF001, 0xF001 + size)[1] == 0x77, "reading the write port changes nothing"


def test_e0_switches_three_slices():
    steps = [read(0xFFE0 + 2), write(0xFFE8 + 5, 0), read(0xFFF0 + 1)]
    assert seen(CartridgeKind.E0, *steps, *LOOK) == [2, 5, 1, 7]


def test_e7_switches_2_kib_and_ram():
    assert seen(CartridgeKind.E7, read(0xFFE3), *LOOK[:2], LOOK[3]) == [6, 7, 15]
    large = [
        read(0xFFE7),
        write(0xF000, 1),
        write(0xF3FF, 2),
        read(0xFFE0),
        read(0xFFE7),
        0xF400,
        0xF7FF,
        read(0xFFE1),
        LOOK[0],
    ]
    assert seen(CartridgeKind.E7, *large) == [1, 2, 2]
    small = [step for bank in range(4) for step in (read(0xFFE8 + bank), write(0xF810, 50 + bank))]
    looks = [step for bank in range(4) for step in (read(0xFFE8 + bank), 0xF910)]
    assert seen(CartridgeKind.E7, *small, *looks) == [50, 51, 52, 53]


def test_3f_switches_its_lower_half_by_writes_to_the_tia():
    assert seen(CartridgeKind.K3F, write(0x003F, 9), *LOOK) == [18, 19, 62, 63]
    assert seen(CartridgeKind.K3F, write(0x003F, 32 + 3), LOOK[0]) == [6], "bank numbers wrap after the last"


def test_cv_has_ram_in_its_lower_half():
    assert seen(CartridgeKind.CV, write(0xF400, 3), write(0xF7FF, 4), 0xF000, 0xF3FF, *LOOK[2:]) == [3, 4, 0, 1]


def test_ua_switches_by_addresses_of_the_tia():
    assert seen(CartridgeKind.UA, write(0x0240, 0), *LOOK, read(0x0220), LOOK[0]) == [4, 5, 6, 7, 0]


def test_fe_reads_by_address_and_runs_by_the_last_jump():
    looks = [0xD300, 0xF300]
    jump = bytes([0x4C, 0x00 + 2 * 5 + 3, 0xDD])  # to the same place in the other half
    assert seen(CartridgeKind.FE, *looks, jump, 0xD700, 0xF700) == [4, 0, 5, 1]


def test_dpc_fetches_its_graphics_from_their_end():
    def fetch(fetcher: int, register: int) -> list[bytes | int]:
        return [0xF000 + register * 8 + fetcher]

    graphics = image_of(CartridgeKind.DPC)[8 * KIB :]
    setup = [write(0xF040 + 2, 0x55), write(0xF048 + 2, 0x53), write(0xF050 + 2, 0x55), write(0xF058 + 2, 0x03)]
    plain = seen(CartridgeKind.DPC, *setup, *(4 * fetch(2, 1)))
    assert plain == [graphics[2047 - 0x355 + step] for step in range(4)]
    masked = seen(CartridgeKind.DPC, *setup, *(4 * fetch(2, 2)))
    assert masked == [plain[0], plain[1], 0, 0]
    assert seen(CartridgeKind.DPC, *setup, *(4 * fetch(2, 7))) == [255, 255, 0, 0]


def test_dpc_draws_random_numbers():
    assert seen(CartridgeKind.DPC, write(0xF070, 0), *[0xF000] * 8) == [0x03, 0x07, 0x0F, 0x1E, 0x3D, 0x7A, 0xF4, 0xE8]


def test_dpc_plays_notes():
    """A note is on while its counter is above its bottom: here half of the time, sampled once per scanline."""
    setup = [write(0xF045, 9), write(0xF04D, 4), write(0xF05D, 0x10)]
    line = [bytes([0x85, 0x02]), 0xF004]
    heard = seen(CartridgeKind.DPC, *setup, *(60 * line))
    assert set(heard) == {0, 4}
    assert 25 <= heard.count(4) <= 35


@pytest.mark.parametrize("kind", CartridgeKind)
def test_every_kind_is_told_by_its_image(kind: CartridgeKind):
    cart = cartridge(image_of(kind))
    assert cart.kind is kind
    assert len(cart.words) == (cart.slices + 1) * KIB
    assert kind.label in ("2K", "4K", "3F", kind.name)


def roms() -> Path:
    """The folder of ROMs in ale-py, which is not imported."""
    package = importlib.util.find_spec("ale_py")
    if package is None or not package.submodule_search_locations:
        pytest.skip("ale-py, which contains the ROMs, is not installed")
    return Path(package.submodule_search_locations[0]) / "roms"


def test_known_roms_are_of_their_kinds():
    kinds = {path.stem: detect_kind(path.read_bytes()).label for path in roms().glob("*.bin")}
    assert Counter(kinds.values()) == {
        "4K": 52,
        "F8": 24,
        "2K": 20,
        "F6": 4,
        "E0": 3,
        "F6SC": 2,
        "F8SC": 1,
        "FE": 1,
        "DPC": 1,
    }
    special = {
        "jamesbond": "E0", "montezuma_revenge": "E0", "tutankham": "E0", "elevator_action": "F8SC",
        "darkchambers": "F6SC", "klax": "F6SC", "robotank": "FE", "pitfall2": "DPC",
        "crossbow": "F6", "double_dunk": "F6", "road_runner": "F6", "solaris": "F6",
    }  # fmt: skip
    assert {name: kinds[name] for name in special} == special


def test_an_empty_image_is_refused():
    with pytest.raises(InputError, match="empty"):
        detect_kind(b"")


@pytest.mark.parametrize(
    "size", [1, 2047, 2049, 5000, 10 * KIB - 1, 10 * KIB + 256, 64 * KIB, MAX_IMAGE_BYTES + 2 * KIB]
)
def test_sizes_of_no_cartridge_are_refused(size: int):
    with pytest.raises(InputError, match=f"{size:,} bytes"):
        detect_kind(bytes(size))


ANY_SIZE = st.integers(0, 40 * KIB) | st.sampled_from(
    [2 * KIB, 4 * KIB, 8 * KIB, 10 * KIB + 255, 12 * KIB, 16 * KIB, 32 * KIB, 34 * KIB]
)


@settings(max_examples=60, deadline=None)
@given(ANY_SIZE, st.integers(0, 2**32 - 1), st.sampled_from([b"", b"\x85\x3f" * 2, b"\x8d\x40\x02", b"\x9d\xff\xf3"]))
def test_any_bytes_are_a_cartridge_or_refused(size: int, seed: int, sign: bytes):
    image = bytearray(np.random.default_rng(seed).bytes(size))
    image[: len(sign)] = sign[: len(image)]
    try:
        cart = cartridge(bytes(image))
    except InputError:
        return
    assert cart.kind in CartridgeKind
    assert len(cart.words) == (cart.slices + 1) * KIB
