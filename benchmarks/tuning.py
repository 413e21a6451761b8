"""What tuning gains, over all registered worlds: a row for each, with the settings of the kernel that gained most.

python benchmarks/tuning.py --device cuda:0
python benchmarks/tuning.py --device cuda:0 --worlds CartPole-v1 examples/write_a_world.py --num-worlds 65536 1048576
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

import worldloom as wl
from worldloom.core.measure.report import format_seconds
from worldloom.core.measure.timing import make_actions, step_runner
from worldloom.core.measure.tune import Tuning
from worldloom.core.registry.world_files import find

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass
class Settings:
    """Tune worlds and tabulate the gains."""

    device: str = "auto"
    """The GPU: cuda:N or auto."""
    worlds: list[str] = field(default_factory=list)
    """Registered worlds, or files that register one; by default all, and examples/write_a_world.py."""
    num_worlds: list[int] = field(default_factory=lambda: [65_536, 1_048_576])
    """Numbers of worlds to tune for."""
    warm_up: int = 100
    """Steps with random actions before the measurement."""
    out: Path | None = None
    """A file for the figures as JSON."""


def main(settings: Settings) -> None:
    worlds = settings.worlds or [*wl.registered(), str(EXAMPLES / "write_a_world.py")]
    console = Console(width=140)
    table = Table(title="gains of tuning: a whole step before and after, and the kernel that gained most")
    for heading in (
        "world",
        "worlds",
        "before",
        "after",
        "gain",
        "kernels",
        "changed",
        "best kernel",
        "its gain",
        "block",
        "registers",
        "tuned in",
    ):
        table.add_column(heading, justify="right")
    found = []
    for world in worlds:
        for num_worlds in settings.num_worlds:
            tuning, seconds = tune(world, num_worlds, settings)
            found.append({**asdict(tuning), "tuning_seconds": seconds})
            console.print(f"{tuning.env}, {num_worlds:,} worlds: {tuning.gain:.1%} in {seconds:.0f} s {tuning.note}")
            best = max(tuning.kernels, key=lambda k: k.gain, default=None)
            if best is not None:
                changed = str(sum(k.gain > 0 for k in tuning.kernels))
                times = (
                    format_seconds(tuning.seconds_before),
                    format_seconds(tuning.seconds_after),
                    f"{tuning.gain:.1%}",
                )
                how = (
                    best.name,
                    f"{best.gain:.1%}",
                    str(best.block),
                    "any" if best.registers is None else str(best.registers),
                )
                table.add_row(
                    tuning.env, f"{num_worlds:,}", *times, str(len(tuning.kernels)), changed, *how, f"{seconds:.0f} s"
                )
    console.print(table)
    if settings.out is not None:
        settings.out.write_text(json.dumps(found, indent=1))


def tune(world: str, num_worlds: int, settings: Settings) -> tuple[Tuning, float]:
    """What tuning found, and the seconds it took."""
    with wl.Simulation(find(world), num_worlds, settings.device, seed=0, tuned=False) as sim:
        step_runner(sim, make_actions(sim))(settings.warm_up)
        start = time.perf_counter()
        return sim.tune(), time.perf_counter() - start


if __name__ == "__main__":
    main(tyro.cli(Settings))
