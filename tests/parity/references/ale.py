"""ALE for tests of reward rules: one frame at a time, with its RAM and that of a cartridge."""

from __future__ import annotations

import pytest

ale_py = pytest.importorskip("ale_py")
from ale_py import roms  # noqa: E402


def console(name: str, mode: int | None = None, difficulty: int | None = None):
    """A game in ALE, at the start of its first episode after the ROM was loaded."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("frame_skip", 1)
    ale.loadROM(roms.get_rom_path(name))
    if mode is not None:
        ale.setMode(mode)
    if difficulty is not None:
        ale.setDifficulty(difficulty)
    ale.reset_game()
    return ale


def memory(ale) -> bytes:
    return bytes(ale.getRAM())


def cartridge_memory(ale) -> bytes:
    """The 128 bytes of RAM of an F6 cartridge, read from a saved state; the console's RAM does not contain them."""
    state = ale.cloneSystemState().serialize()
    place = state.find(b"CartridgeF6SC") + 13 + 8
    return bytes(state[place + 4 * cell] for cell in range(128))
