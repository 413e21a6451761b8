"""Ray casts: several threads per robot against one, on the world of examples/lidar.py.

python benchmarks/lidar.py --device cuda:0 --out lidar.json
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import ModuleType

import tyro
from rich.console import Console
from rich.table import Table

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.measure.timing import make_actions, median_rates, step_runner
from worldloom.core.registry.definition import Definition

EXAMPLE = Path(__file__).parents[1] / "examples" / "lidar.py"


@dataclass
class Settings:
    """Time ray casts with one thread per robot and with several."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    worlds: list[int] = field(default_factory=lambda: [64, 1024, 16_384])
    """Batch sizes."""
    posts: int = 64
    """Posts per world, each of which every ray looks at."""
    threads: list[int] = field(default_factory=lambda: [1, 32, 64])
    """Threads per robot; the first is what the others are measured against."""
    seconds: float = 3.0
    """About how long each batch size is measured."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Rate:
    """One row of the table.

    Attributes:
        rays_per_second: Rays of all robots of all worlds, casts against all posts.
        gain: How many times as fast as the first number of threads.
    """

    num_worlds: int
    threads: int
    microseconds_per_step: float
    rays_per_second: float
    gain: float


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lidar_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_threads(world: Definition, threads: int) -> Definition:
    """The same world, its ray casts with another number of threads."""
    return replace(
        world,
        observe=tuple(
            System(s.source, threads=threads) if isinstance(s, System) and s.threads > 1 else s for s in world.observe
        ),
    )


def bench(example: ModuleType, num_worlds: int, settings: Settings) -> list[Rate]:
    """All numbers of threads in turn, so that whatever else the machine does slows all alike."""
    world, counts = wl.definition("Lidar-v0"), {example.Post: settings.posts}
    simulations = {
        str(t): wl.Simulation(with_threads(world, t), num_worlds, settings.device, seed=0, counts=counts)
        for t in settings.threads
    }
    runs = {name: step_runner(sim, make_actions(sim)) for name, sim in simulations.items()}
    rates = median_rates(runs, settings.seconds)
    rays = num_worlds * world.rows["Robot"] * example.RAYS
    for sim in simulations.values():
        sim.close()
    first = rates[str(settings.threads[0])]
    return [
        Rate(num_worlds, t, 1e6 / rates[str(t)], rays * rates[str(t)], rates[str(t)] / first) for t in settings.threads
    ]


def main(settings: Settings) -> None:
    example = load_example()
    rows = [row for num_worlds in settings.worlds for row in bench(example, num_worlds, settings)]
    table = Table(title=f"ray casts, {example.RAYS} rays per robot, {settings.posts} posts, {settings.device}")
    for name in asdict(rows[0]):
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*[f"{v:,.4g}" if isinstance(v, float) else f"{v:,}" for v in asdict(row).values()])
    Console().print(table)
    if settings.out is not None:
        settings.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
