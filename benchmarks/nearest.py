"""world.nearest by both methods, visiting all entities and with a grid: nanoseconds per query, in alternating rounds.

python benchmarks/nearest.py --device cuda:0 --worlds 2000 --agents 100 1000
python benchmarks/nearest.py --worlds 4 --agents 100 --seconds 1

Every entity queries its nearest, itself included, and then moves, so that a grid is built at every step. Steps without
a query are measured too, and subtracted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import tyro
import warp as wp
from rich.console import Console
from rich.table import Table

import worldloom as wl
from worldloom.core.measure.timing import median_rates, step_runner
from worldloom.core.model import grid


@dataclass
class Settings:
    """Which device, and how much of it."""

    device: str = "auto"
    """cpu, cuda:N, or auto for a GPU where there is one."""
    worlds: int = 100
    """Worlds in the batch."""
    agents: tuple[int, ...] = (30, 100, 300, 1000)
    """Entities per world, one measurement for each."""
    k: int = 10
    """How many each asks for."""
    seconds: float = 3.0
    """About how long each measurement takes."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Rate:
    """Nanoseconds that one query takes, all queries of the batch together, with its share of the grid."""

    agents: int
    of_all: float
    in_cells: float


class Dot(wl.Entity):
    position: wl.vec2
    velocity: wl.vec2
    found: int


class Field(wl.World):
    pass


@wl.system
def scatter(dot: Dot, world: Field):
    dot.position = wl.vec2(world.random(), world.random())
    dot.velocity = wl.vec2(world.random() - 0.5, world.random() - 0.5)


@wl.system
def move(dot: Dot, world: Field):
    place = dot.position + 0.02 * dot.velocity
    dot.position = wl.vec2(place.x - wl.floor(place.x), place.y - wl.floor(place.y))


def asking(k: int) -> wl.Definition:
    """The world in which every dot asks for its ``k`` nearest."""

    @wl.system
    def look(dot: Dot, world: Field):
        found = 0
        for other in world.nearest(Dot, dot.position, k):
            found = (found * 31 + other.id) % 65536
        dot.found = found

    return wl.Definition("Nearest-v0", world=Field, entities={Dot: 1}, reset=(scatter,), step=(look, move))


@contextmanager
def few(most: int) -> Iterator[None]:
    """Worlds made inside ask all entities of kinds of up to ``most``."""
    usual, grid.BRUTE_FORCE_LIMIT = grid.BRUTE_FORCE_LIMIT, most
    try:
        yield
    finally:
        grid.BRUTE_FORCE_LIMIT = usual


def measure(settings: Settings, agents: int) -> Rate:
    """Nanoseconds per query of both ways for one number of entities."""
    world = replace(asking(settings.k), entities={Dot: agents})
    made = {"of all": (world, agents), "in cells": (replace(world), 0), "neither": (replace(world, step=(move,)), 0)}
    simulations = {}
    for name, (definition, most) in made.items():
        with few(most):
            simulations[name] = wl.Simulation(definition, settings.worlds, settings.device, seed=0)
    rates = median_rates(
        {name: step_runner(simulation, [None]) for name, simulation in simulations.items()}, settings.seconds
    )
    of_all, in_cells = simulations["of all"][Dot].found, simulations["in cells"][Dot].found
    for name in ("of all", "in cells"):
        simulations[name].reset(seeds=1)
        simulations[name].step()
    assert (of_all.numpy() == in_cells.numpy()).all()
    each = {
        name: (1.0 / rate - 1.0 / rates["neither"]) / (settings.worlds * agents) * 1e9 for name, rate in rates.items()
    }
    for simulation in simulations.values():
        simulation.close()
    return Rate(agents, each["of all"], each["in cells"])


def main(settings: Settings) -> None:
    if settings.device == "auto":
        settings.device = "cuda:0" if wp.is_cuda_available() else "cpu"
    rates = [measure(settings, agents) for agents in settings.agents]
    if settings.out is not None:
        hardware = wp.get_device(settings.device).name
        found = {
            "settings": asdict(settings),
            "hardware": hardware,
            "warp": wp.config.version,
            "rates": [asdict(r) for r in rates],
        }
        settings.out.write_text(json.dumps(found, indent=1, default=str))
    table = Table(
        title=f"world.nearest of {settings.k}, {settings.worlds:,} worlds on {settings.device}: nanoseconds per query"
    )
    for head in ("entities", "of all", "in cells", "in cells / of all"):
        table.add_column(head, justify="right")
    for rate in rates:
        table.add_row(
            f"{rate.agents:,}", f"{rate.of_all:,.2f}", f"{rate.in_cells:,.2f}", f"{rate.in_cells / rate.of_all:.2f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Settings))
