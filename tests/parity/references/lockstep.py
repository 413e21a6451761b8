"""The emulator and ALE in lockstep: both get the same inputs, and their states are compared after every frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from worldloom.atari.cartridges.cartridge import CartridgeKind
from worldloom.atari.cartridges.power_on import memory_at_power_on, timer_at_power_on
from worldloom.atari.emulator.emulator_batch import EmulatorBatch, emulation_result
from worldloom.atari.emulator.inputs import WARM_UP
from worldloom.atari.emulator.rom_bank import RAM, RECORD, Slot
from worldloom.atari.env.boot import boot
from worldloom.atari.env.game_selection import DIFFICULTY_SHIFT, SWITCHES, GameSpec, game_specs, rom_bank_of
from worldloom.atari.env.settings import Settings
from worldloom.core.model.launch import Shard

LONGEST_HOLD = 16
"""Maximum number of frames that an action is held."""
ENOUGH = 5
"""Differing episodes after which a game is no longer compared."""
PARTS = ("RAM", "picture", "rules")
"""Compared parts: memory; every pixel; reward, lives and end of the game."""


@dataclass(frozen=True)
class Place:
    """Position of the first difference: the episode, from 0, and its frame, -1 for the start."""

    episode: int
    frame: int


@dataclass
class Finding:
    """Result of the comparison of one game.

    Attributes:
        game: Its name.
        cartridge: The kind of its cartridge.
        frames: How many were compared.
        episodes: How many were begun.
        differs: Where RAM, picture and rules differ first; those that never do are left out.
        unequal: In how many episodes something differs.
    """

    game: str
    cartridge: str
    frames: int = 0
    episodes: int = 0
    differs: dict[str, Place] = field(default_factory=dict)
    unequal: int = 0


def load_ale(title: GameSpec) -> Any:
    """ALE with the ROM of a game: one frame per action, deterministic."""
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", 1)  # by default the clock, which decides where things lie in some modes
    ale.loadROM(title.rom.source)
    return ale


def number_of(title: GameSpec) -> int:
    return -1 if title.game is None else title.game.number


class Player:
    """Random play: every second episode with all legal actions, every third and fourth with held actions."""

    def __init__(self, ale: Any, seed: Sequence[int]) -> None:
        self._minimal = [int(action.value) for action in ale.getMinimalActionSet()]
        self._legal = [int(action.value) for action in ale.getLegalActionSet()]
        self._rng = np.random.default_rng(seed)
        self._held = self._left = 0

    def action(self, episode: int) -> int:
        if self._left == 0:
            choices = self._legal if episode % 2 else self._minimal
            self._held = choices[self._rng.integers(len(choices))]
            self._left = int(self._rng.integers(1, LONGEST_HOLD + 1)) if episode % 4 >= 2 else 1
        self._left -= 1
        return self._held


class Lockstep:
    """Several games, each in one console and in one ALE, episode after episode.

    Args:
        names: Of the games, or paths of ROMs.
        frames: The most that an episode lasts.
        seed: Of the random actions.
        variants: Whether every episode plays a mode and a difficulty by chance, instead of the usual ones.
    """

    def __init__(self, names: Sequence[str], frames: int, seed: int = 0, *, variants: bool = False) -> None:
        self.game_specs = game_specs(names, Settings())
        count = len(self.game_specs)
        self._longest, self._variants = frames, variants
        self._rng = np.random.default_rng(seed)
        self._shelf = rom_bank_of(self.game_specs)
        self._device = wp.get_device("cpu")
        self._bench = EmulatorBatch(self._shelf, count, self._device)
        self._table = self._bench.table.numpy()
        self._machine = wp.array(self._shelf.power_on, dtype=wp.uint8, device=self._device)
        self._games = wp.array(np.arange(count, dtype=np.int32), device=self._device)
        self._pictures = wp.zeros((count, 2, self._shelf.height, 160), dtype=wp.uint8, device=self._device)
        self._pressed = wp.zeros((count, 1, 2), dtype=wp.uint8, device=self._device)
        self._one = wp.ones(count, dtype=wp.int32, device=self._device)
        self._told = emulation_result(count, self._device)
        self._everyone = Shard(0, count, None, True, self._device, None)
        self._state, self._shown, self._held = (
            self._machine.numpy(),
            self._pictures.numpy(),
            self._pressed.numpy(),
        )  # the same memory
        self._earned, self._lives, self._over, self._newest = (
            getattr(self._told, what).numpy() for what in ("earned", "lives", "over", "newest")
        )
        self._ales = [load_ale(title) for title in self.game_specs]
        self._screens = [np.zeros(ale.getScreenDims(), np.uint8) for ale in self._ales]
        self._players = [
            Player(ale, (seed, 1 + number_of(title))) for title, ale in zip(self.game_specs, self._ales, strict=True)
        ]
        self._frame, self._lost = [0] * count, [False] * count
        self.findings = [
            Finding(title.rom.name, CartridgeKind(kind).label)
            for title, kind in zip(self.game_specs, self._table[:, Slot.KIND], strict=True)
        ]

    def run(self, frames: int, tell: Callable[[int], None] = lambda frames: None) -> list[Finding]:
        """Compare ``frames`` frames of every game; ``tell`` is called after each frame of all games."""
        for row in range(len(self.game_specs)):
            self._start(row)
        for _ in range(frames):
            self._step()
            tell(len(self.game_specs))
            if all(finding.unequal >= ENOUGH for finding in self.findings):
                break
        return self.findings

    def _start(self, row: int) -> None:
        """Reset ALE and the console, which keeps its memory; the comparison continues after the boot."""
        finding, kind = self.findings[row], int(self._table[row, Slot.KIND])
        memory = memory_at_power_on(kind, finding.episodes)
        self._state[row, RECORD : RECORD + len(memory) - 128] = np.frombuffer(memory[128:], np.uint8)
        self._table[row, Slot.TIMER] = timer_at_power_on(kind, finding.episodes)
        title = self.game_specs[row]
        mode, difficulty = self._choose_variant(row) if self._variants else (title.mode, title.difficulty)
        alone = Shard(row, 1, None, True, self._device, None)
        self._bench.power_on(self._machine[row : row + 1], self._games[row : row + 1])
        for pressed in boot(title.game, mode, difficulty):
            self._held[row] = pressed, WARM_UP
            self._show(alone)
        self._ales[row].reset_game()
        self._frame[row], self._lost[row] = -1, False
        finding.episodes += 1
        self._compare(row, 0, 0)
        self._frame[row] = 0

    def _choose_variant(self, row: int) -> tuple[int, int]:
        game, ale = self.game_specs[row].game, self._ales[row]
        mode, difficulty = int(self._rng.choice(game.modes)), int(self._rng.choice(ale.getAvailableDifficulties()))
        ale.setMode(mode)
        ale.setDifficulty(difficulty)
        self._table[row, Slot.SWITCHES] = SWITCHES | difficulty << DIFFICULTY_SHIFT
        return mode, difficulty

    def _step(self) -> None:
        actions = [
            player.action(finding.episodes - 1) for player, finding in zip(self._players, self.findings, strict=True)
        ]
        self._held[:, 0, 0] = actions
        self._held[:, 0, 1] = 0
        self._show(self._everyone)
        for row, action in enumerate(actions):
            if self.findings[row].unequal < ENOUGH:
                self._compare(row, self._ales[row].act(action), int(self._earned[row]))

    def _show(self, shard: Shard) -> None:
        self._bench.emulate(
            shard, self._machine, self._games, self._pressed, self._one, None, self._told, self._pictures, window=1
        )
        self._bench.draw(shard, self._games, self._pictures)

    def _compare(self, row: int, reward: int, earned: int) -> None:
        """Compare a console with ALE; start the next episode if this one is over, long enough, or differs."""
        ale, finding = self._ales[row], self.findings[row]
        screen = self._screens[row]
        ale.getScreen(screen)
        picture = self._shown[row, self._newest[row], : len(screen)]
        own_result = (earned, self._lives[row], self._over[row])
        unequal = {
            "RAM": self._state[row, RAM : RAM + 128].tobytes() != ale.getRAM().tobytes(),
            "picture": not np.array_equal(picture, screen),
            "rules": own_result != (reward, ale.lives(), ale.game_over(with_truncation=False)),
        }
        here = Place(finding.episodes - 1, self._frame[row])
        for part in PARTS:
            if unequal[part]:
                finding.differs.setdefault(part, here)
        lost = any(unequal.values())
        finding.unequal += lost and not self._lost[row]
        self._lost[row] |= lost
        if here.frame < 0:
            return
        finding.frames += 1
        self._frame[row] += 1
        if self._lost[row] or ale.game_over(with_truncation=False) or self._frame[row] >= self._longest:
            self._start(row)
