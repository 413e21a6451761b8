"""Random ROMs: every frame ends, memory stays in bounds, and a GPU gives the CPU's results bit for bit.

python benchmarks/atari_fuzz.py --device cpu --out fuzz.json
python benchmarks/atari_fuzz.py --device cuda:0 --out fuzz.json
compute-sanitizer python benchmarks/atari_fuzz.py --device cuda:0 --roms 2048 --batch 1024 --frames 8 --compared 0

Each ROM runs in its own console with random inputs, and is drawn. Half of the batches have logs so short that they
overflow. Some ROMs run again, on the CPU and with logs of the other length, and must give the same results.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tyro
import warp as wp
from atari_noise import CHUNK, cartridges
from rich.console import Console
from rich.progress import Progress
from run import describe_machine

from worldloom.atari.cartridges.cartridge import Cartridge, CartridgeKind
from worldloom.atari.emulator.emulator_batch import LOG, EmulatorBatch, emulation_result
from worldloom.atari.emulator.inputs import RESET, SELECT
from worldloom.atari.emulator.machine_state import (
    CYCLES_IN_LINE,
    HUNG,
    MAX_INSTRUCTION_CYCLES,
    MAX_INSTRUCTIONS,
    fields,
    in_range,
)
from worldloom.atari.emulator.pack_roms import pack_roms
from worldloom.atari.emulator.rom_bank import RECORD, RomBank, RomEntry, Slot
from worldloom.atari.env.game_selection import MAX_LINES, MAX_RESISTANCE, MIN_RESISTANCE
from worldloom.atari.frames.television import FIRST_LINE, Format
from worldloom.atari.native import WIDTH
from worldloom.core.base.device import resolve
from worldloom.core.model.launch import Shard

Array = np.ndarray[Any, Any]

STEP = 4
"""Frames of a launch."""
SHORT_LOG = 24
"""Words of a log that most frames overflow."""
LOG_HEAD = 11
GUARD = 0xA5
"""Byte value of guard memory, which must not be written."""


@dataclass
class Settings:
    """Run random ROMs on the console."""

    device: str = "auto"
    """Device: cpu, cuda:0, or auto."""
    roms: int = 100_000
    """Number of ROMs, in whole chunks."""
    frames: int = 60
    """Frames per ROM."""
    seed: int = 0
    """Random seed."""
    batch: int = 0
    """Consoles at once; 0 for 4,096 on a CPU and 16,384 on a GPU."""
    compared: int = 4096
    """Number of ROMs of the first two batches that run again on the CPU."""
    out: Path | None = None
    """A JSON file; without one the JSON is printed."""


@dataclass
class Ending:
    """Final states of N consoles: arrays with a row per console, and faults."""

    machine: Array
    pictures: Array
    earned: Array
    instructions: int
    cut: int
    faults: list[str] = field(default_factory=list)


def entry(cart: Cartridge, generator: np.random.Generator) -> RomEntry:
    """A cartridge in a random console with random memory."""
    format_ = Format(generator.integers(3))
    numbers = {
        Slot.SLICES: cart.slices,
        Slot.KIND: int(cart.kind),
        Slot.RAM_BYTES: cart.ram_bytes,
        Slot.RULES: -1,
        Slot.FIRST_LINE: FIRST_LINE + int(generator.integers(-8, 9)),
        Slot.HEIGHT: format_.height,
        Slot.MAX_LINES: MAX_LINES[format_],
        Slot.COMBS: int(generator.integers(2)),
        Slot.LEFT: int(generator.integers(3)),
        Slot.RIGHT: int(generator.integers(3)),
        Slot.SWAP_PORTS: int(generator.integers(2)),
        Slot.SWAP_PADDLES: int(generator.integers(2)),
        Slot.SWITCHES: 0x3F | int(generator.integers(4)) << 6,
        Slot.PADDLE_MIN: MIN_RESISTANCE,
        Slot.PADDLE_MAX: MAX_RESISTANCE,
        Slot.TIMER: int(generator.integers(256)),
        Slot.FORMAT: int(format_),
    }
    return RomEntry(cart.words, numbers, generator.bytes(128 + cart.ram_bytes))


def held(count: int, frames: int, generator: np.random.Generator) -> Array:
    """Random inputs: uint8 (launches, count, STEP, 2)."""
    launches = -(-frames // STEP)
    pressed = generator.integers(0, 18, (launches, count, STEP, 2), dtype=np.uint8)
    switch = generator.random((launches, count, STEP))
    pressed[..., 0] |= np.where(switch < 0.05, RESET, np.where(switch < 0.1, SELECT, 0)).astype(np.uint8)
    return pressed


def play(rom_bank: RomBank, pressed: Array, frames: int, device: wp.Device, log_words: int) -> Ending:
    """Run the first consoles of a ROM bank, between two that are skipped and guard consoles in memory."""
    count, every = pressed.shape[1], slice(1, pressed.shape[1] + 1)
    table = rom_bank.table[:count]
    bench = EmulatorBatch(rom_bank, count + 2, device, log_words)
    machine = np.full((count + 2, rom_bank.record), GUARD, np.uint8)
    machine[every] = rom_bank.power_on[:count]
    spare = np.arange(rom_bank.record) >= RECORD + table[:, Slot.RAM_BYTES, None]  # the RAM of larger cartridges
    machine[every][spare] = GUARD
    game = np.zeros(count + 2, np.int32)
    game[every] = np.arange(count)
    state, which = wp.array(machine, dtype=wp.uint8, device=device), wp.array(game, dtype=wp.int32, device=device)
    pictures = wp.empty((count + 2, 2, rom_bank.height, WIDTH), dtype=wp.uint8, device=device)
    pictures.fill_(GUARD)
    report, shard, faults = emulation_result(count + 2, device), Shard(1, count, None, True, device, None), list[str]()
    instructions = cut = 0
    for number, step in enumerate(pressed):
        span = np.full(count + 2, min(STEP, frames - number * STEP), np.int32)
        sticks = np.zeros((count + 2, STEP, 2), np.uint8)
        sticks[every] = step
        sticks_there, spans = (
            wp.array(sticks, dtype=wp.uint8, device=device),
            wp.array(span, dtype=wp.int32, device=device),
        )
        bench.emulate(shard, state, which, sticks_there, spans, None, report, pictures, window=2)
        bench.draw(shard, which, pictures)
        bytes_ = state.numpy()
        now = fields(bytes_[every])
        wrong = [*out_of_range(now, table), *strayed(bytes_, spare, bench, every), *miscounted(report, now, span)]
        faults += [f"launch {number}: {each}" for each in wrong]
        instructions += int(now["instructions"].sum())
        cut += int(now["partial"].sum())
    drawn = pictures.numpy()
    below = np.arange(rom_bank.height) >= table[:, Slot.HEIGHT, None]
    if (drawn[[0, -1]] != GUARD).any() or (drawn[every].swapaxes(1, 2)[below] != GUARD).any():
        faults.append("a picture was drawn beyond its lines")
    if (bench.words.numpy() != rom_bank.words).any() or (bench.table.numpy() != rom_bank.table).any():
        faults.append("the ROMs or the table have changed")
    return Ending(
        state.numpy()[every].copy(), drawn[every], report.earned.numpy()[every].copy(), instructions, cut, faults
    )


def strayed(machine: Array, spare: Array, bench: EmulatorBatch, every: slice) -> list[str]:
    """Writes of a launch outside of its consoles."""
    log = bench.log.numpy().reshape(-1, 2, bench.log_words)
    logged = log[every, :, 0]
    faults = {
        "a state was written beyond its console": (machine[[0, -1]] != GUARD).any(),
        "RAM was written that the cartridge does not have": (machine[every][spare] != GUARD).any(),
        "a log was written beyond its console": (log[[0, -1]] != 0xFFFFFFFF).any(),
        "a log holds more than it has room for": (logged[logged != 0xFFFFFFFF] > bench.log_words - LOG_HEAD).any(),
    }
    return [fault for fault, found in faults.items() if found]


def miscounted(report: Any, now: dict[str, Array], span: Array) -> list[str]:
    """Impossible results of a launch."""
    every = slice(1, -1)
    wrong = {
        "ran": report.ran.numpy()[every] != span[every],
        "newest": report.newest.numpy()[every] != now["buffer"][:, 0],
        "over": report.over.numpy()[every],
        "lives": report.lives.numpy()[every] != 0,
        "earned": report.earned.numpy()[every] != 0,
    }
    return [f"'{name}' of console {np.flatnonzero(found)[0]} cannot be" for name, found in wrong.items() if found.any()]


def out_of_range(now: dict[str, Array], table: Array) -> list[str]:
    """The fields of a state with impossible values after a frame of a game without rules."""
    slices, shows_ram = (
        table[:, Slot.SLICES, None],
        np.isin(table[:, Slot.KIND, None], (CartridgeKind.E7, CartridgeKind.CV)),
    )
    most_cycles = HUNG + table[:, Slot.MAX_LINES, None] * CYCLES_IN_LINE + MAX_INSTRUCTIONS * MAX_INSTRUCTION_CYCLES
    right = in_range(now, table) | {
        "instructions": (now["instructions"] > 0) & (now["instructions"] <= MAX_INSTRUCTIONS),
        "cycles": (now["cycles"] >= 0) & (now["cycles"] <= most_cycles),
        "slices": now["slices"].view(np.uint8) < slices + shows_ram,
        "paddle": (now["paddle"][:, :2] >= MIN_RESISTANCE) & (now["paddle"][:, :2] <= MAX_RESISTANCE),
        **{name: now[name] == 0 for name in ("score", "reward", "lives", "note", "over")},
    }
    wrong = {name: np.flatnonzero(~fine.reshape(len(table), -1).all(axis=1)) for name, fine in right.items()}
    return [f"'{name}' of console {rows[0]} is out of range" for name, rows in wrong.items() if len(rows)]


def differences(one: Ending, other: Ending) -> list[str]:
    """Differences between the consoles that two results share."""
    found = []
    for name in ("machine", "pictures", "earned"):
        a, b = getattr(one, name), getattr(other, name)
        count = min(len(a), len(b))
        rows = np.flatnonzero((a[:count] != b[:count]).reshape(count, -1).any(axis=1))
        if len(rows):
            found.append(f"'{name}' of {len(rows):,} consoles differs, the first of which is {rows[0]}")
    return found


def batches(settings: Settings, size: int) -> Iterator[list[Cartridge]]:
    """All ROMs in batches of ``size``; each is generated while the previous one runs."""
    if settings.roms <= CHUNK:
        yield cartridges(settings.seed, 0)
        return
    chunks, workers = iter(range(-(-settings.roms // CHUNK))), min(8, len(os.sched_getaffinity(0)))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:

        def order() -> Any:
            return pool.map(partial(cartridges, settings.seed), islice(chunks, -(-size // CHUNK)))

        coming = order()
        while batch := [cart for chunk in coming for cart in chunk]:
            coming = order()
            yield batch


def main(settings: Settings) -> dict[str, Any]:
    """Run, print and write; exits with an error on any fault."""
    device, _ = resolve(settings.device)
    cpu, console, started = wp.get_device("cpu"), Console(stderr=True), time.perf_counter()
    size = settings.batch or (16_384 if device.is_cuda else 4096)
    report: dict[str, Any] = {
        "machine": describe_machine(device),
        "device": device.alias,
        "settings": {**asdict(settings), "out": str(settings.out)},
    }
    kinds, faults, slowest, same, instructions, cut, ran = Counter[str](), list[str](), 0.0, 0, 0, 0, 0
    with Progress(console=console) as progress:
        bar = progress.add_task("ROMs", total=-(-settings.roms // CHUNK) * CHUNK)
        for number, batch in enumerate(batches(settings, size)):
            generator = np.random.default_rng((settings.seed, number, 1))
            rom_bank, pressed = (
                pack_roms([entry(cart, generator) for cart in batch]),
                held(len(batch), settings.frames, generator),
            )
            began, logs = time.perf_counter(), (LOG, SHORT_LOG)[:: 1 if number % 2 == 0 else -1]
            ending = play(rom_bank, pressed, settings.frames, device, logs[0])
            slowest = max(slowest, time.perf_counter() - began)
            if number < 2 and settings.compared:
                other = play(rom_bank, pressed[:, : settings.compared], settings.frames, cpu, logs[1])
                ending.faults += [*differences(ending, other), *other.faults]
                same += min(settings.compared, len(batch))
            faults += [f"batch {number}, {fault}" for fault in ending.faults]
            kinds.update(cart.kind.label for cart in batch)
            instructions, cut, ran = instructions + ending.instructions, cut + ending.cut, ran + len(batch)
            progress.advance(bar, len(batch))
    report |= {
        "roms": ran,
        "frames": ran * settings.frames,
        "compared": same,
        "kinds": dict(kinds),
        "slowest_batch_s": slowest,
    }
    launches = ran * -(-settings.frames // STEP)
    report |= {
        "instructions_per_frame": instructions / launches,
        "cut_off": cut / launches,
        "seconds": time.perf_counter() - started,
        "faults": faults,
    }
    if settings.out is None:
        print(json.dumps(report))
    else:
        settings.out.write_text(json.dumps(report, indent=1) + "\n")
    console.print(
        f"{ran:,} ROMs, {ran * settings.frames:,} frames on {device.alias} in {report['seconds']:.0f} s: "
        f"{len(faults)} faults; {same:,} ROMs run again; "
        f"{report['instructions_per_frame']:,.0f} instructions per frame, "
        f"{report['cut_off']:.0%} of the frames cut off by the instruction limit"
    )
    return report


if __name__ == "__main__":
    found = main(tyro.cli(Settings))
    if found["faults"]:
        raise SystemExit("\n".join(found["faults"][:40]))
