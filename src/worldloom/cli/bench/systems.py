"""``worldloom bench systems``: the time of each system of a step."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from worldloom.cli.world_command import BatchCommand
from worldloom.core.measure.timing import SystemTime, check_compiled, make_actions, step_runner, time_systems
from worldloom.core.simulation import Simulation
from worldloom.core.tools.compare import device_name
from worldloom.terminal import console
from worldloom.terminal.flags import Json, require_positive

UPDATE_S = 0.1
"""Seconds between updates of the progress display."""


@dataclass
class BenchSystems(BatchCommand):
    """Step a world and show the time of each of its systems.

    The whole step is measured with adjacent systems fused into one kernel, as in a normal run. Each system is then
    measured alone in its own kernel, so the sum of all systems exceeds the time of a step.
    """

    steps: int = 10_000
    """Number of steps."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, steps=self.steps)
        with console.keep_stdout_for_json(self.json):
            definition = self.definition()
            with Simulation(definition, self.num_worlds, self.device, seed=0) as simulation:
                check_compiled(simulation)
                seconds = self._step(simulation)
                systems = time_systems(simulation)
                name, memory = device_name(simulation), simulation.bytes_per_world
        report = {
            "env": definition.id,
            "num_worlds": self.num_worlds,
            "device": name,
            "steps": self.steps,
            "steps_per_second": self.num_worlds * self.steps / seconds,
            "bytes_per_world": memory,
            "systems": [asdict(system) for system in systems],
        }
        if self.json:
            console.print_json(report)
        else:
            _show(report, systems)
        return 0

    def _step(self, simulation: Simulation) -> float:
        """Take the steps, show the progress, and return the seconds of stepping."""
        run = step_runner(simulation, make_actions(simulation))
        run(1)
        display = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            console=console.err(),
        )
        seconds, done, portion = 0.0, 0, 1
        with display:
            task = display.add_task(
                f"{simulation.num_worlds:,} worlds of {simulation.definition.id}", total=self.steps, rate=""
            )
            while done < self.steps:
                portion = min(portion, self.steps - done)
                start = time.perf_counter()
                run(portion)
                elapsed = time.perf_counter() - start
                seconds, done = seconds + elapsed, done + portion
                display.update(
                    task, completed=done, rate=f"{console.format_count(simulation.num_worlds * done / seconds)} steps/s"
                )
                portion = max(1, min(2 * portion, round(portion * UPDATE_S / elapsed)))
        return seconds


def _show(report: dict[str, Any], systems: list[SystemTime]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("system", overflow="fold")
    table.add_column("runs", no_wrap=True)
    for heading in ("share", "steps/s", "read", "written"):
        table.add_column(heading, justify="right", no_wrap=True)
    for system in systems:
        moved = (f"{system.bytes_read} B", f"{system.bytes_written} B")
        when, alone = "reset" if system.on_reset else "step", f"{system.world_steps_per_second:.2e}"
        table.add_row(system.name, when, f"{system.share:.1%}", alone, *moved, style="dim" if system.engine else None)
    screen = console.out()
    screen.print(table)
    rate, memory = console.format_count(report["steps_per_second"]), report["bytes_per_world"]
    screen.print(
        f"{report['env']} on {report['device']}: {rate} world steps per second in all, adjacent systems fused.",
        soft_wrap=True,
    )
    screen.print(
        "The table times each system alone: world steps per second of that system, and bytes per world.", soft_wrap=True
    )
    screen.print(
        f"Memory: {memory} bytes per world, {console.format_bytes(memory * report['num_worlds'])} "
        f"for {report['num_worlds']:,} worlds.",
        soft_wrap=True,
    )
    if any(system.engine for system in systems):
        engine = ", ".join(dict.fromkeys(s.name for s in systems if s.engine))
        screen.print(
            f"The engine's own systems count steps, end episodes and check numbers: {engine}.",
            style="dim",
            soft_wrap=True,
        )
