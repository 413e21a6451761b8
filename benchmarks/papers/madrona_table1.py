"""Madrona's Table 1: world steps per second of the same worlds on a GPU and on a CPU of one machine.

python benchmarks/papers/madrona_table1.py --devices cpu cuda:0 --out madrona_table1.json
python benchmarks/papers/madrona_table1.py --devices cpu --worlds CartPole-v1 --sizes 64 --seconds 0.1 --warm-up 10

Configurations: worldloom on a GPU with the paper's numbers of worlds (EscapeRoom-v0, which is not in the table, has
HideSeek's); worldloom on all cores of the CPU; the CPU with one world per thread, without batches; and the Python
original in one process, where it is installed. ECS-GPU, one world per CUDA thread, is a scheduling of Madrona that this
engine does not have. A row that --out has is not measured again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import benchmarks_path  # noqa: F401
from figures import draw_bars
from madrona_worlds import WORLDS, WorldId, measure, measure_reference
from published import published
from results import Results, open_results, run_command, show_table
from run import make_console

from worldloom.core.base.device import resolve
from worldloom.core.base.shards import num_cores

TABLE = published("madrona")["table1"]
CPU_WORLDS = {
    "HideSeek-v0": 1024,
    "Overcooked-v0": 8192,
    "Hanabi-v0": 8192,
    "CartPole-v1": 65536,
    "EscapeRoom-v0": 4096,
}
"""Worlds of the batch on the CPU, which is at its peak with fewer worlds than a GPU."""
COUNTERPART = {"gpu": "BATCH-ECS-GPU", "cpu": "ECS-CPU", "reference": "REF-CPU"}
"""The published configuration that each configuration is shown beside; one world per thread has none."""


@dataclass
class Settings:
    """Measure Madrona's worlds on the devices of this machine."""

    devices: tuple[str, ...] = ("cpu",)
    """Devices: cpu, cuda:0 or both."""
    worlds: tuple[WorldId, ...] = WORLDS
    """The worlds."""
    sizes: tuple[int, ...] = ()
    """Worlds of the batch, one number for all worlds; by default the published ones on a GPU, fewer on the CPU."""
    seconds: float = 2.0
    """Approximate time of each measurement."""
    warm_up: int = 100
    """Steps before a measurement, as far as --seconds suffices."""
    reference: bool = True
    """Whether to measure the Python originals too, with the CPU."""
    plot: Path | None = None
    """A folder for a figure of all configurations."""
    out: Path | None = None
    """A file for the results as JSON; a row that it has is not measured again."""


def cases(settings: Settings) -> Iterator[tuple[str, str, str, int]]:
    """Configuration, world, device and number of worlds of each row."""
    for id in settings.worlds:
        for device in settings.devices:
            if resolve(device)[0].is_cuda:
                default = TABLE["worlds"].get(id, TABLE["worlds"]["HideSeek-v0"])
                yield "gpu", id, device, settings.sizes[0] if settings.sizes else default
            else:
                yield "cpu", id, device, settings.sizes[0] if settings.sizes else CPU_WORLDS[id]
                yield "cpu, one world per thread", id, device, num_cores()
                if settings.reference:
                    yield "reference", id, device, 1


def measure_case(configuration: str, id: str, device: str, worlds: int, settings: Settings) -> dict[str, Any]:
    """The row of one case."""
    if configuration == "reference":
        rate, threads = measure_reference(id, settings.seconds), 1
    else:
        single = num_cores() if configuration.endswith("per thread") else None
        timed = measure(id, worlds, device, settings.seconds, settings.warm_up, single)
        rate, threads = timed.rate, timed.threads
    return {"configuration": configuration, "world": id, "worlds": worlds, "threads": threads, "rate": rate}


def show(settings: Settings, results: Results) -> list[tuple[Any, ...]]:
    """Rows of the table: ours beside the published configuration."""
    rows = []
    for configuration, id, device, worlds in cases(settings):
        row = results.rows.get(f"{configuration}/{id}/{device}/{worlds}", {})
        source = COUNTERPART.get(configuration, "none")
        theirs = TABLE["rates"].get(source, {}).get(id)
        ours = row.get("rate")
        times = ours / theirs if ours and theirs else None
        rows.append((id, configuration, worlds, row.get("threads"), ours, source, theirs, times))
    return rows


def main(settings: Settings) -> None:
    console = make_console()
    shared = {"seconds": settings.seconds, "warm_up": settings.warm_up}
    results = open_results(settings.out, "madrona_table1", shared)
    for configuration, id, device, worlds in cases(settings):
        key = f"{configuration}/{id}/{device}/{worlds}"
        if key not in results.rows:
            row = measure_case(configuration, id, device, worlds, settings)
            results.put(key, row, resolve(device)[0])
            rate = "none here" if row["rate"] is None else f"{row['rate']:.3g} world steps/s"
            console.print(f"{id}, {configuration}, worlds {worlds:,}: {rate}")
    heads = ("world", "configuration", "worlds", "threads", "steps/s", "published", "steps/s", "times")
    rows = show(settings, results)
    show_table(console, "Madrona, Table 1: published on an RTX 4090 and a Core i9-13900K, 32 threads", heads, rows)
    if settings.plot is not None:
        bars: dict[str, dict[str, float]] = {}
        for id, configuration, _, _, ours, _, _, _ in rows:
            if ours is not None:
                bars.setdefault(configuration, {})[id] = ours
        for name, rates in TABLE["rates"].items():
            bars[f"published, {name}"] = {id: rates[id] for id in settings.worlds if id in rates}
        for file in draw_bars(settings.plot / "madrona_table1", "Madrona's worlds", "world steps per second", bars):
            console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
