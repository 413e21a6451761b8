"""Random ROMs on a GPU: memory stays in bounds, and every state and picture equals the CPU's bit for bit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import warp as wp

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import atari_fuzz
import atari_noise

from worldloom.atari.emulator.emulator_batch import LOG
from worldloom.atari.emulator.pack_roms import pack_roms

FRAMES, CONSOLES = 60, 2048


@pytest.mark.parametrize("log_words", [LOG, atari_fuzz.SHORT_LOG])
def test_noise_ends_as_on_the_cpu(log_words: int):
    generator = np.random.default_rng(log_words)
    carts = [
        cart for chunk in range(CONSOLES // atari_noise.CHUNK) for cart in atari_noise.cartridges(log_words, chunk)
    ]
    rom_bank, pressed = (
        pack_roms([atari_fuzz.entry(cart, generator) for cart in carts]),
        atari_fuzz.held(CONSOLES, FRAMES, generator),
    )
    ending = atari_fuzz.play(rom_bank, pressed, FRAMES, wp.get_device("cuda:0"), log_words)
    assert ending.faults == []
    host = atari_fuzz.play(rom_bank, pressed, FRAMES, wp.get_device("cpu"), LOG)
    assert host.faults == [] and atari_fuzz.differences(ending, host) == []
