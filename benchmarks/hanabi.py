"""World steps per second of Hanabi with random legal moves drawn on the device, and on the CPU next to its original.

python benchmarks/hanabi.py                                      # CPU, next to the Hanabi Learning Environment (HLE)
python benchmarks/hanabi.py --device cuda:0 --out hanabi.json    # bytes, floats, both forms of agents, 2 to 5 players
python benchmarks/hanabi.py --device cuda:0 --ids Hanabi-v0 --worlds 1 64 4096 65536 1048576

A world step is one move of one game. Ten steps form one graph: a kernel that draws the moves of all agents from their
masks, and the kernels of the world, for each step; ``step_microseconds`` is the time of the same through
``Simulation.step``. Finished games are reset in the same step, and observations and masks of all agents are written in
every step. HLE takes random legal moves through its Python binding, rl_env, which computes the observations of all
players. ``written`` are the bytes that a step must write: observations, masks and rewards. ``bytes`` are all that a
world reads and writes; they are compared with the bandwidth of a copy on the same device. ``python
benchmarks/games_plots.py hanabi.json`` draws the rates, and prints the table in Markdown.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from random_player import RandomPlayer
from rich.console import Console
from run import describe_machine

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.explain import step_bytes
from worldloom.core.measure.timing import copy_bandwidth, median_rates
from worldloom.core.model.fields import Role

IDS = (
    "Hanabi-v0:agents=current",
    "Hanabi-v0",
    "Hanabi-v0:dtype=float32",
    "Hanabi-v0:players=3",
    "Hanabi-v0:players=4",
    "Hanabi-v0:players=5",
)
WRITTEN = (Role.OBSERVATION, Role.REWARD)


@dataclass
class Settings:
    """Measure Hanabi."""

    ids: tuple[str, ...] = IDS
    """The games."""
    worlds: tuple[int, ...] = ()
    """Numbers of worlds; by default 4,096 on a CPU and 65,536 on a GPU."""
    device: str = "cpu"
    """cpu or cuda:N."""
    seconds: float = 0.0
    """Approximate time of each measurement; by default 5 on a CPU and 0.5 on a GPU."""
    against_hle: bool = True
    """Whether to measure HLE too, on the CPU and with two players."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Rate:
    """World steps per second of one game.

    Attributes:
        microseconds: Per step of the batch, in a graph.
        step_microseconds: Per step of the batch, by ``Simulation.step``.
        written: Bytes of observations, masks and rewards per world step.
        bytes: Bytes that a world reads and writes per step.
        terabytes: Bytes that are moved per second, in units of 1e12.
        bandwidth: The same as a fraction of the bandwidth of a copy.
        times_hle: The rate relative to HLE's in the same run.
    """

    id: str
    worlds: int
    steps_per_second: float
    microseconds: float
    step_microseconds: float
    written: int
    bytes: int
    terabytes: float
    bandwidth: float
    times_hle: float | None


class HleGame:
    """A game of HLE's Python binding with random legal moves."""

    def __init__(self, players: int) -> None:
        from hanabi_learning_environment import rl_env

        self.env, self.rng = rl_env.make("Hanabi-Full", players), random.Random(0)
        self.seen: Any = self.env.reset()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            turn = self.seen["current_player"]
            move = self.rng.choice(self.seen["player_observations"][turn]["legal_moves_as_int"])
            self.seen, _, over, _ = self.env.step(move)
            if over:
                self.seen = self.env.reset()


def bytes_written(simulation: wl.Simulation) -> int:
    """Bytes of observations, masks and rewards of one world."""
    total = 0
    for table in simulation.definition.rows:
        for column in simulation.tables[table].columns.values():
            if column.field.role in WRITTEN and not column.field.name.startswith("final_"):
                total += column.nbytes
    return total // simulation.num_worlds


def measure(settings: Settings) -> Iterator[Rate]:
    device, _ = resolve(settings.device)
    bandwidth = copy_bandwidth(device)
    seconds = settings.seconds or (0.5 if device.is_cuda else 5.0)
    for id in settings.ids:
        for worlds in settings.worlds or ((65_536,) if device.is_cuda else (4096,)):
            simulation = wl.Simulation(id, worlds, settings.device, seed=0)
            player = RandomPlayer(simulation)
            contenders = {"worldloom": player.run}
            if settings.against_hle and not device.is_cuda and "players" not in id:
                contenders["hle"] = HleGame(2).run
            rates = median_rates(contenders, seconds)
            rate = rates["worldloom"] * player.steps * worlds
            public = player.seconds_per_public_step(seconds)
            moved = step_bytes(simulation.program)
            times = rate / rates["hle"] if "hle" in rates else None
            faults = len(simulation.errors())
            assert faults == 0, f"{faults} faults: random moves are legal"
            speeds = (rate, 1e6 * worlds / rate, 1e6 * public)
            sizes = (bytes_written(simulation), moved, moved * rate / 1e12, moved * rate / bandwidth)
            yield Rate(id, worlds, *speeds, *sizes, times)
            simulation.close()


def main() -> None:
    settings = tyro.cli(Settings, description=__doc__)
    console = Console()
    machine = describe_machine(resolve(settings.device)[0])
    rates = []
    for rate in measure(settings):
        rates.append(rate)
        times = "" if rate.times_hle is None else f", {rate.times_hle:,.0f} times HLE"
        console.print(
            f"{rate.id}, {rate.worlds:,} worlds: {rate.steps_per_second:,.3g} world steps/s, "
            f"{rate.microseconds:,.4g} µs per step ({rate.step_microseconds:,.4g} by Simulation.step), "
            f"{rate.bytes:,} bytes each, {rate.terabytes:.3g} TB/s, {rate.bandwidth:.0%} of the bandwidth{times}",
            soft_wrap=True,
        )
    if settings.out is not None:
        settings.out.write_text(
            json.dumps({"what": "hanabi", "machine": machine, "rows": [asdict(rate) for rate in rates]}, indent=1)
        )


if __name__ == "__main__":
    main()
