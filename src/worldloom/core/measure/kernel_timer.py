"""Timing of single kernels from the current state of the worlds, which is restored."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base.capture import capture
from worldloom.core.base.shards import WARP_LOCK, run_all
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.executor import Executor, Launchable
from worldloom.core.runtime.variants import LoadedKernel
from worldloom.core.schedule.entries import HostNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

Run = Callable[[], None]

MIN_SAMPLE_S = 2e-3
"""Minimum time of the launches of one measurement, unless their number reaches its limit."""


class PreservedState:
    """A context manager that restores the columns and the faults of a simulation at its end."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.pristine = simulation, simulation.pristine
        columns = [
            column.array for table in simulation.executor.tables.values() for column in table.all_columns.values()
        ]
        wp.synchronize_device(simulation.device)  # the last step may have run on any stream
        self.copies = [(array, wp.clone(array)) for array in (*columns, *simulation._fault_buffers)]

    def __enter__(self) -> PreservedState:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def restore(self) -> None:
        for array, copy in self.copies:
            wp.copy(array, copy)
        wp.synchronize_device(self.simulation.device)
        self.simulation.pristine = self.pristine


class KernelTimer:
    """Times the kernels of a simulation one by one, each from the state that its predecessors left.

    A fast kernel is recorded up to ``max_launches`` times in a row to amortize the launch overhead. The columns that
    these runs changed are restored, and the kernel runs once for its successors.
    """

    def __init__(self, simulation: Simulation, executor: Executor, max_launches: int = 16) -> None:
        self.simulation, self.executor, self.max_launches = simulation, executor, max_launches
        self.device = simulation.device
        self.launches: dict[Any, int] = {}
        self.recorded: dict[tuple[Any, ...], Run] = {}
        self.backups = {
            column.name: wp.clone(column.array)
            for table in executor.tables.values()
            for column in table.all_columns.values()
        }

    def time_kernel(
        self, spec: Launchable, variants: Sequence[LoadedKernel | None] = (None,), first: Run | None = None
    ) -> list[float]:
        """Seconds per launch of a kernel, or of a launch entry, for each of its variants.

        Args:
            spec: The kernel or launch entry.
            variants: The variants to launch; None for the one that the executor launches.
            first: Run before each launch and timed with it, so that the kernel has work again.
        """
        columns = [self.executor.tables[table][field] for table, field in spec.columns]
        self._copy(columns, save=True)
        once, seconds = self.record([(spec, None)], 1, first), []
        if _key(spec) not in self.launches:
            single = min(self.time_run(once) for _ in range(2))
            self.launches[_key(spec)] = max(1, min(self.max_launches, round(MIN_SAMPLE_S / max(single, 1e-9))))
            self._copy(columns, save=False)
        launches = self.launches[_key(spec)]
        for variant in variants:
            seconds.append(self.time_run(self.record([(spec, variant)], launches, first)) / launches)
            self._copy(columns, save=False)
        once()
        return seconds

    def time_steps(self, specs: Iterable[Launchable], tuned: dict[str, LoadedKernel], steps: int) -> float:
        """Seconds per step of all kernels of a step in order, without callables."""
        return self.time_run(self.record([(spec, tuned.get(spec.name)) for spec in specs], steps)) / steps

    def time_call(self, node: HostNode) -> float:
        """Seconds of a callable of the schedule."""
        return self.time_run(functools.partial(node.call, self.simulation))

    def _copy(self, columns: list[Column], save: bool) -> None:
        for column in columns:
            backup, array = self.backups[column.name], column.array
            wp.copy(backup, array) if save else wp.copy(array, backup)

    def record(
        self, kernels: list[tuple[Launchable, LoadedKernel | None]], launches: int, first: Run | None = None
    ) -> Run:
        """All ``kernels``, ``launches`` times, as one graph per shard, which is recorded once."""
        variants = ((_key(spec), id(variant and variant[0]), variant and variant[1]) for spec, variant in kernels)
        key = (launches, first is None, *variants)
        if key not in self.recorded:
            graphs = []
            for shard in range(len(self.simulation.slices)):
                with WARP_LOCK, capture(self.device) as captured:
                    for _ in range(launches):
                        if first is not None:
                            first()
                        for spec, variant in kernels:
                            self.executor.launch(spec, shard, ready=variant)
                graphs.append(captured.graph)
            runs: list[Run] = [functools.partial(wp.capture_launch, graph) for graph in graphs]
            self.recorded[key] = functools.partial(run_all, runs, self.simulation.threads)
        return self.recorded[key]

    def time_run(self, run: Run) -> float:
        """Seconds that ``run`` takes on the device."""
        if not self.device.is_cuda:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        begin, end = (wp.Event(self.device, enable_timing=True) for _ in range(2))
        wp.synchronize_device(self.device)
        stream = wp.get_stream(self.device)
        stream.record_event(begin)
        run()
        stream.record_event(end)
        return float(wp.get_event_elapsed_time(begin, end)) / 1000.0


def _key(entry: Launchable) -> tuple[str, int | None]:
    """What a recorded launch runs: a kernel, and the list whose rows it works through."""
    return entry.name, getattr(entry, "row_list", None)
