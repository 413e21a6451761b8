"""Consoles on a GPU equal those on a CPU bit for bit: every game, in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from worldloom.atari.emulator.emulator_batch import EmulatorBatch, emulation_result
from worldloom.atari.emulator.inputs import RESET, WARM_UP
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.env.boot import boot
from worldloom.atari.env.game_selection import GameSpec, game_specs, rom_bank_of
from worldloom.atari.env.settings import Settings
from worldloom.atari.games.game_table import GAMES
from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Shard

CONSOLES = 2
"""Consoles per game."""
FRAMES, SKIP = 300, 4


def found_games() -> list[str]:
    """The games whose ROMs are available."""
    there = []
    for game in GAMES:
        try:
            game_specs([game.name], Settings())
        except InputError:
            continue
        there.append(game.name)
    return there


@pytest.fixture(scope="module")
def games() -> tuple[GameSpec, ...]:
    names = found_games()
    if not names:
        pytest.skip("no ROM of any game was found; install ale-py or set ALE_ROMS_DIR")
    return game_specs(names, Settings())


class Rack:
    """Several consoles of each game on one device."""

    def __init__(self, rom_bank: RomBank, device: str) -> None:
        count = len(rom_bank.table) * CONSOLES
        self.device = wp.get_device(device)
        game = np.arange(count, dtype=np.int32) % len(rom_bank.table)
        self._bench, self._result = EmulatorBatch(rom_bank, count, self.device), emulation_result(count, self.device)
        self._games = wp.array(game, dtype=wp.int32, device=self.device)
        self._machine = wp.array(rom_bank.power_on[game], dtype=wp.uint8, device=self.device)
        self._pictures = wp.zeros((count, 2, rom_bank.height, 160), dtype=wp.uint8, device=self.device)
        self._all = Shard(0, count, None, True, self.device, None)

    def run(
        self,
        pressed: np.ndarray[Any, Any],
        frames: np.ndarray[Any, Any],
        program: np.ndarray[Any, Any] | None = None,
        mask: np.ndarray[Any, Any] | None = None,
        one_life: bool = False,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Run programs, uint8 (programs, frames, 2), and return all states. A mask skips the first console too."""
        held = wp.array(pressed, dtype=wp.uint8, device=self.device)
        lengths = wp.array(frames, dtype=wp.int32, device=self.device)
        rows = None if program is None else wp.array(program, dtype=wp.int32, device=self.device)
        shard = (
            self._all
            if mask is None
            else Shard(1, len(mask) - 1, wp.array(mask, dtype=wp.bool, device=self.device), True, self.device, None)
        )
        self._bench.emulate(
            shard,
            self._machine,
            self._games,
            held,
            lengths,
            rows,
            self._result,
            self._pictures,
            window=2,
            one_life=one_life,
        )
        self._bench.draw(shard, self._games, self._pictures)
        results = {name: getattr(self._result, name).numpy() for name in ("earned", "lives", "over", "ran", "newest")}
        return {"machine": self._machine.numpy(), "pictures": self._pictures.numpy(), **results}


def assert_same(
    one: dict[str, np.ndarray[Any, Any]], two: dict[str, np.ndarray[Any, Any]], games: tuple[GameSpec, ...], when: str
) -> None:
    for what, values in one.items():
        unlike = np.flatnonzero((values != two[what]).reshape(len(values), -1).any(axis=1))
        assert not len(unlike), f"{what} {when}: {', '.join(games[row % len(games)].rom.name for row in unlike)}"


def test_every_game_runs_alike(games: tuple[GameSpec, ...]) -> None:
    rom_bank, rng = rom_bank_of(games), np.random.default_rng(0)
    racks = [Rack(rom_bank, device) for device in ("cpu", "cuda:0")]
    boots = [boot(title.game, title.mode) for title in games] * CONSOLES
    pressed = np.zeros((len(boots), max(map(len, boots)), 2), np.uint8)
    for row, program in enumerate(boots):
        pressed[row, : len(program), 0] = program
    pressed[:, :, 1] = WARM_UP
    assert_same(
        *(rack.run(pressed, np.array([len(program) for program in boots])) for rack in racks), games, "after the boot"
    )
    for first in range(0, FRAMES, SKIP):
        pressed = rng.integers(0, 18, (len(boots), SKIP, 2)).astype(np.uint8)
        pressed[:, :, 1] |= WARM_UP  # games that are over go on
        assert_same(
            *(rack.run(pressed, np.full(len(boots), SKIP)) for rack in racks), games, f"after frame {first + SKIP}"
        )


def test_consoles_of_a_warp_part_ways(games: tuple[GameSpec, ...]) -> None:
    """Consoles with fewer frames, a lost life, no program or a mask do not block the others of their warp."""
    rom_bank, rng = rom_bank_of(games), np.random.default_rng(1)
    racks = [Rack(rom_bank, device) for device in ("cpu", "cuda:0")]
    count = len(games) * CONSOLES
    for launch in range(40):
        pressed = rng.integers(0, 18, (count, SKIP, 2)).astype(np.uint8)
        pressed[:, :, 0] |= np.where(rng.random((count, SKIP)) < 0.1, RESET, 0).astype(np.uint8)
        program = np.where(rng.random(count) < 0.2, -1, rng.permutation(count))
        choice = pressed, rng.integers(0, SKIP + 1, count), program, rng.random(count) < 0.8, bool(launch % 2)
        assert_same(*(rack.run(*choice) for rack in racks), games, f"after launch {launch}")
