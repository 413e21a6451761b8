"""Profiles: the time of a step, kernel by kernel and system by system, against the bytes that they move."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure import trace
from worldloom.core.measure.kernel_timer import PreservedState
from worldloom.core.measure.report import Report, capacity_note, format_seconds
from worldloom.core.measure.timing import check_compiled, copy_bandwidth, time_entries, time_systems
from worldloom.core.model.launch import LaunchNode
from worldloom.core.schedule.schedule import FINISHED, RESETTING

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

ROUNDS = 5


@dataclass(frozen=True)
class Cost:
    """What one kernel, or one system alone, costs per step.

    Attributes:
        name: The kernel, the system with the kind of entity that it runs over, the launch, or the callable.
        systems: The systems that a kernel runs, in order.
        engine: Whether it is a system of the engine's own.
        on_reset: Whether it runs only for worlds that begin a new episode.
        seconds: Time per step, in all worlds together.
        share: Part of the time of all of its like, 0 to 1.
        bytes_read, bytes_written: Bytes per world and step; what only some worlds move is left out.
        bandwidth_share: The bytes moved per second as a part of what a large copy moves. What lies in caches can exceed 1.
    """

    name: str
    systems: tuple[str, ...]
    engine: bool
    on_reset: bool
    seconds: float
    share: float
    bytes_read: int
    bytes_written: int
    bandwidth_share: float


@dataclass(frozen=True)
class Profile(Report):
    """Where the time of a step goes.

    Attributes:
        env, device, num_worlds, steps: What was measured, where, for how many worlds, and over how many steps.
        seconds_per_step: One step as users get it, callables included.
        bandwidth: Bytes per second of a large copy on this device, read plus written, measured beside.
        kernels: The kernels, launches and callables of a step, in the order they run in.
        systems: Every system alone, in a kernel of its own: together they take longer than the fused kernels.
        events: When each kernel ran, step by step.
        populations: Kinds whose number varies; their bytes are counted as if every place were taken.
    """

    env: str
    device: str
    num_worlds: int
    steps: int
    seconds_per_step: float
    bandwidth: float
    kernels: tuple[Cost, ...]
    systems: tuple[Cost, ...]
    events: tuple[trace.TraceEvent, ...] = field(repr=False)
    populations: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything but the events, as plain values."""
        plain = {
            name: getattr(self, name)
            for name in ("env", "device", "num_worlds", "steps", "seconds_per_step", "bandwidth")
        }
        return {**plain, "kernels": [asdict(k) for k in self.kernels], "systems": [asdict(s) for s in self.systems]}

    def save_trace(self, path: str | Path) -> None:
        """Write the events as a Chrome trace, which ui.perfetto.dev and chrome://tracing show."""
        what = f"{self.env}: {self.num_worlds:,} worlds on {self.device}"
        trace.save(trace.chrome_trace(self.events, what, self.device.startswith("cuda")), path)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        rate = self.num_worlds / self.seconds_per_step
        head = f"{self.env}: {self.num_worlds:,} worlds on {self.device}, {format_seconds(self.seconds_per_step)} per step, {rate:,.0f} world steps per second"
        foot = (
            f"Bytes are per world and step; of the bandwidth: a large copy moves {self.bandwidth / 1e9:,.0f} GB/s here."
        )
        return Group(
            Text(head, style="bold"),
            self._table("kernel", self.kernels),
            self._table("system, alone", self.systems),
            Text(foot),
            *([Text(capacity_note(self.populations))] if self.populations else []),
            Text(self._between()),
            Text(
                f"Each system is timed alone, in a kernel of its own: together they take {format_seconds(sum(s.seconds for s in self.systems))}."
            ),
        )

    def _between(self) -> str:
        """How the kernels' times and that of a step go together."""
        kernels = sum(kernel.seconds for kernel in self.kernels)
        said = f"The kernels, timed one by one, take {format_seconds(kernels)}"
        if kernels >= self.seconds_per_step:
            return f"{said}."
        rest = format_seconds(self.seconds_per_step - kernels)
        return f"{said}; the other {rest} of a step go to handing in actions, starting kernels, waiting for the slowest thread, and colder caches."

    def _table(self, title: str, costs: Sequence[Cost]) -> Any:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        table.add_column(title, overflow="fold")
        table.add_column("runs", no_wrap=True)
        for heading in ("time", "share", "read", "written", "of bandwidth"):
            table.add_column(heading, justify="right", no_wrap=True)
        for cost in costs:
            mine = [name for name in cost.systems if "(" in name] or list(cost.systems)
            name = f"{cost.name}: {', '.join(dict.fromkeys(mine))}" if cost.systems else cost.name
            moved = (f"{cost.bytes_read:,} B", f"{cost.bytes_written:,} B", f"{cost.bandwidth_share:.1%}")
            known = cost.bytes_read or cost.bytes_written  # kernels of somebody else do not tell
            numbers = (format_seconds(cost.seconds), f"{cost.share:.1%}", *(moved if known else ("-", "-", "-")))
            table.add_row(name, "reset" if cost.on_reset else "step", *numbers, style="dim" if cost.engine else None)
        return table


def progress_total(steps: int) -> int:
    """How much progress a profile of ``steps`` steps tells of: the steps, the rounds of kernels and systems, and the copy."""
    return steps + 2 * ROUNDS + 1


def profile(
    simulation: Simulation,
    steps: int = 100,
    actions: Sequence[Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Profile:
    """Profile ``steps`` steps of a simulation, and leave its columns as they were."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InputError(f"a profile takes a whole number of steps, 1 or more, not {steps!r}")
    check_compiled(simulation)
    done, total = 0, progress_total(steps)

    def on_progress() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    assert simulation.program is not None
    with PreservedState(simulation) as state:
        seconds = _seconds_per_step(simulation, steps, actions)
        state.restore()
        events = trace.record(simulation, steps, actions, on_progress)
    kernel_times = time_entries(simulation, simulation.executor, ROUNDS, on_progress)
    bandwidth = copy_bandwidth(simulation.device, simulation.threads)
    on_progress()
    whole = sum(kernel_times) or 1.0

    def of_bandwidth(moved: int, taken: float) -> float:
        return moved * simulation.num_worlds / taken / bandwidth if taken else 0.0

    kernels = []
    for entry, taken in zip(simulation.program.step, kernel_times, strict=True):
        if isinstance(entry, KernelSpec):
            moved = entry.bytes_read, entry.bytes_written
            kernels.append(
                Cost(
                    entry.name,
                    entry.labels,
                    False,
                    False,
                    taken,
                    taken / whole,
                    *moved,
                    of_bandwidth(sum(moved), taken),
                )
            )
        else:
            on_reset = isinstance(entry, LaunchNode) and entry.mask in (FINISHED, RESETTING)
            engine = isinstance(entry, LaunchNode) and entry.engine
            kernels.append(Cost(entry.label, (), engine, on_reset, taken, taken / whole, 0, 0, 0.0))
    systems = [
        Cost(
            s.name,
            (),
            s.engine,
            s.on_reset,
            s.seconds,
            s.share,
            s.bytes_read,
            s.bytes_written,
            of_bandwidth(s.bytes_read + s.bytes_written, s.seconds),
        )
        for s in time_systems(simulation, ROUNDS, on_progress)
    ]
    device = simulation.device.alias
    return Profile(
        simulation.definition.id,
        device,
        simulation.num_worlds,
        steps,
        seconds,
        bandwidth,
        tuple(kernels),
        tuple(systems),
        tuple(events),
        tuple(simulation.definition.populations),
    )


def _seconds_per_step(simulation: Simulation, steps: int, actions: Sequence[Any] | None) -> float:
    simulation.step(None if actions is None else actions[0])
    wp.synchronize_device(simulation.device)
    start = time.perf_counter()
    for number in range(steps):
        simulation.step(None if actions is None else actions[number % len(actions)])
    wp.synchronize_device(simulation.device)
    return (time.perf_counter() - start) / steps
