"""What fusing saves: bytes and time of a step with neighbouring systems in one kernel, and with a kernel for each.

python benchmarks/fusion.py                                   # on the CPU, or the first GPU
python benchmarks/fusion.py --device cuda:0 --num-worlds 1048576 --worlds CartPole-v1 my_world.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import tyro
import warp as wp
from rich.console import Console
from rich.table import Table

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.explain import step_bytes
from worldloom.core.measure.timing import make_actions, median_rates, step_runner
from worldloom.core.registry.world_files import find

MEADOW = Path(__file__).parents[1] / "examples" / "write_a_world.py"
WARM_UP = 100


@dataclass
class Settings:
    """Measure what fusing saves."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    worlds: list[str] = field(default_factory=lambda: ["CartPole-v1", str(MEADOW)])
    """Registered worlds, or files that register one."""
    num_worlds: int = 0
    """Worlds of each; by default 1,048,576 on a GPU and 65,536 on the CPU."""
    seconds: float = 4.0
    """About how long each world is measured, fused and unfused by turns."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Row:
    world: str
    num_worlds: int
    kernels_fused: int
    kernels_separate: int
    bytes_fused: int
    bytes_separate: int
    microseconds_fused: float
    microseconds_separate: float
    times_as_fast: float


def in_place(sim: wl.Simulation) -> Callable[[int], None]:
    """Steps with the actions that lie in the columns, so that the kernels alone are compared."""

    def run(steps: int) -> None:
        for _ in range(steps):
            sim.step()
        wp.synchronize_device(sim.device)

    return run


def measure(world: str, device: str, num_worlds: int, seconds: float) -> Row:
    made = find(world)
    sims = {fuse: wl.Simulation(made, num_worlds, device, seed=0, fuse=fuse) for fuse in (True, False)}
    for sim in sims.values():
        step_runner(sim, make_actions(sim))(
            WARM_UP
        )  # into the middle of the episodes, with random actions left in the columns
    rates = median_rates({str(fuse): in_place(sim) for fuse, sim in sims.items()}, seconds, rounds=9)
    kernels = [sum(isinstance(k, KernelSpec) for k in sims[fuse].program.step) for fuse in (True, False)]
    moved = [step_bytes(sims[fuse].program) for fuse in (True, False)]
    times = [1e6 / rates[str(fuse)] for fuse in (True, False)]
    for sim in sims.values():
        sim.close()
    return Row(made.id, num_worlds, *kernels, *moved, *times, times[1] / times[0])


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    num_worlds = settings.num_worlds or (2**20 if device.is_cuda else 2**16)
    rows = [measure(world, device.alias, num_worlds, settings.seconds) for world in settings.worlds]
    table = Table(
        title=f"fusing on {device.name if device.is_cuda else 'cpu'}: kernels, bytes per world and step, time of a step"
    )
    for heading in ("world", "worlds", "kernels", "unfused", "bytes", "unfused", "µs", "unfused", "times as fast"):
        table.add_column(heading, justify="right")
    for r in rows:
        counts = (str(n) for n in (r.kernels_fused, r.kernels_separate, r.bytes_fused, r.bytes_separate))
        times = (f"{r.microseconds_fused:,.1f}", f"{r.microseconds_separate:,.1f}", f"{r.times_as_fast:.2f}")
        table.add_row(r.world, f"{r.num_worlds:,}", *counts, *times)
    Console(width=140).print(table)
    if settings.out is not None:
        settings.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
