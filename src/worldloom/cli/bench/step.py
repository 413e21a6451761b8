"""``worldloom bench step``: steps per second through the public interface, compared with baselines in the same run."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from worldloom.cli.bench import baselines, rate_plot
from worldloom.cli.world_command import BatchCommand
from worldloom.core.base.errors import InputError
from worldloom.core.measure.timing import Run, make_actions, median_rates, step_runner
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.core.simulation import Simulation
from worldloom.core.tools.compare import device_name
from worldloom.terminal import console
from worldloom.terminal.flags import Json, names, require_positive
from worldloom.vector.world_pool import WorldPool

FAST = "worldloom, not exact"
"""The fast mode, with which exact mode is compared."""


@dataclass
class BenchStep(BatchCommand):
    """Measure full steps per second: actions in, all worlds stepped and autoreset, observations out.

    Every step gets another array of actions: NumPy on the CPU, PyTorch on a GPU. Baselines step as many copies of the
    world of the same id, in alternation in the same run; the medians of seven rounds are compared.
    """

    device: str = "cpu"
    """Device: cpu, cuda:N, auto or python."""
    against: str = ""
    """Comma-separated baselines: envpool, gymnasium (NumPy), gymnasium-sync, gymnasium-async, worldloom-gymnasium."""
    exact: bool = False
    """Measure exact mode, and compare it with the fast mode."""
    batch_size: int | None = None
    """Step asynchronously: the pool returns batches of this many worlds."""
    sweep: str = ""
    """Measure several numbers of worlds instead of one: 1024,4096,16384."""
    plot: str = ""
    """With --sweep: plot the rates to this file, such as rates.png."""
    seconds: float = 6.0
    """Approximate duration of the measurement for each number of worlds, including baselines."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, seconds=self.seconds)
        sizes = self._sizes()
        if self.plot:
            rate_plot.check(self.plot, bool(self.sweep))
        with console.keep_stdout_for_json(self.json):
            definition = self.definition()
            reports = [self._measure(definition, size) for size in sizes]
            faults = fault_summary.merge_summaries(
                FaultSummary(report["faults"], report["first_fault"], report["dropped"]) for report in reports
            )
        if self.plot:
            rate_plot.draw(reports, self.plot)
        console.print_result(
            self.json,
            reports if self.sweep else reports[0],
            _sweep_table(reports) if self.sweep else _table(reports[0]),
        )
        console.print_warnings(faults.lines())
        return 0

    def _sizes(self) -> list[int]:
        """The numbers of worlds to measure, checked for every baseline."""
        try:
            sizes = [int(size) for size in names(self.sweep)] if self.sweep else [self.num_worlds]
        except ValueError:
            raise InputError(
                f"--sweep takes whole numbers with commas between, such as 1024,4096, not '{self.sweep}'"
            ) from None
        for size in sizes:
            require_positive(sweep=size)
            if self.batch_size is not None and (self.batch_size < 1 or size % self.batch_size):
                raise InputError(f"--batch-size must divide the number of worlds, {size}, not be {self.batch_size}")
        for name in names(self.against):
            baselines.check_baseline(name, min(sizes), self.batch_size)
        return sizes

    def _measure(self, definition: Definition, size: int) -> dict[str, Any]:
        with ExitStack() as stack:
            runners: dict[str, Run] = {}
            for name in names(self.against):
                limit = baselines.BASELINES[name].max_worlds
                if not limit or size <= limit:  # a sweep may exceed the limit of some baselines
                    runners[name] = baselines.open_baseline(name, definition.id, size, stack, self.batch_size)
            worlds, runners["worldloom"] = self._open(definition, size, stack, self.exact)
            if self.exact:
                _, runners[FAST] = self._open(definition, size, stack, exact=False)
            rates = {name: rate * size for name, rate in median_rates(runners, self.seconds).items()}
            return self._report(_idle_simulations(worlds), size, rates)

    def _open(
        self, definition: Definition, size: int, stack: ExitStack, exact: bool
    ) -> tuple[Simulation | WorldPool, Run]:
        """Worldloom's own worlds, and the function that steps them."""
        if self.batch_size is None:
            simulation = stack.enter_context(Simulation(definition, size, self.device, seed=0, exact=exact))
            return simulation, step_runner(simulation, make_actions(simulation))
        pool = stack.enter_context(
            WorldPool(definition, size, self.batch_size, device=self.device, seed=0, exact=exact)
        )
        return pool, baselines.async_stepper(pool, size, self.batch_size)

    def _report(self, simulations: list[Simulation], size: int, rates: dict[str, float]) -> dict[str, Any]:
        own, simulation = rates["worldloom"], simulations[0]
        report = {
            "env": simulation.definition.id,
            "num_worlds": size,
            "device": device_name(simulation),
            "steps_per_second": own,
            "bytes_per_world": simulation.bytes_per_world,
            "against": {
                name: {"steps_per_second": rate, "ratio": own / rate}
                for name, rate in rates.items()
                if name != "worldloom"
            },
            **fault_summary.read(simulations).as_dict(),
        }
        options = {"exact": self.exact or None, "batch_size": self.batch_size}
        return {**report, **{name: value for name, value in options.items() if value is not None}}


def _idle_simulations(worlds: Simulation | WorldPool) -> list[Simulation]:
    """The simulations of worldloom's worlds, once none is stepping."""
    if isinstance(worlds, Simulation):
        return [worlds]
    for _ in worlds.simulations:
        worlds.recv()
    return worlds.simulations


def _batches(report: dict[str, Any]) -> str:
    return f" in batches of {report['batch_size']:,}" if "batch_size" in report else ""


def _table(report: dict[str, Any]) -> Table:
    per_world = console.format_bytes(report["bytes_per_world"])
    worlds = f"{report['num_worlds']:,} worlds{_batches(report)}"
    title = f"{report['env']}: {worlds} on {report['device']}, {per_world} per world"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("engine")
    table.add_column("world steps per second", justify="right")
    table.add_column("exact is" if "exact" in report else "worldloom is", justify="right")
    table.add_row(
        "worldloom, exact" if "exact" in report else "worldloom", console.format_count(report["steps_per_second"]), ""
    )
    for name, baseline in report["against"].items():
        table.add_row(name, console.format_count(baseline["steps_per_second"]), f"{baseline['ratio']:.3g} x as fast")
    return table


def _sweep_table(reports: list[dict[str, Any]]) -> Table:
    """One row per number of worlds, one column per engine."""
    first = reports[0]
    subject = f"{first['env']}{_batches(first)} on {first['device']}"
    title = f"{subject}: world steps per second (and how many times as fast worldloom is)"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    others = list(dict.fromkeys(name for report in reports for name in report["against"]))
    for heading in ("worlds", "worldloom", *others):
        table.add_column(heading, justify="right")
    for report in reports:
        cells = []
        for name in others:
            other = report["against"].get(name)
            cells.append(
                "" if other is None else f"{console.format_count(other['steps_per_second'])} ({other['ratio']:.3g} x)"
            )
        table.add_row(f"{report['num_worlds']:,}", console.format_count(report["steps_per_second"]), *cells)
    return table
