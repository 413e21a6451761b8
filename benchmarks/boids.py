"""Boids with neighbour queries against boids that visit all others: agent steps per second, in alternating rounds.

The world is that of examples/boids.py; ``--worlds`` and ``--agents`` say how many. Both give the same neighbours.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import tyro
import warp as wp
from rich.console import Console
from rich.table import Table

import worldloom as wl
from worldloom.core.measure.timing import median_rates, step_runner
from worldloom.core.registry import world_files

BOIDS = world_files.find(str(Path(__file__).parents[1] / "examples" / "boids.py"))
Boid, Sky = next(iter(BOIDS.entities)), BOIDS.world
SCATTER, (_, FLY) = BOIDS.reset, BOIDS.step
AREA_PER_AGENT = 0.1


@wl.system
def flock_of_all(boid: Boid, world: Sky):
    """The same rule as ``flock`` of the example, asking all others how far they are."""
    heading = wl.vec2(0.0, 0.0)
    centre = wl.vec2(0.0, 0.0)
    away = wl.vec2(0.0, 0.0)
    seen = 0
    for other in world.all(Boid):
        apart = other.position - boid.position
        if other.id == boid.id or wl.length(apart) > world.sight:
            continue
        heading += other.velocity
        centre += apart
        away -= apart / (wl.length_sq(apart) + 0.001)
        seen += 1
    boid.neighbours = seen
    boid.turn = wl.vec2(0.0, 0.0)
    if seen > 0:
        boid.turn = (
            world.align * (heading / float(seen) - boid.velocity)
            + world.gather * (centre / float(seen))
            + world.avoid * away
        )


ALL_PAIRS = replace(BOIDS, id="BoidsAllPairs-v0", step=(flock_of_all, FLY))


@dataclass
class Settings:
    """Which device, and how much of it."""

    device: str = "auto"
    """cpu, cuda:N, or auto for a GPU where there is one."""
    worlds: int = 4096
    """Worlds in the batch."""
    agents: int = 1000
    """Boids per world; the sky grows with them, so that each sees about as many others."""
    seconds: float = 10.0
    """About how long the measurement takes."""
    json: bool = False
    """Print JSON instead of a table."""


@dataclass
class Rate:
    """What one way of looking reaches."""

    query: str
    steps_per_second: float
    agent_steps_per_second: float
    neighbours: float
    bytes_per_world: int


def measure(settings: Settings) -> list[Rate]:
    """Agent steps per second with ``world.near`` and ``world.all``, and the neighbours per boid at the end."""
    config = {"size": math.sqrt(settings.agents * AREA_PER_AGENT)}
    simulations = {
        query: wl.Simulation(
            world, settings.worlds, settings.device, seed=0, counts={"Boid": settings.agents}, config=config
        )
        for query, world in (("world.near", BOIDS), ("world.all", ALL_PAIRS))
    }
    rates = median_rates(
        {query: step_runner(simulation, [None]) for query, simulation in simulations.items()}, settings.seconds
    )
    agents = settings.worlds * settings.agents
    return [
        Rate(
            query,
            rates[query],
            rates[query] * agents,
            float(simulation["Boid"].neighbours.numpy().mean()),
            simulation.bytes_per_world,
        )
        for query, simulation in simulations.items()
    ]


def main(settings: Settings) -> None:
    if settings.device == "auto":
        settings.device = "cuda:0" if wp.is_cuda_available() else "cpu"
    rates = measure(settings)
    if settings.json:
        hardware = wp.get_device(settings.device).name
        print(
            json.dumps(
                {
                    "settings": asdict(settings),
                    "hardware": hardware,
                    "warp": wp.config.version,
                    "rates": [asdict(r) for r in rates],
                },
                indent=1,
            )
        )
        return
    table = Table(title=f"{settings.worlds:,} worlds of {settings.agents:,} boids on {settings.device}")
    for head in ("query", "steps/s", "agent steps/s", "neighbours", "gain"):
        table.add_column(head, justify="left" if head == "query" else "right")
    for rate in rates:
        gain = rate.agent_steps_per_second / rates[-1].agent_steps_per_second
        table.add_row(
            rate.query,
            f"{rate.steps_per_second:,.1f}",
            f"{rate.agent_steps_per_second:.3g}",
            f"{rate.neighbours:.1f}",
            f"{gain:.1f} x",
        )
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Settings))
