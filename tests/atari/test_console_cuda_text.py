"""The CUDA source of the console, compiled for the CPU: it gives the states and pictures of the CPU source."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp
from bare_machine import as_cuda_source, with_cuda_branches
from dense_programs import dense_program, edge_programs
from thorough import THOROUGH, covering, only_thorough, sample

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import atari_fuzz
import atari_noise

from worldloom.atari import native
from worldloom.atari.cartridges.cartridge import cartridge
from worldloom.atari.emulator import console_kernels, emulator_batch
from worldloom.atari.emulator.console_kernels import Kernels
from worldloom.atari.emulator.emulator_batch import LOG, RASTER_THREADS, EmulatorBatch
from worldloom.atari.emulator.inputs import RESET
from worldloom.atari.emulator.pack_roms import pack_roms
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.env.game_selection import game_specs, rom_bank_of
from worldloom.atari.env.settings import resolve_settings

GAMES = (
    "breakout",
    "hero",
    "montezuma_revenge",
    "pitfall2",
    "pong",
    "private_eye",
    "road_runner",
    "robotank",
    "seaquest",
    "skiing",
    "surround",
    "yars_revenge",
)
CPU = wp.get_device("cpu")


@pytest.fixture(scope="module")
def of_cuda() -> Kernels:
    """The console's kernels from the CUDA source."""
    text = SimpleNamespace(
        machine=lambda rules: as_cuda_source(native.machine(rules)),
        rasterizer=lambda: as_cuda_source(native.rasterizer()),
        header=lambda name: with_cuda_branches(native.header(name)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console_kernels, "native", text)
        return quickly_compiled(console_kernels.kernels.__wrapped__())


def quickly_compiled(kernels: Kernels) -> Kernels:
    """The kernels with few optimizations, since they run for a few frames only."""
    for kernel in (kernels.power_on, kernels.emulate, kernels.draw):
        kernel.module.options["optimization_level"] = 0
    return kernels


class Shared(EmulatorBatch):
    """One thread per console and as many per picture as on a GPU; they need no synchronization."""

    def __init__(self, rom_bank: RomBank, num_consoles: int, device: wp.Device, log_words: int) -> None:
        super().__init__(rom_bank, num_consoles, device, log_words)
        self.raster_threads, self.consoles_per_thread = RASTER_THREADS, 1


def assert_alike(
    rom_bank: RomBank,
    pressed: np.ndarray,
    frames: int,
    log_words: int,
    other: Kernels,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = atari_fuzz.play(rom_bank, pressed, frames, CPU, log_words)
    monkeypatch.setattr(emulator_batch, "kernels", lambda: other)
    monkeypatch.setattr(atari_fuzz, "EmulatorBatch", Shared)
    again = atari_fuzz.play(rom_bank, pressed, frames, CPU, log_words)
    assert atari_fuzz.differences(one, again) == []
    assert one.instructions == again.instructions > 0
    assert one.faults == again.faults


@pytest.mark.parametrize("log_words", sample([atari_fuzz.SHORT_LOG, LOG], 1))
def test_noise_runs_alike(log_words, of_cuda, monkeypatch):
    generator, carts, frames = np.random.default_rng(log_words), atari_noise.cartridges(1, log_words), 6
    rom_bank = pack_roms([atari_fuzz.entry(cart, generator) for cart in carts])
    assert_alike(rom_bank, atari_fuzz.held(len(carts), frames, generator), frames, log_words, of_cuda, monkeypatch)


def dense_rom_bank(seed: int, count: int, pushes: float) -> tuple[RomBank, np.ndarray, int]:
    """Consoles with programs that write to the TIA all the time, and the inputs of six frames."""
    generator, frames = np.random.default_rng(seed), 6
    carts = [cartridge(dense_program(generator, pushes)) for _ in range(count)]
    return (
        pack_roms([atari_fuzz.entry(cart, generator) for cart in carts]),
        atari_fuzz.held(count, frames, generator),
        frames,
    )


@pytest.mark.parametrize(("log_words", "pushes"), covering([LOG, atari_fuzz.SHORT_LOG], [0.0, 0.2]))
def test_dense_programs_run_alike(log_words, pushes, of_cuda, monkeypatch):
    rom_bank, pressed, frames = dense_rom_bank(log_words, 60 if THOROUGH else 30, pushes)
    assert_alike(rom_bank, pressed, frames, log_words, of_cuda, monkeypatch)


def test_programs_at_the_edges_run_alike(of_cuda, monkeypatch):
    """The stack at the end of the RAM and in the TIA, more writes than the queue holds, and late accesses."""
    generator, frames = np.random.default_rng(0), 16
    carts = [cartridge(image) for image in edge_programs()]
    rom_bank = pack_roms([atari_fuzz.entry(cart, generator) for cart in carts])
    assert_alike(
        rom_bank,
        np.zeros((frames // atari_fuzz.STEP, len(carts), atari_fuzz.STEP, 2), np.uint8),
        frames,
        LOG,
        of_cuda,
        monkeypatch,
    )


@only_thorough  # compiles the console once more
@pytest.mark.parametrize("pushes", [0.2, 0.0])
def test_looks_that_are_left_out_change_nothing(pushes, monkeypatch):
    rom_bank, pressed, frames = dense_rom_bank(7, 300, pushes)
    one = atari_fuzz.play(rom_bank, pressed, frames, CPU, LOG)
    heads = {
        "CUDA_CALLABLE bool may_change_collisions(u32 kind) {": " if (kind < COLUP0 || kind > COLUBK) return true;",
        "\nbool players_disjoint() {": " return false;",
    }

    def always(rules: str) -> str:
        text = native.machine(rules)
        for head, added in heads.items():
            assert text.count(head) == 1
            text = text.replace(head, head + added)
        return text

    text = SimpleNamespace(machine=always, rasterizer=native.rasterizer, header=native.header)
    monkeypatch.setattr(console_kernels, "native", text)
    unskipped = quickly_compiled(console_kernels.kernels.__wrapped__())
    monkeypatch.setattr(emulator_batch, "kernels", lambda: unskipped)
    again = atari_fuzz.play(rom_bank, pressed, frames, CPU, LOG)
    assert atari_fuzz.differences(one, again) == []


def test_games_run_alike(of_cuda, monkeypatch):
    pytest.importorskip("ale_py")
    generator, frames = np.random.default_rng(0), 120
    pressed = generator.integers(0, 18, (frames // atari_fuzz.STEP, len(GAMES), atari_fuzz.STEP, 2), dtype=np.uint8)
    pressed[2:4, ..., 0] |= RESET
    assert_alike(rom_bank_of(game_specs(GAMES, resolve_settings({}))), pressed, frames, LOG, of_cuda, monkeypatch)
