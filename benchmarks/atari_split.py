"""Frames per second of Atari by part, as in the CuLE paper: emulation, inference with the Nature CNN, training.

python benchmarks/atari_split.py --device cuda:0 --out atari_split.json
python benchmarks/atari_split.py --device cuda:0 --games Pong-v5 --parts emulation --emulated 65536
python benchmarks/atari_split.py --device cpu --emulated 8 --inferred 8 --trained 8 --seconds 2 --iterations 1 \
    --rounds 1 --apart 10

Frames are those of the console, four per step; every step writes the whole observation, 84 x 84 x 4. Random steps first
decorrelate the games: consoles in the same state run in lockstep and are faster. Emulation is timed three times in one
run, on the same consoles: as a graph that draws the actions and steps, the engine's own launch; through
``Simulation.step`` after one launch that draws the actions; and through ``step`` of
``wl.make(..., env_type="torch")`` with tensors of actions, whose observations are copies.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from random_player import RandomPlayer, step_seconds
from rich.console import Console
from run import describe_machine, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.simulation import Simulation
from worldloom.learn import A2C, Callback
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

Part = Literal["emulation", "inference", "ppo", "a2c", "vtrace"]
FRAMES = 4
"""Frames per step."""
ALGORITHMS: dict[str, dict[str, Any]] = {
    "inference": {"num_steps": 5},
    "ppo": {"num_steps": 16, "minibatches": 16, "epochs": 3},
    "a2c": {"num_steps": 5},
    "vtrace": {"num_steps": 20, "batches": 16, "steps_per_update": 1},
}
"""Overrides of the game's defaults by algorithm: A2C as in the paper, V-trace with its batches."""


@dataclass
class Settings:
    """Measure emulation, inference and training of Atari games."""

    device: str = "auto"
    """Device: cpu, cuda:0, or auto."""
    games: list[str] = field(default_factory=lambda: ["Pong-v5", "Breakout-v5", "SpaceInvaders-v5", "MsPacman-v5"])
    """The worlds."""
    parts: list[Part] = field(default_factory=lambda: ["emulation", "inference", "a2c", "ppo", "vtrace"])
    """What to measure."""
    emulated: list[int] = field(default_factory=lambda: [1024, 4096, 16384, 65536])
    """Consoles without a network."""
    inferred: list[int] = field(default_factory=lambda: [1024, 4096, 16384, 65536])
    """Consoles of inference."""
    trained: list[int] = field(default_factory=lambda: [1024, 4096, 16384])
    """Consoles of training."""
    trained_game: str = "Pong-v5"
    """World of inference and training; the cost of the network is the same in all."""
    precision: Literal["fp32", "bf16"] = "bf16"
    """Precision of the network."""
    seconds: float = 4.0
    """Approximate seconds per measurement of emulation."""
    iterations: int = 5
    """Iterations per round of inference and training; more for V-trace, whose iterations are shorter."""
    rounds: int = 3
    """Rounds; the median is reported."""
    apart: int = 100
    """Random steps before the measurement."""
    out: Path = Path("atari_split.json")
    """Output file (JSON)."""


@dataclass
class Rate:
    """One row of the table.

    Attributes:
        frames_per_second: Of the console; of emulation, in a graph.
        public_frames_per_second: Of emulation, through ``Simulation.step``.
        env_frames_per_second: Of emulation, through ``env.step`` of ``wl.make``.
        rollout, update: Shares of the device's time, where something is learned or would be.
        first_s: Seconds until the first measurement: making, compiling, recording, steps before.
        gigabytes: Memory of the device in use afterwards, of whomever.
    """

    part: str
    game: str
    consoles: int
    frames_per_second: float
    milliseconds_per_step: float
    rollout: float
    update: float
    first_s: float
    gigabytes: float
    public_frames_per_second: float | None = None
    env_frames_per_second: float | None = None


class Inference(A2C):
    """Acts without learning."""

    def _update(self) -> None:
        for learner in self.learners.values():
            learner.summarize()


class Shares(Callback):
    """Records the time shares of the last iteration."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.last = progress.shares


def wait(device: torch.device) -> float:
    """The time after a synchronization of the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def gigabytes(device: Any) -> float:
    if not device.is_cuda:
        return 0.0
    free, total = torch.cuda.mem_get_info(device.ordinal)
    return (total - free) / 1e9


def bring_apart(worlds: Simulation, steps: int) -> RandomPlayer:
    """Take random steps to decorrelate the consoles."""
    player = RandomPlayer(worlds, 1)
    player.run(max(1, steps))
    return player


def emulation(game: str, consoles: int, settings: Settings, device: Any) -> Rate:
    start = time.perf_counter()
    with wl.make(game, consoles, device=device.alias, env_type="torch", seed=0) as env:
        env.reset()
        player = bring_apart(env.simulation, settings.apart)
        first = time.perf_counter() - start
        timed = step_seconds(player, settings.seconds, env)
        frames, each = consoles * FRAMES, timed.graph
        public = frames / timed.public, frames / timed.env if timed.env is not None else None
        kept = 1.0, 0.0, first, gigabytes(device)
        return Rate("emulation", game, consoles, frames / each, each * 1e3, *kept, *public)


def learning(part: Part, consoles: int, settings: Settings, device: Any) -> Rate:
    start, game, shares = time.perf_counter(), settings.trained_game, Shares()
    name = "a2c" if part == "inference" else part
    kind, config = algorithm(name)
    made = replace(
        tuned_config(game, name, config, device.alias),
        num_envs=consoles,
        device=device.alias,
        precision=settings.precision,
        **ALGORITHMS[part],
    )
    with Simulation(game, consoles, device.alias, seed=0) as worlds:
        bring_apart(worlds, settings.apart)
        trainer: Any = (Inference if part == "inference" else kind)(worlds, made)
        each = trainer.new_steps
        iterations = settings.iterations * max(1, 5 // each)

        def learn(count: int) -> float:
            began, before = wait(trainer.device), trainer.steps
            trainer.learn(before + count * each * consoles, shares)
            return (trainer.steps - before) / (wait(trainer.device) - began)

        learn(3)
        first = time.perf_counter() - start
        rate = statistics.median(learn(iterations) for _ in range(settings.rounds))
        phases = shares.last.get("roll-out", 0.0), shares.last.get("update", 0.0)
        return Rate(part, game, consoles, rate * FRAMES, consoles / rate * 1e3, *phases, first, gigabytes(device))


def public_rates(row: Rate) -> str:
    """What the public interfaces reach, for emulation."""
    if row.public_frames_per_second is None or row.env_frames_per_second is None:
        return ""
    return (
        f"; Simulation.step {row.public_frames_per_second:.4g}, "
        f"wl.make(...).step {row.env_frames_per_second:.4g} frames/s"
    )


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = Console(width=140, highlight=False)
    results: dict[str, Any] = {
        "machine": describe_machine(device) | {"torch": torch.__version__},
        "device": device.alias,
        "rates": [],
        "failed": [],
    }
    results["settings"] = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(settings).items()}
    console.print(results["machine"])
    jobs: list[tuple[Part, str, int]] = []
    for part in settings.parts:
        sizes = {"emulation": settings.emulated, "inference": settings.inferred}.get(part, settings.trained)
        jobs += [
            (part, game, size)
            for game in (settings.games if part == "emulation" else [settings.trained_game])
            for size in sizes
        ]
    for part, game, size in jobs:
        try:
            row = (
                emulation(game, size, settings, device)
                if part == "emulation"
                else learning(part, size, settings, device)
            )
        except (
            RuntimeError,
            MemoryError,
        ) as problem:  # too little memory for this case; the others are still reported
            results["failed"].append({"part": part, "game": game, "consoles": size, "problem": str(problem)[:300]})
            console.print(f"{part} of {size:,} x {game} failed: {str(problem)[:300]}", markup=False)
        else:
            results["rates"].append(asdict(row))
            console.print(
                f"{part}, {size:,} x {game}: {row.frames_per_second:.4g} frames/s, "
                f"{row.milliseconds_per_step:.3f} ms per step, {row.gigabytes:.1f} GB{public_rates(row)}"
            )
        settings.out.write_text(json.dumps(results, indent=1))  # what is known so far, should time run out
        gc.collect()
        if device.is_cuda:
            torch.cuda.empty_cache()
    if results["rates"]:
        show(console, "Frames per second", results["rates"])


if __name__ == "__main__":
    main(tyro.cli(Settings))
