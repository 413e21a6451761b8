"""WarpDrive's Figures 12 and 14, left: A2C end to end in Tag over the number of worlds, with repetitions.

python benchmarks/papers/warpdrive_rates.py --device cuda:0 --out warpdrive_rates.json --plot figures
python benchmarks/papers/warpdrive_rates.py --device cuda:0 --cases grid-5 --worlds 2000 --repetitions 5
python benchmarks/papers/warpdrive_rates.py --device cpu --cases grid-5 --worlds 4 8 --num-steps 4 --iterations 1

A case is a variant of Tag with its number of agents; settings are those of benchmarks/tag_training.py, actor and critic
share their layers as WarpDrive's do, and rollouts have 100 steps. A repetition times some iterations, rollouts and
updates, after two that are not counted. The spread is the difference of the fastest and the slowest over the median.
Rates of steps alone over the number of worlds: benchmarks/tag.py --parts sweep-worlds. A row that --out has is not
measured again.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import benchmarks_path  # noqa: F401
import tag_training
import torch
from figures import Band, Points, draw_bands, repeated_band
from published import published
from results import Results, open_results, run_command, show_table
from run import make_console

from worldloom.core.base.device import resolve
from worldloom.learn import Callback

RATES = published("warpdrive")["rates"]


@dataclass
class Settings:
    """Measure A2C in Tag over the number of worlds."""

    device: str = "auto"
    """Where to train: cpu, cuda:0, or auto."""
    cases: tuple[Literal["grid-5", "grid-1000", "continuous-5", "continuous-45"], ...] = ("grid-5", "continuous-5")
    """Variants of Tag with their numbers of agents."""
    worlds: tuple[int, ...] = (10, 50, 100, 500, 1000, 2000)
    """Numbers of worlds."""
    num_steps: int = 100
    """Steps of a rollout."""
    iterations: int = 5
    """Iterations of a repetition."""
    repetitions: int = RATES["repetitions"]
    """Repetitions, of which the median counts."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Precision of the networks."""
    plot: Path | None = None
    """A folder for a figure of all cases."""
    out: Path | None = None
    """A file for the results as JSON; a row that it has is not measured again."""


def measure(case: str, worlds: int, settings: Settings, device: str) -> list[float]:
    """World steps per second of each repetition."""
    of_training = tag_training.Settings(
        worlds=worlds, num_steps=settings.num_steps, shared=True, precision=settings.precision
    )
    trainer = tag_training.make_trainer(tag_training.CASES[case], of_training, device)
    tag_training.learn(trainer, 2, Callback())
    rates = [tag_training.learn(trainer, settings.iterations, Callback()) for _ in range(settings.repetitions)]
    trainer.simulation.close()
    return rates


def table_rows(settings: Settings, results: Results) -> Iterator[tuple[Any, ...]]:
    """One row per case and number of worlds, beside the published rate of 2,000 worlds."""
    for case in settings.cases:
        for worlds in settings.worlds:
            row = results.rows.get(f"{case}/{worlds}")
            if row is None:
                continue
            rates = row["rates"]
            median = statistics.median(rates)
            theirs = RATES["training"].get(case) if worlds == RATES["worlds"] else None
            times = median / theirs if theirs else None
            yield (
                case,
                worlds,
                len(rates),
                median,
                (max(rates) - min(rates)) / median,
                theirs and float(theirs),
                times,
            )


def draw(settings: Settings, results: Results) -> list[Path]:
    """Rates over the number of worlds, with the published ones as points."""
    assert settings.plot is not None
    bands: dict[str, Band] = {}
    marks: dict[str, Points] = {}
    for case in settings.cases:
        found = {n: results.rows[key]["rates"] for n in settings.worlds if (key := f"{case}/{n}") in results.rows}
        if found:
            bands[case] = repeated_band(found)
        if case in RATES["training"]:
            marks[f"{case}, published, A100"] = [(RATES["worlds"], RATES["training"][case])]
    file = settings.plot / "warpdrive_rates"
    return draw_bands(file, "A2C in Tag", "worlds", "world steps per second", bands, marks=marks, log=True)


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = make_console()
    shared = {name: getattr(settings, name) for name in ("num_steps", "iterations", "repetitions", "precision")}
    results = open_results(settings.out, "warpdrive_rates", {**shared, "device": device.alias})
    for case in settings.cases:
        for worlds in settings.worlds:
            if (key := f"{case}/{worlds}") in results.rows:
                continue
            rates = measure(case, worlds, settings, device.alias)
            results.put(key, {"case": case, "worlds": worlds, "rates": rates}, device)
            console.print(f"{case}, {worlds:,} worlds: {statistics.median(rates):.3g} world steps/s")
            gc.collect()  # the trainer, so that the next has its memory
            if device.is_cuda:
                torch.cuda.empty_cache()
    heads = ("case", "worlds", "repetitions", "steps/s", "spread", "published", "times")
    title = f"WarpDrive, Figures 12 and 14: A2C in Tag on {device.name}, published on an A100"
    show_table(console, title, heads, list(table_rows(settings, results)))
    for file in draw(settings, results) if settings.plot is not None else ():
        console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
