"""Madrona's Figure 3: world steps per second over the number of worlds, on a GPU and on a CPU of one machine.

python benchmarks/papers/madrona_figure3.py --devices cpu cuda:0 --out madrona_figure3.json --plot figures
python benchmarks/papers/madrona_figure3.py --devices cpu --worlds CartPole-v1 --sizes 1 16 --seconds 0.05 --warm-up 5

Shows from which number of worlds on the GPU is faster, interpolated between the sizes on logarithmic axes, and the
share of its peak at the sizes for which the paper states one. Sizes that exceed --slowest seconds per step are left
out. A row that --out has is not measured again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import benchmarks_path  # noqa: F401
from figures import draw_bands, repeated_band
from madrona_worlds import WORLDS, WorldId, measure
from published import published
from results import Results, open_results, run_command, show_table
from run import make_console

from worldloom.core.base.device import resolve

FIGURE, TABLE = published("madrona")["figure3"], published("madrona")["table1"]


@dataclass
class Settings:
    """Measure Madrona's worlds over the size of the batch."""

    devices: tuple[str, ...] = ("cpu",)
    """Devices: cpu, cuda:0 or both."""
    worlds: tuple[WorldId, ...] = WORLDS
    """The worlds."""
    sizes: tuple[int, ...] = (1, 8, 64, 256, 1024, 8192, 16384, 65536)
    """Numbers of worlds."""
    seconds: float = 0.5
    """Approximate time of each measurement."""
    warm_up: int = 50
    """Steps before a measurement, as far as --seconds suffices."""
    slowest: float = 0.2
    """Seconds of a step, by the rate of the size before, above which larger sizes are left out."""
    plot: Path | None = None
    """A folder for a figure of each world."""
    out: Path | None = None
    """A file for the results as JSON; a row that it has is not measured again."""


def crossover(one: Mapping[int, float], two: Mapping[int, float]) -> float | None:
    """The number of worlds from which on ``two`` is faster than ``one``, rates by number of worlds.

    Interpolated on logarithmic axes between the last size at which it is slower and the next. None where ``two`` is
    slower at the largest common size; the smallest size where it is never slower.
    """
    sizes = sorted(set(one) & set(two))
    ahead = [math.log(two[size] / one[size]) for size in sizes]
    if not sizes or ahead[-1] < 0.0:
        return None
    last = max((k for k, value in enumerate(ahead) if value < 0.0), default=-1)
    if last < 0:
        return float(sizes[0])
    share = -ahead[last] / (ahead[last + 1] - ahead[last])
    return math.exp((1.0 - share) * math.log(sizes[last]) + share * math.log(sizes[last + 1]))


def rates(results: Results, id: str, device: str) -> dict[int, float]:
    """World steps per second by number of worlds."""
    found = [row for row in results.rows.values() if row["world"] == id and row["device"] == device]
    return {row["worlds"]: row["rate"] for row in sorted(found, key=lambda row: row["worlds"])}


def sweep(settings: Settings, results: Results, id: str, device: str, console: Any) -> None:
    """Measure one world on one device, from few worlds to many."""
    for worlds in sorted(settings.sizes):
        smaller = {k: v for k, v in rates(results, id, device).items() if k <= worlds}
        if smaller and worlds / max(smaller.values()) > settings.slowest:
            console.print(
                f"{id} on {device}: {worlds:,} worlds left out, a step would take more than {settings.slowest} s"
            )
            continue
        key = f"{id}/{device}/{worlds}"
        if key not in results.rows:
            timed = measure(id, worlds, device, settings.seconds, settings.warm_up)
            row = {"world": id, "device": device, "worlds": worlds, "threads": timed.threads, "rate": timed.rate}
            results.put(key, row, resolve(device)[0])
            console.print(f"{id} on {device}, worlds {worlds:,}: {timed.rate:.3g} world steps/s")


def summary(id: str, cpu: Mapping[int, float], gpu: Mapping[int, float]) -> tuple[Any, ...]:
    """One row: the crossover and the share of the GPU's peak, beside the published ones."""
    stated = FIGURE["share_of_peak"].get(id)
    share = gpu[stated["worlds"]] / max(gpu.values()) if stated and stated["worlds"] in gpu else None
    ours = crossover(cpu, gpu) if cpu and gpu else None
    size = stated["worlds"] if stated else None
    peaks = (max(cpu.values(), default=None), max(gpu.values(), default=None))
    return (id, *peaks, ours, FIGURE["crossover"].get(id), size, share, stated["share"] if stated else None)


def draw(settings: Settings, results: Results, id: str) -> list[Path]:
    """Both devices in one figure, with the published peaks as points."""
    assert settings.plot is not None
    bands = {}
    for device in settings.devices:
        found = rates(results, id, device)
        if found:
            bands[f"worldloom, {resolve(device)[0].name}"] = repeated_band({k: [v] for k, v in found.items()})
    marks = {}
    if id in TABLE["worlds"]:
        marks = {"published peak, BATCH-ECS-GPU": [(TABLE["worlds"][id], TABLE["rates"]["BATCH-ECS-GPU"][id])]}
    file = settings.plot / f"madrona_figure3_{id.partition('-')[0].lower()}"
    return draw_bands(file, id, "worlds", "world steps per second", bands, marks=marks, log=True)


def main(settings: Settings) -> None:
    console = make_console()
    shared = {"seconds": settings.seconds, "warm_up": settings.warm_up}
    results = open_results(settings.out, "madrona_figure3", shared)
    for id in settings.worlds:
        for device in settings.devices:
            sweep(settings, results, id, device, console)
    for device in settings.devices:
        by_world = {id: rates(results, id, device) for id in settings.worlds}
        sizes = sorted({size for found in by_world.values() for size in found})
        rows = [(id, *(found.get(size) for size in sizes)) for id, found in by_world.items()]
        show_table(console, f"world steps/s on {resolve(device)[0].name}", ("world", *map(str, sizes)), rows)
    cpus = [d for d in settings.devices if not resolve(d)[0].is_cuda]
    gpus = [d for d in settings.devices if resolve(d)[0].is_cuda]
    heads = ("world", "CPU peak", "GPU peak", "crossover", "published", "at worlds", "share of peak", "published")
    rows = [
        summary(id, *(rates(results, id, found[0]) if found else {} for found in (cpus, gpus)))
        for id in settings.worlds
    ]
    show_table(console, "Madrona, Figure 3: where the GPU is faster than the CPU", heads, rows)
    if settings.plot is not None:
        for id in settings.worlds:
            for file in draw(settings, results, id):
                console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
