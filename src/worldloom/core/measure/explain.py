"""Explanations of fusion: which systems share a kernel, which do not and why, and the bytes that this saves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Entry, Program, generate
from worldloom.core.codegen.shared_programs import shared_schedule
from worldloom.core.codegen.stages import uneven_width
from worldloom.core.measure.report import Report, capacity_note
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime.options import find
from worldloom.core.schedule.entries import Entry as ScheduleEntry
from worldloom.core.schedule.entries import HostNode, Schedule, SystemNode
from worldloom.core.schedule.lasting_agents import lasting_agents

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


@dataclass(frozen=True)
class ExplainedKernel:
    """One kernel.

    Attributes:
        phase: ``step`` or ``reset``.
        name: Its name in the generated code.
        systems: The systems that it runs, in order.
        threads_per_world: Number of threads per world.
        loads, stores: The columns that every world loads and stores once, as ``Table.name``.
        sometimes: The columns that only some worlds access, such as those that begin a new episode.
        bytes_read, bytes_written: Bytes per world and launch, without the accesses of only some worlds.
        reason: Why one of its systems was not fused into an earlier kernel.
        threads: Total number of threads, where it does not depend on the number of worlds.
        stages: The same systems in the stages that the threads of a world run, with a barrier between two stages: in
            order, or in a longer ``sequence``.
        waits: The reason for the barrier before each stage but the first.
        whose: The system that ``reason`` is about.
        coalesced: The columns whose rows the threads collect in shared memory, so that each warp stores whole rows.
        tile, tile_threads: Worlds that a thread block takes through systems that run together, and its threads; else 0.
        sequence: Number of stages in the sequence that such a block runs, in which ``stages`` are repeated.
        shared_columns: The columns of which it keeps rows in shared memory.
        beside: Whether it runs at the same time as the last observations and the resets of finished worlds.
    """

    phase: str
    name: str
    systems: tuple[str, ...]
    threads_per_world: int
    loads: tuple[str, ...]
    stores: tuple[str, ...]
    sometimes: tuple[str, ...]
    bytes_read: int
    bytes_written: int
    reason: str
    threads: int | None = None
    stages: tuple[tuple[str, ...], ...] = ()
    waits: tuple[str, ...] = ()
    whose: str = ""
    coalesced: tuple[str, ...] = ()
    tile: int = 0
    tile_threads: int = 0
    sequence: int = 0
    shared_columns: tuple[str, ...] = ()
    beside: bool = False


@dataclass(frozen=True)
class Explanation(Report):
    """How the systems of a simulation became kernels.

    Attributes:
        env: The world's id.
        kernels: The kernels of a step, then those of a reset, in execution order.
        systems: Number of systems in a step, including the engine's own.
        engine: The names of the engine's own systems.
        callables: Python callables between the kernels of a step.
        launches: Entries of a step that launch kernels of their own, whose bytes are not known.
        bytes_unfused: Bytes that a world moves per step with a kernel for each system.
        bytes_fused: Bytes that a world moves per step with the fused kernels.
        separate: For every kernel of a step but the first, one sentence on why it is a kernel of its own.
        populations: Kinds whose number varies; their bytes are counted at full capacity.
        alternatives: For each of the world's alternatives, one sentence on the option that it uses.
    """

    env: str
    kernels: tuple[ExplainedKernel, ...]
    systems: int
    engine: tuple[str, ...]
    callables: tuple[str, ...]
    bytes_unfused: int
    bytes_fused: int
    separate: tuple[str, ...]
    populations: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        count = len([k for k in self.kernels if k.phase == "step"])
        kernels = f"{count} kernel{'' if count == 1 else 's'}"
        less = ""
        if self.bytes_fused < self.bytes_unfused:
            less = f" ({1 - self.bytes_fused / self.bytes_unfused:.0%} less)"
        moved = f"{self.bytes_unfused:,} with a kernel for each system, {self.bytes_fused:,} fused{less}"
        lines = [
            Text(f"{self.env}: the {self.systems} systems of a step run as {kernels}.", style="bold"),
            Text(f"Bytes per world and step: {moved}."),
        ]
        if self.populations:
            lines.append(Text(capacity_note(self.populations)))
        if self.callables:
            lines.append(Text(f"Callables between the kernels of a step: {', '.join(self.callables)}."))
        if self.launches:
            lines.append(Text(f"Launches of kernels of their own in a step: {', '.join(self.launches)}."))
        lines += [Text(sentence) for sentence in self.alternatives]
        shown: set[str] = set()
        for kernel in self.kernels:
            again = Text(f"{kernel.name} ({kernel.phase}): again", style="bold")
            lines += [Text(""), *([again] if kernel.name in shown else self._kernel_lines(kernel))]
            shown.add(kernel.name)
        return Group(*lines)

    def _kernel_lines(self, kernel: ExplainedKernel) -> list[Any]:
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        if kernel.tile:
            threads = f"{kernel.tile_threads} threads for {kernel.tile} worlds, a sequence of {kernel.sequence} stages"
        elif kernel.threads is not None:
            threads = f"{kernel.threads:,} threads in all"
        elif kernel.threads_per_world == 1:
            threads = "one thread per world"
        else:
            threads = f"{kernel.threads_per_world} threads per world"
        moved = f"{kernel.bytes_read:,} B read, {kernel.bytes_written:,} B written per world"
        head = f"{kernel.name} ({kernel.phase}): {threads}, {moved}"
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for number, names in enumerate(kernel.stages):
            systems = Text(", ").join(Text(name, style="dim" if name in self.engine else "") for name in names)
            grid.add_row("then" if number else "systems", systems)
            if number:
                grid.add_row("", Text(f"after a barrier: {kernel.waits[number - 1]}", style="dim"))
        for title, names in (
            ("loads", kernel.loads),
            ("stores", kernel.stores),
            ("sometimes", kernel.sometimes),
            ("coalesced", kernel.coalesced),
            ("in shared memory", kernel.shared_columns),
        ):
            if names:
                grid.add_row(title, Text(", ".join(names)))
        if kernel.beside:
            grid.add_row("beside", Text("the last observations and the resets of finished worlds"))
        grid.add_row("own kernel", Text(f"{kernel.whose}: {kernel.reason}"))
        return [Text(head, style="bold"), Padding(grid, (0, 0, 0, 2))]


def explain(simulation: Simulation) -> Explanation:
    """Explain how the systems of ``simulation`` became kernels, or would become kernels where it is interpreted."""
    schedule, cuda = _compiled_schedule(simulation), simulation.device.is_cuda
    program = simulation.program or generate(
        schedule, True, cuda, simulation.exact, uneven_width(simulation.kernels_for)
    )
    kernels = [
        _explained(schedule, phase, spec)
        for phase, specs in (("step", program.step), ("reset", program.reset))
        for spec in _kernels(specs)
    ]
    return Explanation(
        env=simulation.definition.id,
        kernels=tuple(kernels),
        systems=sum(isinstance(entry, SystemNode) for entry in schedule.step),
        engine=tuple(dict.fromkeys(e.label for e in (*schedule.step, *schedule.reset) if _is_engine(e))),
        callables=tuple(entry.label for entry in schedule.step if isinstance(entry, HostNode)),
        bytes_unfused=step_bytes(generate(schedule, False, cuda, simulation.exact)),
        bytes_fused=step_bytes(program),
        separate=tuple(f"{k.whose} starts a kernel of its own: {k.reason}" for k in kernels if k.phase == "step")[1:],
        populations=tuple(simulation.definition.populations),
        launches=tuple(entry.name for entry in schedule.step if isinstance(entry, LaunchNode)),
        alternatives=tuple(_chosen_option(simulation, name) for name in simulation.definition.alternatives),
    )


def _compiled_schedule(simulation: Simulation) -> Schedule:
    """The schedule of compiled code, also of a simulation that is interpreted."""
    if not simulation.interpreted:
        return simulation.schedule
    definition = simulation.definition
    return shared_schedule(definition, simulation.autoreset, simulation.checks, lasting_agents(definition))


def _chosen_option(simulation: Simulation, name: str) -> str:
    """A sentence on the option of the world's alternatives ``name`` that a simulation uses."""
    definition, device = simulation.definition, simulation.device
    alternatives = definition.alternatives[name]
    option = definition.options.get(name, alternatives.default)
    measured = find(definition, alternatives, device, simulation.kernels_for) if device.is_cuda else None
    named = alternatives.chosen(device.is_cuda, simulation.kernels_for)
    reason = "as was asked"
    if option == measured:
        reason = "the fastest when it was tuned on this GPU"
    elif option == named:
        reason = f"the default for {simulation.kernels_for:,} worlds on {device.alias}"
    others = ", ".join(other for other in alternatives.options if other != option)
    return f"{name}: {option}, {reason}; instead of {others}."


def _is_engine(entry: ScheduleEntry) -> bool:
    return entry.system.engine if isinstance(entry, SystemNode) else isinstance(entry, LaunchNode) and entry.engine


def step_bytes(program: Program) -> int:
    """Bytes that one world reads and writes in a step, without the accesses of only some worlds."""
    return sum(spec.bytes_read + spec.bytes_written for spec in _kernels(program.step))


def _kernels(entries: Iterable[Entry]) -> list[KernelSpec]:
    return [entry for entry in entries if isinstance(entry, KernelSpec)]


def _explained(schedule: Schedule, phase: str, spec: KernelSpec) -> ExplainedKernel:
    moved = {*spec.loads, *spec.stores}
    columns = [c for c in spec.columns if c[0] not in schedule.scratch]
    sometimes = [c for c in columns if c not in moved and not schedule.field_of(c).batch_wide]
    return ExplainedKernel(
        phase=phase,
        name=spec.name,
        systems=spec.labels,
        threads_per_world=spec.rows,
        loads=tuple(map(_name, spec.loads)),
        stores=tuple(map(_name, spec.stores)),
        sometimes=tuple(map(_name, sometimes)),
        bytes_read=spec.bytes_read,
        bytes_written=spec.bytes_written,
        reason=spec.reason,
        threads=spec.total,
        stages=tuple(part.labels for part in spec.parts),
        waits=tuple(f"{part.whose}: {part.reason}" for part in spec.parts[1:]),
        whose=spec.whose,
        coalesced=tuple(map(_name, spec.coalesced)),
        tile=spec.tile,
        tile_threads=(spec.block or 0) if spec.tile else 0,
        sequence=spec.sequence,
        shared_columns=tuple(map(_name, spec.shared_columns)),
        beside=spec.beside,
    )


def _name(column: ColumnKey) -> str:
    return ".".join(column)
