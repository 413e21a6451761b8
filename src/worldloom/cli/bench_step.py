"""``worldloom bench step``: steps per second through the public interface, beside other packages in the same run."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from worldloom.cli import console, peers
from worldloom.cli.settings import Env, Json, names, require_positive
from worldloom.cli.worlds import find
from worldloom.core.compare import device_name
from worldloom.core.simulation import Simulation
from worldloom.core.timing import make_actions, median_rates, stepping


@dataclass
class BenchStep:
    """Measure full steps per second: actions handed in, all worlds stepped and reset where they finished, observations ready.

    Every step gets another array of actions: NumPy on the CPU, PyTorch on a GPU. Other packages step the world of the same id,
    as many copies of it, by turns in the same run; the medians of seven rounds are compared.
    """

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""
    num_worlds: int = 8192
    """Worlds that run side by side."""
    device: str = "cpu"
    """Where they run: cpu, cuda:N, auto or python."""
    against: str = ""
    """Packages to compare with, with commas between: envpool, gymnasium."""
    seconds: float = 6.0
    """About how long the measurement takes, all packages together."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, seconds=self.seconds)
        with console.results(self.json), ExitStack() as stack:
            made = find(self.env)
            contenders = {name: peers.open_peer(name, made.id, self.num_worlds, stack) for name in names(self.against)}
            simulation = stack.enter_context(Simulation(made, self.num_worlds, self.device, seed=0))
            contenders["worldloom"] = stepping(simulation, make_actions(simulation))
            rates = {name: rate * self.num_worlds for name, rate in median_rates(contenders, self.seconds).items()}
            report = self._report(simulation, rates)
        if self.json:
            console.print_json(report)
        else:
            console.out().print(_table(report))
        return 0

    def _report(self, simulation: Simulation, rates: dict[str, float]) -> dict[str, Any]:
        own = rates["worldloom"]
        return {
            "env": simulation.definition.id,
            "num_worlds": self.num_worlds,
            "device": device_name(simulation),
            "steps_per_second": own,
            "bytes_per_world": simulation.bytes_per_world,
            "against": {name: {"steps_per_second": rate, "ratio": own / rate} for name, rate in rates.items() if name != "worldloom"},
        }


def _table(report: dict[str, Any]) -> Table:
    title = f"{report['env']}: {report['num_worlds']:,} worlds on {report['device']}, {console.size(report['bytes_per_world'])} per world"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("who")
    table.add_column("world steps per second", justify="right")
    table.add_column("worldloom is", justify="right")
    table.add_row("worldloom", console.number(report["steps_per_second"]), "")
    for name, peer in report["against"].items():
        table.add_row(name, console.number(peer["steps_per_second"]), f"{peer['ratio']:.3g} x as fast")
    return table
