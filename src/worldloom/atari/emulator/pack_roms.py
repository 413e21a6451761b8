"""Packing of games into a ROM bank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from worldloom.atari.emulator.emulator_batch import EmulatorBatch
from worldloom.atari.emulator.rom_bank import RAM, RECORD, RomBank, RomEntry, Slot


def pack_roms(entries: Sequence[RomEntry]) -> RomBank:
    """Concatenate games into a ROM bank and compute their states at power-on."""
    table = np.zeros((len(entries), len(Slot)), np.int32)
    image = 0
    for row, entry in enumerate(entries):
        for slot, value in {**entry.numbers, Slot.IMAGE: image}.items():
            table[row, slot] = value
        image += len(entry.words)
    record = RECORD + (int(table[:, Slot.RAM_BYTES].max()) + 3) // 4 * 4
    memory = np.zeros((len(entries), record), np.uint8)
    for row, entry in enumerate(entries):
        memory[row, RAM : RAM + 128] = np.frombuffer(entry.power_on[:128], np.uint8)
        memory[row, RECORD : RECORD + len(entry.power_on) - 128] = np.frombuffer(entry.power_on[128:], np.uint8)
    words = np.concatenate([entry.words for entry in entries])
    height = int(table[:, Slot.HEIGHT].max())
    emulator = EmulatorBatch(RomBank(words, table, record, height, memory), len(entries), wp.get_device("cpu"))
    machine = wp.array(memory, dtype=wp.uint8, device="cpu")
    emulator.power_on(machine, wp.array(np.arange(len(entries), dtype=np.int32), device="cpu"))
    return RomBank(words, table, record, height, machine.numpy())
