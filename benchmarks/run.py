"""The benchmarks behind docs/benchmarks.md: one command on the CPU, one on a GPU.

python benchmarks/run.py                      # everything this machine can do
python benchmarks/run.py --device cuda:0 --out results.json
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import tyro
import warp as wp
from many_systems import bench_many_systems
from rich.console import Console
from rich.table import Table
from step_rate import bench_checks, bench_sweep

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import copy_bandwidth


@dataclass
class Settings:
    """Run the benchmarks of docs/benchmarks.md."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    out: Path | None = None
    """A file for the figures as JSON."""
    seconds: float = 1.0
    """How long each measurement runs."""
    worlds: list[int] = field(default_factory=list)
    """Batch sizes of the sweep; by default 1,024 up to what the device is for."""


def describe_machine(device: wp.Device) -> dict[str, Any]:
    """What the figures were measured on."""
    revision = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent, check=False
    )
    commit = os.environ.get("WORLDLOOM_COMMIT") or revision.stdout.strip()
    hardware = device.name if device.is_cuda else f"{platform.processor() or platform.machine()}, {len(_cores())} cores"
    return {
        "date": date.today().isoformat(),
        "commit": commit,
        "hardware": hardware,
        "warp": wp.config.version,
        "worldloom": wl.__version__,
    }


def make_console() -> Console:
    """A console whose tables are not cut off where the output is a file or a pipe."""
    console = Console()
    return console if console.is_terminal else Console(width=200)


def _cores() -> set[int]:
    return os.sched_getaffinity(0)


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = make_console()
    results: dict[str, Any] = {"machine": describe_machine(device), "device": device.alias}
    console.print(results["machine"])
    bandwidth = copy_bandwidth(device)
    results["copy_bytes_per_second"] = bandwidth
    console.print(f"copy bandwidth {bandwidth / 1e12:.2f} TB/s")
    worlds = settings.worlds or ([2**k for k in range(10, 23, 2)] if device.is_cuda else [1024, 8192, 65536])
    sweep = bench_sweep(device.alias, worlds, settings.seconds, bandwidth)
    results["sweep"] = [asdict(row) for row in sweep]
    show(console, "CartPole-v1", results["sweep"])
    results["checks"] = asdict(
        bench_checks(device.alias, worlds[-2] if len(worlds) > 1 else worlds[-1], settings.seconds)
    )
    show(console, "cost of the checks", [results["checks"]])
    results["many_systems"] = [asdict(row) for row in bench_many_systems(device.alias, settings.seconds)]
    show(console, "200 dependent systems, 16,384 worlds", results["many_systems"])
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


def show(console: Console, title: str, rows: list[dict[str, Any]], heads: Mapping[str, str] | None = None) -> None:
    """Print the rows of one table: all of their columns, or those of ``heads``, which says what stands above them."""
    table = Table(title=title)
    heads = heads or {name: name.replace("_", " ") for name in rows[0]}
    for head in heads.values():
        table.add_column(head, justify="right")
    for row in rows:
        values = [row[name] for name in heads]
        table.add_row(
            *[
                f"{v:,.4g}"
                if isinstance(v, float)
                else f"{v:,}"
                if isinstance(v, int) and not isinstance(v, bool)
                else str(v)
                for v in values
            ]
        )
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Settings))
