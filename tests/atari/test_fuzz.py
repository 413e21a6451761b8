"""Random ROMs: frames end, memory stays in bounds, and pictures do not depend on the size of logs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import warp as wp

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import atari_fuzz
import atari_noise

from worldloom.atari.cartridges.cartridge import CartridgeKind
from worldloom.atari.emulator import machine_state
from worldloom.atari.emulator.emulator_batch import LOG
from worldloom.atari.emulator.pack_roms import pack_roms
from worldloom.atari.emulator.rom_bank import RECORD, Slot

FRAMES, CONSOLES = 24, 48


@pytest.fixture(scope="module")
def carts():
    return atari_noise.cartridges(0, 0)


@pytest.fixture(scope="module")
def played(carts):
    """A ROM bank of random ROMs, inputs, and the final states."""
    generator = np.random.default_rng(0)
    rom_bank = pack_roms([atari_fuzz.entry(cart, generator) for cart in carts[:CONSOLES]])
    pressed = atari_fuzz.held(CONSOLES, FRAMES, generator)
    return rom_bank, pressed, atari_fuzz.play(rom_bank, pressed, FRAMES, wp.get_device("cpu"), LOG)


def test_noise_breaks_nothing(played):
    rom_bank, _, ending = played
    assert ending.faults == []
    assert len(np.unique(rom_bank.table[:, Slot.KIND])) > 10
    assert 0 < ending.cut < FRAMES // atari_fuzz.STEP * CONSOLES  # some programs never end a frame, and others do
    assert sum(len(np.unique(pictures)) > 4 for pictures in ending.pictures) > CONSOLES // 8


def test_short_logs_draw_the_same(played):
    rom_bank, pressed, ending = played
    again = atari_fuzz.play(rom_bank, pressed, FRAMES, wp.get_device("cpu"), atari_fuzz.SHORT_LOG)
    assert again.faults == [] and atari_fuzz.differences(ending, again) == []


def test_all_kinds_are_made(carts):
    assert {cart.kind for cart in carts} == set(CartridgeKind)
    assert len({cart.image for cart in carts}) == len(carts)


def test_the_program_that_is_mutated_works():
    image = np.full(4096, 0xEA, np.uint8)
    image[0xC00 : 0xC00 + len(atari_noise.PROGRAM)] = np.frombuffer(atari_noise.PROGRAM, np.uint8)
    image[-4:-2] = 0x00, 0xFC
    rom_bank = pack_roms([atari_fuzz.entry(atari_noise.cartridge(image.tobytes()), np.random.default_rng(3))])
    ending = atari_fuzz.play(rom_bank, np.zeros((2, 1, atari_fuzz.STEP, 2), np.uint8), 8, wp.get_device("cpu"), LOG)
    state = machine_state.fields(ending.machine)
    assert ending.faults == [] and ending.cut == 0
    assert abs(int(state["cycles"][0, 0]) - 262 * machine_state.CYCLES_IN_LINE) < 3 * machine_state.CYCLES_IN_LINE
    assert state["instructions"][0, 0] < 10_000 and len(np.unique(ending.pictures)) > 20


IMPOSSIBLE = [
    ("instructions", 25_001),
    ("slices", 0x01FF0000),
    ("bank", 4),
    ("X_BALL", 160),
    ("STARS", 5),
    ("buffer", 2),
    ("paddle", -1),
    ("phase", -80),
]


@pytest.mark.parametrize(("name", "value"), IMPOSSIBLE)
def test_states_that_cannot_be_are_told(played, name: str, value: int):
    rom_bank, _, ending = played
    now = machine_state.fields(ending.machine)
    if name in machine_state.display_fields():
        now["kept"][7, machine_state.display_fields().index(name)] = value
    else:
        now[name][7, 0] = value
    assert atari_fuzz.out_of_range(now, rom_bank.table) == [f"'{name}' of console 7 is out of range"]


def test_the_layout_of_a_state_is_the_consoles():
    layout = machine_state.layout()
    assert layout["ram"] == ("u1", 4, 128)
    assert layout["record_end"][1] < RECORD <= layout["beyond"][1] + layout["beyond"][2]


def test_differences_are_told(played):
    _, _, ending = played
    other = atari_fuzz.Ending(ending.machine.copy(), ending.pictures.copy(), ending.earned.copy(), 0, 0)
    other.pictures[5, 0, 0, 0] ^= 1
    assert atari_fuzz.differences(ending, other) == ["'pictures' of 1 consoles differs, the first of which is 5"]


def test_a_run_is_written_down(tmp_path, capfd):
    report = atari_fuzz.main(atari_fuzz.Settings("cpu", roms=10, frames=1, compared=16, out=tmp_path / "fuzz.json"))
    assert report["faults"] == [] and report["roms"] == atari_noise.CHUNK
    assert json.loads((tmp_path / "fuzz.json").read_text()) == report
    assert "0 faults" in capfd.readouterr().err
