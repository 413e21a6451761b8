r"""The COVID-19 economy: steps and training on the device against the same rules in NumPy on the same machine.

python benchmarks/economy.py --device cuda:0 --out economy.json --plots docs/images
python benchmarks/economy.py --device cuda:0 --parts training --precision bf16
python benchmarks/economy.py --device cpu --worlds 4 16 --training-worlds 4 --processes 2 --num-steps 8 --hidden 16 16 \
    --iterations 1 --seconds 0.2

Steps: random actions among those that the masks allow, drawn on the device at every step, and resets. The first figure
is of a graph of ten steps, the engine's own launches; the second, of the same run, is of one ``Simulation.step`` per
step after one launch that draws the actions, and is compared with NumPy too. Training: the
planner and the governors as two policies with masks, roll-outs of 90 days, networks of 256 and 256 units; A2C makes one
step of the optimiser per roll-out, PPO 4 epochs of 4 minibatches. What they are held against, with a process per core:
tests/parity/references/covid.py, which sums unemployment over the last 600 days every day, as the published system
does, where the world has a recursive form; benchmarks/economy_reference.py says how it is trained.
A world step is one day of one country with all its agents.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
import warp as wp
from economy_reference import Training, reference_rate, reference_training
from plots import Labels, log_log
from random_player import RandomPlayer, step_seconds
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.timing import copy_bandwidth
from worldloom.envs.covid.data import Parameters, load_real, load_synthetic
from worldloom.learn import A2C, PPO, A2CConfig, PolicyConfig, PolicyGroup, PPOConfig

IDS = {"real": "CovidEconomy-v0", "synthetic": "CovidEconomySynthetic-v0"}
PAPER_TIMES = 24.0
"""How many times faster the paper's GPU was than 16 CPUs, with 60 worlds."""


@dataclass
class Settings:
    """Measure the COVID-19 economy."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    data: Literal["real", "synthetic"] = "synthetic"
    """The fetched data, or the made-up country, which is equally large."""
    parts: tuple[Literal["steps", "training"], ...] = ("steps", "training")
    """What to measure."""
    worlds: tuple[int, ...] = (1, 4, 16, 60, 256, 1000, 4096, 16384)
    """Numbers of worlds of the steps."""
    training_worlds: tuple[int, ...] = (60, 1000)
    """Numbers of worlds of the training."""
    algorithms: tuple[Literal["a2c", "ppo"], ...] = ("a2c", "ppo")
    """How to train."""
    num_steps: int = 90
    """Days of a roll-out."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each layer."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Numbers in the networks' products, on the device."""
    iterations: int = 10
    """Iterations of each of three rounds on the device; of the reference one in all for every five of them."""
    processes: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Processes of the reference."""
    seconds: float = 1.0
    """How long each measurement of steps runs."""
    plots: Path | None = None
    """A folder for economy_worlds, as PNG and SVG."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class EconomyRate:
    """Steps of one number of worlds.

    Attributes:
        microseconds: One step of all worlds, in a graph of several steps.
        public_microseconds: One step of all worlds through ``Simulation.step``.
        times: World steps per second over those of the reference; None where it was not measured with so many worlds.
        public_times: The same through ``Simulation.step``.
    """

    worlds: int
    microseconds: float
    world_steps_per_second: float
    public_microseconds: float
    public_steps_per_second: float
    kernels: int
    bytes_per_step: int
    share_of_copy: float
    reference: float | None
    times: float | None
    public_times: float | None


@dataclass
class TrainingRate:
    """Training with one number of worlds, on the device and with the reference."""

    algorithm: str
    worlds: int
    world_steps_per_second: float
    rollout: float
    update: float
    reference: float
    reference_rollout: float
    update_threads: int
    times: float


STEPS_SHOWN = {
    "worlds": "worlds",
    "microseconds": "us",
    "world_steps_per_second": "steps/s",
    "public_microseconds": "step(), us",
    "public_steps_per_second": "step(), steps/s",
    "kernels": "kernels",
    "share_of_copy": "copy",
    "reference": "NumPy, steps/s",
    "times": "times",
    "public_times": "times, step()",
}
TRAINING_SHOWN = {
    "algorithm": "by",
    "worlds": "worlds",
    "world_steps_per_second": "steps/s",
    "rollout": "roll-out",
    "reference": "NumPy, steps/s",
    "reference_rollout": "roll-out",
    "times": "times",
}
"""What is printed of a row, and above it; the file has all of it."""


def step_rate(
    settings: Settings, device: wp.Device, worlds: int, bandwidth: float, reference: float | None
) -> EconomyRate:
    with wl.Simulation(IDS[settings.data], worlds, device.alias, seed=0) as sim:
        timed = step_seconds(RandomPlayer(sim), settings.seconds)
        kernels = [k for k in sim.executor.program.step if isinstance(k, KernelSpec)]
        faults = sim.errors()
    assert not faults, faults[0]
    moved = sum(k.bytes_read + k.bytes_written for k in kernels) * worlds
    rate, public = worlds / timed.graph, worlds / timed.public
    return EconomyRate(
        worlds,
        timed.graph * 1e6,
        rate,
        timed.public * 1e6,
        public,
        len(kernels) + 2,
        moved,
        moved / timed.graph / bandwidth,
        reference,
        None if reference is None else rate / reference,
        None if reference is None else public / reference,
    )


def make_trainer(settings: Settings, device: str, algorithm: str, worlds: int) -> A2C | PPO:
    common: dict[str, Any] = {
        "num_envs": worlds,
        "num_steps": settings.num_steps,
        "device": device,
        "gamma": 0.98,
        "learning_rate": 1e-4,
        "value_weight": 1.0,
        "entropy_weight": 0.05,
        "precision": settings.precision,
        "policy": PolicyConfig(hidden=settings.hidden),
    }
    policy_groups = {"governors": PolicyGroup("Governor"), "planner": PolicyGroup("Planner")}
    if algorithm == "a2c":
        return A2C(IDS[settings.data], A2CConfig(**common), policy_groups=policy_groups)
    return PPO(IDS[settings.data], PPOConfig(**common, epochs=4, minibatches=4), policy_groups=policy_groups)


def training_rate(
    settings: Settings, device: wp.Device, parameters: Parameters, algorithm: str, worlds: int
) -> TrainingRate:
    """Whole iterations of both sides, the device's first."""
    from tag_training import Shares, learn

    shares = Shares()
    trainer = make_trainer(settings, device.alias, algorithm, worlds)
    learn(trainer, 3, shares)
    rate = statistics.median(learn(trainer, settings.iterations, shares) for _ in range(3))
    trainer.simulation.close()
    passes = (1, 1) if algorithm == "a2c" else (4, 4)
    training = Training(worlds, settings.num_steps, *passes, settings.hidden)
    other = reference_training(parameters, training, settings.processes, max(1, settings.iterations // 5))
    theirs = other["world_steps_per_second"]
    held = theirs, other["rollout"], int(other["update_threads"]), rate / theirs
    return TrainingRate(
        algorithm, worlds, rate, shares.last.get("roll-out", 0.0), shares.last.get("update", 0.0), *held
    )


def draw(rows: list[dict[str, Any]], folder: Path, hardware: str, processes: int) -> None:
    """The steps of both sides as a picture."""
    lines = {
        f"worldloom, {hardware}": [(row["worlds"], row["world_steps_per_second"]) for row in rows],
        "worldloom, Simulation.step": [(row["worlds"], row["public_steps_per_second"]) for row in rows],
    }
    held = [(row["worlds"], row["reference"]) for row in rows if row["reference"] is not None]
    if held:
        lines[f"NumPy in {processes} processes"] = held
    log_log(
        folder / "economy_worlds",
        Labels("The COVID-19 economy, random actions", "worlds", "world steps per second"),
        lines,
    )


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = make_console()
    parameters = load_real() if settings.data == "real" else load_synthetic()
    results: dict[str, Any] = {
        "machine": describe_machine(device),
        "device": device.alias,
        "torch": torch.__version__,
        "paper_times_at_60_worlds": PAPER_TIMES,
    }
    results["settings"] = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(settings).items()}
    console.print(results["machine"])
    if "steps" in settings.parts:
        bandwidth = results["copy_bytes_per_second"] = copy_bandwidth(device)
        results["steps"] = []
        for worlds in settings.worlds:
            held = (
                reference_rate(parameters, worlds, settings.processes, settings.seconds)
                if worlds in settings.training_worlds
                else None
            )
            results["steps"].append(asdict(step_rate(settings, device, worlds, bandwidth, held)))
            _keep(settings, results)
        show(console, f"Steps, against NumPy in {settings.processes} processes", results["steps"], STEPS_SHOWN)
        if settings.plots is not None:
            draw(results["steps"], settings.plots, results["machine"]["hardware"], settings.processes)
    if "training" in settings.parts:
        results["training"] = []
        for algorithm in settings.algorithms:
            for worlds in settings.training_worlds:
                start = time.perf_counter()
                results["training"].append(asdict(training_rate(settings, device, parameters, algorithm, worlds)))
                console.print(f"{algorithm}, {worlds:,} worlds: measured in {time.perf_counter() - start:.0f} s")
                _keep(settings, results)
        show(
            console,
            f"Training, against NumPy and PyTorch in {settings.processes} processes",
            results["training"],
            TRAINING_SHOWN,
        )


def _keep(settings: Settings, results: dict[str, Any]) -> None:
    """Write what is known so far, should time run out."""
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
