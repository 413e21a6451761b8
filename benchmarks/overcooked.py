"""Overcooked: world steps per second by layout, players and worlds, and against overcooked-ai in one run.

python benchmarks/overcooked.py rates --device cuda:0 --out overcooked_rates.json
python benchmarks/overcooked.py players --device cuda:0 --out overcooked_players.json
python benchmarks/overcooked.py original --out overcooked_original.json

Actions are uniform, drawn on the device. ``world_steps`` and ``microseconds`` are those of a graph of ten steps, each
with the drawing of its actions; ``step_microseconds`` is the time of the same through ``Simulation.step``. Every step
writes the whole observation of every player. ``bytes`` is what a world reads and writes per step; ``terabytes`` is that
per second of all worlds, and ``bandwidth`` its share of a plain copy on the same device. ``original`` alternates with
overcooked-ai 1.1.0 (pip install --no-deps overcooked-ai==1.1.0), which computes a transition and the lossless encoding
of both players per step, in one process. ``python benchmarks/games_plots.py overcooked_rates.json`` draws the rates,
and prints the table in Markdown.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from random_player import RandomPlayer
from rich.console import Console
from run import describe_machine, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.explain import step_bytes
from worldloom.core.measure.timing import Run, copy_bandwidth, median_rates
from worldloom.envs.overcooked.catalogue import CLASSIC

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parity"))

HORIZON = 400
LARGE = "|".join(["XPODSXXXXXXXXXX", "X1            X", *["X             X"] * 14, "XXXXXXXXXXXXXXX"])
"""15 x 17 cells, the largest kitchen, with room for 64 players."""


@dataclass
class Settings:
    """Measure Overcooked."""

    what: tyro.conf.Positional[Literal["rates", "players", "original"]]
    """The classic layouts, one world as players grow, or the comparison with overcooked-ai."""
    device: str = "cpu"
    """cpu or cuda:0; original runs on the CPU."""
    layouts: tuple[str, ...] = CLASSIC
    """Layouts of rates and original."""
    worlds: tuple[int, ...] = ()
    """Numbers of worlds."""
    players: tuple[int, ...] = ()
    """Numbers of players."""
    dtype: Literal["uint8", "float32"] = "uint8"
    """Type of the planes."""
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """CPU threads of worldloom."""
    seconds: float = 0.0
    """Approximate time of each measurement; by default 3 on a CPU and 0.3 on a GPU."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Rate:
    """The speed of one kitchen."""

    layout: str
    players: int
    worlds: int
    world_steps: float  # per second
    microseconds: float  # per step of the batch, in a graph
    step_microseconds: float  # per step of the batch, by Simulation.step
    bytes: int  # per world and step
    observations: int  # bytes per world
    terabytes: float  # moved per second
    bandwidth: float  # share of the copy bandwidth


def measure(settings: Settings, layout: str, players: int, worlds: int, bandwidth: float) -> Rate:
    """The speed with random actions."""
    world = wl.definition("Overcooked-v0", layout=layout, players=players, dtype=settings.dtype)
    with wl.Simulation(world, worlds, settings.device, seed=0, threads=settings.cores) as sim:
        player = RandomPlayer(sim)
        seconds = player.seconds_per_step(settings.seconds)
        public = player.seconds_per_public_step(settings.seconds)
        moved, seen = step_bytes(sim.program), sim["Player"].sight.numpy()[0].nbytes
        assert not sim.errors()
    name = layout if "|" not in layout else "15 x 17"
    rate = moved * worlds / seconds  # bytes per second
    times = 1e6 * seconds, 1e6 * public
    return Rate(name, players, worlds, worlds / seconds, *times, moved, seen, rate / 1e12, rate / bandwidth)


def measure_rates(settings: Settings, bandwidth: float, cuda: bool) -> list[Rate]:
    """Every layout, and cramped_room with more players, with every number of worlds."""
    worlds = settings.worlds or ((1, 1024, 2**14, 2**16, 2**18, 2**20) if cuda else (64, 1024, 8192))
    cases = [(layout, 2, count) for layout in settings.layouts for count in worlds]
    cases += [("cramped_room", players, count) for players in settings.players or (3, 4, 5) for count in worlds]
    return [measure(settings, *case, bandwidth) for case in cases]


def measure_players(settings: Settings, bandwidth: float, cuda: bool) -> list[Rate]:
    """The largest kitchen with few worlds, from 2 to 64 players."""
    worlds = settings.worlds or ((1, 16, 128, 1024) if cuda else (1, 16))
    players = settings.players or (2, 4, 8, 16, 32, 64)
    return [measure(settings, LARGE, count, number, bandwidth) for number in worlds for count in players]


def original_run(layout: str) -> Run:
    """Steps of overcooked-ai with random actions, encodings included."""
    from references.overcooked import Original

    game, acts = Original(layout), np.random.default_rng(0).integers(0, 6, (1000, 2)).tolist()

    def run(steps: int) -> None:
        for number in range(steps):
            game.step(acts[number % len(acts)])
            game.planes(HORIZON)
            if game.state.timestep >= HORIZON:
                game.reset()

    return run


def compare(settings: Settings, layout: str) -> dict[str, Any]:
    """Worldloom and overcooked-ai by turns; the medians of their rounds."""
    worlds = settings.worlds[0] if settings.worlds else 4096
    with wl.Simulation(f"Overcooked-v0:layout={layout}", worlds, "cpu", seed=0, threads=settings.cores) as sim:
        player = RandomPlayer(sim)
        contenders = {"worldloom": player.run, "original": original_run(layout)}
        rates = median_rates(contenders, 2.0 * settings.seconds)
    ours = rates["worldloom"] * worlds * player.steps
    return {"layout": layout, "worldloom": ours, "overcooked-ai": rates["original"], "times": ours / rates["original"]}


def main(settings: Settings) -> None:
    device, _ = resolve("cpu" if settings.what == "original" else settings.device)
    settings.seconds = settings.seconds or (0.3 if device.is_cuda else 3.0)
    console = Console(width=140)
    results: dict[str, Any] = {"machine": describe_machine(device), "what": settings.what, "cores": settings.cores}
    console.print(results["machine"])
    if settings.what == "original":
        rows = [compare(settings, layout) for layout in settings.layouts]
        title = f"world steps/s on {settings.cores} cores, against overcooked-ai in one process"
    else:
        bandwidth = copy_bandwidth(device, settings.cores)
        results["copy_bytes_per_second"] = bandwidth
        measured = {"rates": measure_rates, "players": measure_players}[settings.what]
        rows = [asdict(rate) for rate in measured(settings, bandwidth, device.is_cuda)]
        title = f"Overcooked, planes as {settings.dtype}, copy bandwidth {bandwidth / 1e9:.0f} GB/s"
    results["rows"] = rows
    show(console, title, rows)
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
