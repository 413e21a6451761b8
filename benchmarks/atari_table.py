"""Raw frames per second of every Atari game with observations: frame skip 4, 84 x 84 grey, frame stack 4.

python benchmarks/atari_table.py --device cuda:0 --out atari_table.json
python benchmarks/atari_table.py --device cpu --consoles 8 --apart 5 --steps 5 --games pong breakout

The console's kernels run without the engine: one launch for the frames of a step, one for the drawing and one for the
observations. Games that are over restart. All consoles of a launch play the same game with independent random actions.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
import warp as wp
from rich.console import Console
from run import describe_machine, show

from worldloom.atari.emulator.emulator_batch import LOG, EmulatorBatch, emulation_result
from worldloom.atari.env.game_selection import GameSpec, game_specs, rom_bank_of
from worldloom.atari.env.settings import Settings as WorldSettings
from worldloom.atari.env.start_states import StartStates, start_programs
from worldloom.atari.frames.observe import FrameFormat, FrameSelection, Observer
from worldloom.atari.frames.palettes import greys
from worldloom.atari.games.game_table import GAMES
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY
from worldloom.core.base.device import resolve
from worldloom.core.model.launch import Shard

FRAMES = 4


@dataclass
class Settings:
    """Measure all Atari games."""

    device: str = "auto"
    """Device: cpu, cuda:0, or auto."""
    consoles: int = 4096
    """Consoles per game."""
    games: list[str] = field(default_factory=lambda: [game.name for game in GAMES if game.name not in MULTIPLAYER_ONLY])
    """Names of the games."""
    apart: int = 30
    """Random steps before the measurement, which decorrelate the games."""
    steps: int = 10
    """Measured steps."""
    out: Path | None = None
    """Output file (JSON), updated after every game."""


class Party:
    """Consoles that all play one game of a ROM bank."""

    def __init__(self, found: tuple[GameSpec, ...], count: int, device: wp.Device) -> None:
        self.found, self.count, self.device = found, count, device
        chosen = WorldSettings()
        rom_bank, self.starts = rom_bank_of(found), start_programs(found, chosen)
        self.states, self.emulator = StartStates(rom_bank, self.starts, device), EmulatorBatch(rom_bank, count, device)
        self.result = emulation_result(count, device)
        self.machine, self.pictures = (
            wp.zeros(shape, dtype=wp.uint8, device=device)
            for shape in ((count, rom_bank.record), (count, 2, rom_bank.height, 160))
        )
        self.pressed = wp.zeros((count, FRAMES, 2), dtype=wp.uint8, device=device)
        self.game, self.frames = (
            wp.zeros(count, dtype=wp.int32, device=device),
            wp.full(count, FRAMES, dtype=wp.int32, device=device),
        )
        self.shard = Shard(0, count, None, True, device, None)
        heights = [min(spec.television.height, 210) for spec in found]
        self.observer = Observer(FrameFormat(), heights, [greys(spec.television.format) for spec in found], device)
        self.screen = wp.zeros((count, *self.observer.shape), dtype=wp.uint8, device=device)
        self.shown = wp.full(count, int(FrameSelection.BRIGHTER), dtype=wp.int32, device=device)

    @property
    def bytes_per_console(self) -> int:
        """State, pictures, log and observation."""
        return (self.machine.size + self.pictures.size + self.screen.size) // self.count + 2 * LOG * 4

    def begin(self, number: int) -> None:
        """Start game ``number`` in all consoles, from random start states."""
        self.game.fill_(number)
        each = self.starts.count // len(self.found)
        torch_device = wp.device_to_torch(self.device)
        self.first = torch.randint(0, each, (self.count,), device=torch_device) + number * each
        self.start = wp.to_torch(self.states.machine).view(torch.uint8)
        wp.to_torch(self.machine).copy_(self.start[self.first])
        self.buttons = torch.tensor(
            self.found[number].choices(WorldSettings(), False), device=torch_device, dtype=torch.uint8
        )

    def step(self) -> None:
        buttons, over = wp.to_torch(self.pressed), wp.to_torch(self.result.over)
        buttons[:, :, 0] = self.buttons[
            torch.randint(0, len(self.buttons), (self.count, 1), device=self.buttons.device)
        ]
        self.emulator.emulate(
            self.shard, self.machine, self.game, self.pressed, self.frames, None, self.result, self.pictures, window=2
        )
        self.emulator.draw(self.shard, self.game, self.pictures)
        self.observer.launch(self.pictures, self.game, self.screen, self.shown)
        machine = wp.to_torch(self.machine)
        machine.copy_(torch.where(over[:, None], self.start[self.first], machine))

    def run(self, steps: int) -> float:
        """Seconds of ``steps`` steps."""
        wp.synchronize_device(self.device)
        began = time.perf_counter()
        for _ in range(steps):
            self.step()
        wp.synchronize_device(self.device)
        return time.perf_counter() - began


def main(settings: Settings) -> None:
    """Measure, print and write."""
    device, _ = resolve(settings.device)
    console, rows = Console(), list[dict[str, Any]]()
    with wp.ScopedDevice(device):
        if device.is_cuda:
            wp.set_stream(wp.stream_from_torch(torch.cuda.current_stream()))
        party = Party(game_specs(settings.games, WorldSettings()), settings.consoles, device)
        for number, name in enumerate(settings.games):
            party.begin(number)
            party.run(settings.apart)
            rate = settings.consoles * FRAMES * settings.steps / party.run(settings.steps)
            rows.append({"game": name, "frames_per_second": rate})
            console.print(f"{name} {rate:,.0f}")
            if settings.out is not None:
                kept = {
                    "machine": describe_machine(device),
                    "consoles": settings.consoles,
                    "bytes_per_console": party.bytes_per_console,
                    "games": rows,
                }
                settings.out.write_text(json.dumps(kept, indent=1) + "\n")
    rates = np.array([row["frames_per_second"] for row in rows])
    show(console, f"{settings.consoles} consoles, {party.bytes_per_console:,} bytes each", rows)
    console.print(f"least {rates.min():,.0f}, median {np.median(rates):,.0f}, most {rates.max():,.0f} frames a second")


if __name__ == "__main__":
    main(tyro.cli(Settings))
