"""Spawning and despawning: a random quarter of all entities is replaced in every step, with both row layouts.

python benchmarks/churn.py                                          # both layouts, on the GPU where there is one
python benchmarks/churn.py --worlds 4096 --layout pooled --device cpu --out churn.json

Every entity has a position, a velocity and an age. One system moves all of them, despawns each with probability 1/4 and
spawns a replacement. The bytes of a step are counted from the columns: those that the system reads and writes,
and what the compaction of that layout moves and fills. Counts per world and lists of spawned entities are excluded.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
import warp as wp
from rich.console import Console
from run import describe_machine, show
from step_rate import seconds_per_call

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import copy_bandwidth
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, SERIAL
from worldloom.core.runtime.table import PopulationTable

Layout = Literal["per-world", "pooled"]


class Mote(wl.Entity):
    place: wl.vec2
    velocity: wl.vec2
    age: int


class Air(wl.World):
    live: wl.Config = 32
    replaced: wl.Config = 0.25


@wl.system
def fill(world: Air):
    for _ in range(world.live):
        world.spawn(
            Mote,
            place=wl.vec2(world.random(), world.random()),
            velocity=wl.vec2(world.random(-1.0, 1.0), world.random(-1.0, 1.0)),
        )


@wl.system
def drift(mote: Mote, world: Air):
    mote.place += mote.velocity * 0.01
    mote.age += 1
    if world.random() < world.replaced:
        world.spawn(Mote, place=mote.place, velocity=wl.vec2(world.random(-1.0, 1.0), world.random(-1.0, 1.0)))
        mote.despawn()


@dataclass
class Settings:
    """Measure worlds whose entities come and go."""

    worlds: int = 65536
    """Worlds in the batch."""
    live: int = 32
    """Entities of each world."""
    replaced: float = 0.25
    """Part of them that is replaced in a step."""
    layout: tuple[Layout, ...] = ("per-world", "pooled")
    """Rows for each world, or for the whole batch."""
    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    seconds: float = 2.0
    """How long each measurement runs."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Churn:
    """One row of the table.

    Attributes:
        steps_per_second: Steps of the whole batch.
        entities_per_second: Entities that were stepped.
        bytes_per_step: Bytes that a step has to move, read and written.
        share_of_bandwidth: Those bytes per second over the measured bandwidth of a copy.
        megabytes: Memory of all columns.
    """

    layout: Layout
    worlds: int
    live: int
    microseconds: float
    steps_per_second: float
    entities_per_second: float
    bytes_per_step: int
    share_of_bandwidth: float
    megabytes: float


def definition(settings: Settings, layout: Layout) -> wl.Definition:
    """The worlds of one layout, with capacity for a replacement of each entity: both exist until the compaction."""
    most = wl.UpTo(settings.live, batch=settings.worlds * settings.live if layout == "pooled" else None)
    return wl.Definition("Churn-v0", Air, {Mote: most}, reset=(fill,), step=(drift,))


def moved_bytes(table: PopulationTable, entities: int, replaced: float) -> int:
    """Bytes that the system and the compaction of one step move, read plus written.

    The compaction reads the mark of every entity, moves the survivors, nearly all of which are behind a despawned row,
    and fills the rows of spawned entities. With rows for the whole batch, survivors move twice, through spare columns,
    and every row also has the id of its world, which the system and the compaction read and the compaction writes.
    """
    size = {
        name: int(np.prod(column.field.value_shape)) * column.dtype.itemsize
        for name, column in table.all_columns.items()
    }
    home = size.get(ROW_WORLD, 0)
    noted = size["place"] + size["velocity"] + size[SERIAL] + home
    row = size["place"] + size["velocity"] + size["age"] + size[SERIAL]
    system = 2 * size["place"] + size["velocity"] + 2 * size["age"] + home + replaced * (noted + size[DESPAWNED])
    staying = (1 - replaced) * 2 * row * (2 if home else 1)
    compaction = size[DESPAWNED] + staying + replaced * (noted + row) + 2 * home
    return round(entities * (system + compaction))


def measure(settings: Settings, layout: Layout, device: wp.Device, bandwidth: float) -> Churn:
    config = {"live": settings.live, "replaced": settings.replaced}
    with wl.Simulation(definition(settings, layout), settings.worlds, device.alias, seed=0, config=config) as sim:
        for _ in range(10):
            sim.step()
        entities = int(sim[Mote].counts.numpy().sum())
        assert entities == settings.worlds * settings.live, "a mote that leaves has one in its stead"
        each = seconds_per_call(lambda _: sim.step(), device.alias, settings.seconds)
        moved = moved_bytes(sim[Mote], entities, settings.replaced)
        tables = {**sim.tables, **sim.executor.tables}
        memory = sum(c.nbytes for t in tables.values() for c in t.columns.values())
    return Churn(
        layout,
        settings.worlds,
        settings.live,
        each * 1e6,
        1 / each,
        entities / each,
        moved,
        moved / each / bandwidth,
        memory / 1e6,
    )


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = Console()
    results: dict[str, Any] = {
        "machine": describe_machine(device),
        "device": device.alias,
        "copy_bytes_per_second": copy_bandwidth(device),
    }
    console.print(results["machine"])
    console.print(f"copy bandwidth {results['copy_bytes_per_second'] / 1e9:,.0f} GB/s")
    results["churn"] = [
        asdict(measure(settings, layout, device, results["copy_bytes_per_second"])) for layout in settings.layout
    ]
    show(console, f"{settings.replaced:.0%} of the entities replaced in every step", results["churn"])
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
