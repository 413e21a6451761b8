"""The boot against ALE: RAM and lives at the start of an episode, in every mode and difficulty, and the game table.

A few games by default; all games in all modes with ``WORLDLOOM_PARITY`` set.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
import warp as wp

pytest.importorskip("ale_py")

from references.ale import console, memory

from worldloom.atari.emulator.emulator_batch import EmulatorBatch, emulation_result
from worldloom.atari.emulator.inputs import WARM_UP
from worldloom.atari.emulator.rom_bank import RAM
from worldloom.atari.env.boot import boot, counted_boot_frames
from worldloom.atari.env.game_selection import game_specs, rom_bank_of
from worldloom.atari.env.settings import resolve_settings
from worldloom.atari.games.game_table import GAMES, find_game
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY
from worldloom.core.model.launch import Shard

ALL = "WORLDLOOM_PARITY" in os.environ
CHOSEN = ["berzerk", "double_dunk", "gopher", "sir_lancelot", "tic_tac_toe_3d", "video_cube"]
NAMES = [game.name for game in GAMES if game.name not in MULTIPLAYER_ONLY] if ALL else CHOSEN
AT_RANDOM = {"adventure"}
"""Games whose memory depends on the wall clock in ALE after SELECT was pressed."""


def variants(name):
    """Modes and difficulties of a game: all, or the last."""
    game = find_game(name)
    modes = game.modes if ALL and len(game.modes) < 100 else game.modes[-1:]
    found = [(mode, game.difficulties[0]) for mode in modes] + [
        (modes[-1], difficulty) for difficulty in game.difficulties[1:]
    ]
    return [(0, difficulty) for difficulty in game.difficulties] if name in AT_RANDOM else found if ALL else found[-1:]


@pytest.mark.parametrize("names", [NAMES[k : k + 8] for k in range(0, len(NAMES), 8)], ids=lambda names: names[0])
def test_start(names):
    plain = dict(zip(names, game_specs(names, resolve_settings({})), strict=True))
    found = [
        replace(plain[name], mode=mode, difficulty=difficulty) for name in names for mode, difficulty in variants(name)
    ]
    programs = [boot(title.game, title.mode, title.difficulty) for title in found]
    count, device, rom_bank = len(found), wp.get_device("cpu"), rom_bank_of(found)
    held = np.zeros((count, max(map(len, programs)), 2), np.uint8)
    held[:, :, 1] = WARM_UP
    for row, program in enumerate(programs):
        held[row, : len(program), 0] = program
    machine, result = wp.array(rom_bank.power_on, device=device), emulation_result(count, device)
    game, frames = (
        wp.array(np.array(values, np.int32), device=device)
        for values in (range(count), [len(program) for program in programs])
    )
    pictures = wp.zeros((count, 2, rom_bank.height, 160), dtype=wp.uint8, device=device)
    everyone = Shard(0, count, None, True, device, None)
    EmulatorBatch(rom_bank, count, device).emulate(
        everyone, machine, game, wp.array(held, device=device), frames, None, result, pictures, window=0
    )
    for row, title in enumerate(found):
        difficulty = None if title.game.name == "backgammon" and title.difficulty == 0 else title.difficulty
        ale = console(title.game.name, title.mode, difficulty)
        assert machine.numpy()[row, RAM : RAM + 128].tobytes() == memory(ale), (title.id, title.mode, title.difficulty)
        assert (result.lives.numpy()[row], result.over.numpy()[row]) == (ale.lives(), ale.game_over()), title.id
        assert counted_boot_frames(title.game, title.mode, title.difficulty) == ale.getEpisodeFrameNumber(), title.id


@pytest.mark.parametrize("name", NAMES if ALL else NAMES[:3])
def test_table(name):
    game, ale = find_game(name), console(name)
    assert game.actions == tuple(action.value for action in ale.getMinimalActionSet())
    assert game.legal == tuple(action.value for action in ale.getLegalActionSet())
    assert game.modes == tuple(ale.getAvailableModes())
    assert game.difficulties[-len(ale.getAvailableDifficulties()) :] == tuple(ale.getAvailableDifficulties())
    assert game.lives == ale.lives() and game.height == ale.getScreenDims()[0]
    assert (
        ale.cloneState().getCurrentMode() == game.modes[0] and ale.cloneState().getDifficulty() == game.difficulties[0]
    )
