"""Locomotion learned on one GPU: seconds to reach returns, and learning curves.

python benchmarks/robot_training.py --world LocomotionHumanoid-v0 --stop-at 5000 --plot humanoid.svg

Trains with ``worldloom train`` and its default settings, once per seed, or once per number of worlds with the same
samples per iteration. Seconds are those of the metrics: from the first iteration on, without the start of the program.
A return is reached in the first iteration whose finished episodes have that mean return, with sampled actions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table


@dataclass
class Settings:
    """Train in a world with robots, and report when it reached returns."""

    world: str = "LocomotionAnt-v0"
    """Which world."""
    stop_at: float = 7000.0
    """The return at which a training stops."""
    thresholds: tuple[float, ...] = (3000.0, 5000.0, 7000.0)
    """The returns to report."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds, one training each."""
    num_envs: tuple[int, ...] = ()
    """Numbers of worlds, instead of the default, with rollouts of as many samples."""
    samples: int = 131_072
    """Samples of an iteration, with num_envs."""
    options: tuple[str, ...] = ()
    """Further options of worldloom train."""
    folder: Path = Path("runs/robots")
    """Where the runs are kept; a run that is there is not repeated."""
    device: str = "cuda:0"
    """The device."""
    plot: Path | None = None
    """A picture of the learning curves."""


def train(settings: Settings, run: Path, options: tuple[str, ...]) -> list[dict[str, Any]]:
    """The metrics of a training, by iteration."""
    metrics = run / "metrics.jsonl"
    if not metrics.exists():
        command = [sys.executable, "-m", "worldloom", "train", settings.world, "--run-dir", str(run)]
        command += ["--device", settings.device, "--stop-at", str(settings.stop_at), "--no-video", "--quiet"]
        subprocess.run([*command, *settings.options, *options], check=True)
    return [json.loads(line) for line in metrics.read_text().splitlines()]


def seconds_to(rows: list[dict[str, Any]], threshold: float) -> float | None:
    """Seconds until the mean return of an iteration's episodes reached ``threshold``."""
    return next((row["seconds"] for row in rows if (row["episode/return"] or -1e30) >= threshold), None)


def draw(file: Path, title: str, curves: dict[str, list[dict[str, Any]]]) -> None:
    """The mean return over seconds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, rows in curves.items():
        points = [(row["seconds"], row["episode/return"]) for row in rows if row["episode/return"] is not None]
        axes.plot(*zip(*points, strict=True), label=name)
    axes.set(xlabel="seconds", ylabel="mean return", title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(file)


def main(settings: Settings) -> None:
    variants = {f"seed {seed}": ("--seed", str(seed)) for seed in settings.seeds}
    if settings.num_envs:
        variants = {
            f"{count} worlds": ("--num-envs", str(count), "--num-steps", str(settings.samples // count))
            for count in settings.num_envs
        }
    heads = [f"s to {threshold:g}" for threshold in settings.thresholds]
    table = Table("training", *heads, "steps", "seconds", "steps/s", "faults")
    curves = {}
    for name, options in variants.items():
        rows = curves[name] = train(settings, settings.folder / name.replace(" ", "_"), options)
        times = [seconds_to(rows, threshold) for threshold in settings.thresholds]
        last = rows[-1]
        cells = ["-" if time is None else f"{time:.1f}" for time in times]
        rates = (f"{last['steps']:,}", f"{last['seconds']:.1f}", f"{last['steps'] / last['seconds']:.3g}")
        table.add_row(name, *cells, *rates, f"{last['episode/faults']:g}")
    Console().print(table)
    if settings.plot is not None:
        draw(settings.plot, settings.world, curves)


if __name__ == "__main__":
    main(tyro.cli(Settings))
