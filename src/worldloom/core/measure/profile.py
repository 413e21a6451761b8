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
from worldloom.core.codegen.program import Entry
from worldloom.core.measure import trace
from worldloom.core.measure.kernel_timer import PreservedState
from worldloom.core.measure.report import Report, capacity_note, format_seconds
from worldloom.core.measure.timing import SystemTime, check_compiled, copy_bandwidth, time_entries, time_systems
from worldloom.core.model.launch import LaunchNode
from worldloom.core.schedule.entries import FINISHED, RESETTING

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

ROUNDS = 5


@dataclass(frozen=True)
class Cost:
    """The cost of one kernel, or of one system alone, per step.

    Attributes:
        name: The kernel, the system with the kind of entity that it runs over, the launch, or the callable.
        systems: The systems that a kernel runs, in order.
        engine: Whether it is a system of the engine.
        on_reset: Whether it runs only for worlds that begin a new episode.
        seconds: Time per step of all worlds.
        share: Fraction of the time of all kernels, or of all systems, 0 to 1.
        bytes_read, bytes_written: Bytes per world and step, without the accesses of only some worlds.
        bandwidth_share: Bytes moved per second relative to a large copy. It can exceed 1 where data lies in caches.
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
    """The time of a step, per kernel and per system.

    Attributes:
        env, device, num_worlds, steps: The world, the device, the number of worlds and the number of steps.
        seconds_per_step: Time of one call of ``Simulation.step``, including callables.
        bandwidth: Bytes per second of a large copy on this device, read plus written, measured at the same time.
        kernels: The kernels, launches and callables of a step, in execution order.
        systems: Every system alone, in a kernel of its own: together they take longer than the fused kernels.
        events: The trace of the kernels of all steps.
        populations: Kinds whose number varies; their bytes are counted at full capacity.
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
        names = ("env", "device", "num_worlds", "steps", "seconds_per_step", "bandwidth")
        costs = {"kernels": [asdict(k) for k in self.kernels], "systems": [asdict(s) for s in self.systems]}
        return {**{name: getattr(self, name) for name in names}, **costs}

    def save_trace(self, path: str | Path) -> None:
        """Write the events as a Chrome trace for ui.perfetto.dev or chrome://tracing."""
        what = f"{self.env}: {self.num_worlds:,} worlds on {self.device}"
        trace.save(trace.chrome_trace(self.events, what, self.device.startswith("cuda")), path)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        rate = self.num_worlds / self.seconds_per_step
        speed = f"{format_seconds(self.seconds_per_step)} per step, {rate:,.0f} world steps per second"
        copy = f"a large copy moves {self.bandwidth / 1e9:,.0f} GB/s here"
        systems = format_seconds(sum(system.seconds for system in self.systems))
        return Group(
            Text(f"{self.env}: {self.num_worlds:,} worlds on {self.device}, {speed}", style="bold"),
            self._table("kernel", self.kernels),
            self._table("system, alone", self.systems),
            Text(f"Bytes are per world and step; of the bandwidth: {copy}."),
            *([Text(capacity_note(self.populations))] if self.populations else []),
            Text(self._overhead()),
            Text(f"Each system is timed alone, in a kernel of its own: together they take {systems}."),
        )

    def _overhead(self) -> str:
        """The times of the kernels compared with the time of a step."""
        kernels = sum(kernel.seconds for kernel in self.kernels)
        sentence = f"The kernels, timed one by one, take {format_seconds(kernels)}"
        if kernels >= self.seconds_per_step:
            return f"{sentence}."
        rest = format_seconds(self.seconds_per_step - kernels)
        causes = "copying actions, launching kernels, waiting for the slowest thread, and colder caches"
        return f"{sentence}; the other {rest} of a step are spent on {causes}."

    def _table(self, title: str, costs: Sequence[Cost]) -> Any:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        table.add_column(title, overflow="fold")
        table.add_column("runs", no_wrap=True)
        for heading in ("time", "share", "read", "written", "of bandwidth"):
            table.add_column(heading, justify="right", no_wrap=True)
        for cost in costs:
            labels = [name for name in cost.systems if "(" in name] or list(cost.systems)
            name = f"{cost.name}: {', '.join(dict.fromkeys(labels))}" if cost.systems else cost.name
            moved = (f"{cost.bytes_read:,} B", f"{cost.bytes_written:,} B", f"{cost.bandwidth_share:.1%}")
            known = cost.bytes_read or cost.bytes_written  # unknown for launches
            numbers = (format_seconds(cost.seconds), f"{cost.share:.1%}", *(moved if known else ("-", "-", "-")))
            table.add_row(name, "reset" if cost.on_reset else "step", *numbers, style="dim" if cost.engine else None)
        return table


def progress_total(steps: int) -> int:
    """Number of progress reports of a profile: the steps, the rounds of kernels and systems, and the copy."""
    return steps + 2 * ROUNDS + 1


def profile(
    simulation: Simulation,
    steps: int = 100,
    actions: Sequence[Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Profile:
    """Profile ``steps`` steps of a simulation, and restore its columns."""
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
    bytes_per_second = bandwidth / simulation.num_worlds  # per world
    return Profile(
        env=simulation.definition.id,
        device=simulation.device.alias,
        num_worlds=simulation.num_worlds,
        steps=steps,
        seconds_per_step=seconds,
        bandwidth=bandwidth,
        kernels=_kernel_costs(simulation.program.step, kernel_times, bytes_per_second),
        systems=_system_costs(time_systems(simulation, ROUNDS, on_progress), bytes_per_second),
        events=tuple(events),
        populations=tuple(simulation.definition.populations),
    )


def _kernel_costs(entries: Sequence[Entry], seconds: Sequence[float], bandwidth: float) -> tuple[Cost, ...]:
    """The costs of the entries of a step. ``bandwidth`` is in bytes per second and world."""
    total = sum(seconds) or 1.0
    costs = []
    for entry, time_s in zip(entries, seconds, strict=True):
        share = time_s / total
        if isinstance(entry, KernelSpec):
            moved = entry.bytes_read, entry.bytes_written
            of_bandwidth = _bandwidth_share(sum(moved), time_s, bandwidth)
            costs.append(Cost(entry.name, entry.labels, False, False, time_s, share, *moved, of_bandwidth))
        else:
            on_reset = isinstance(entry, LaunchNode) and entry.mask in (FINISHED, RESETTING)
            engine = isinstance(entry, LaunchNode) and entry.engine
            costs.append(Cost(entry.label, (), engine, on_reset, time_s, share, 0, 0, 0.0))
    return tuple(costs)


def _system_costs(systems: Sequence[SystemTime], bandwidth: float) -> tuple[Cost, ...]:
    """The costs of the systems alone. ``bandwidth`` is in bytes per second and world."""
    costs = []
    for system in systems:
        moved = system.bytes_read, system.bytes_written
        of_bandwidth = _bandwidth_share(sum(moved), system.seconds, bandwidth)
        kind = (system.engine, system.on_reset)
        costs.append(Cost(system.name, (), *kind, system.seconds, system.share, *moved, of_bandwidth))
    return tuple(costs)


def _bandwidth_share(moved: int, seconds: float, bandwidth: float) -> float:
    return moved / seconds / bandwidth if seconds else 0.0


def _seconds_per_step(simulation: Simulation, steps: int, actions: Sequence[Any] | None) -> float:
    simulation.step(None if actions is None else actions[0])
    wp.synchronize_device(simulation.device)
    start = time.perf_counter()
    for number in range(steps):
        simulation.step(None if actions is None else actions[number % len(actions)])
    wp.synchronize_device(simulation.device)
    return (time.perf_counter() - start) / steps
