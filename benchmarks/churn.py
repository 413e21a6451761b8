"""Entities that come and go: a quarter of them is replaced in every step, at random, with rows for each world or for the whole batch.

python benchmarks/churn.py                                          # both layouts, on the GPU where there is one
python benchmarks/churn.py --worlds 4096 --layout pooled --device cpu --out churn.json

Every entity has a place, a velocity and an age. One system moves all of them, lets each leave with a chance of a quarter, and spawns
another in its stead. The bytes of a step are counted from the columns: what the system reads and writes of every entity, and what the
settlement of that layout has to move and to fill. Counts per world and lists of the new ones come on top and are left out.
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
    """The worlds of one layout. New entities wait beside the old ones until these have left, so there is room for one in the stead of each."""
    most = wl.UpTo(settings.live, batch=settings.worlds * settings.live if layout == "pooled" else None)
    return wl.Definition("Churn-v0", Air, {Mote: most}, reset=(fill,), step=(drift,))


def moved_bytes(table: PopulationTable, entities: int, replaced: float) -> int:
    """Bytes that the system and the settlement of one step move, read plus written.

    The settlement looks at the mark of every entity, moves those who stay, nearly all of whom lie behind one that left, and fills the
    rows of the new ones from where they were noted. Where the rows are those of the whole batch, who stays moves twice, by way of the
    spare columns, and every row also has the number of its world, which the system and the settlement read and the settlement writes.
    """
    size = {
        name: int(np.prod(column.field.value_shape)) * column.dtype.itemsize for name, column in table.columns.items()
    }
    home = size.get(ROW_WORLD, 0)
    noted = size["place"] + size["velocity"] + size[SERIAL] + home
    row = size["place"] + size["velocity"] + size["age"] + size[SERIAL]
    system = 2 * size["place"] + size["velocity"] + 2 * size["age"] + home + replaced * (noted + size[DESPAWNED])
    staying = (1 - replaced) * 2 * row * (2 if home else 1)
    settlement = size[DESPAWNED] + staying + replaced * (noted + row) + 2 * home
    return round(entities * (system + settlement))


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
