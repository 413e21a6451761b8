"""Timing kernels one by one, from the state that the worlds are in, which is put back."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base.capture import capture
from worldloom.core.base.shards import WARP_LOCK, run_all
from worldloom.core.runtime.executor import Executor, Launchable
from worldloom.core.runtime.table import Column
from worldloom.core.runtime.variants import LoadedKernel
from worldloom.core.schedule.schedule import HostNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

Run = Callable[[], None]

MIN_SAMPLE_S = 2e-3
"""How long the launches of one measurement take at least, where there may be that many."""


class PreservedState:
    """As a context: whatever happens to the columns and the faults of a simulation inside, they are as before afterwards."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.pristine = simulation, simulation.pristine
        columns = [column.array for table in simulation.executor.tables.values() for column in table.columns.values()]
        wp.synchronize_device(simulation.device)  # whatever stream the last step ran on
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
    """Times the kernels of a simulation one by one, each from the state that the ones before it left.

    A fast kernel is recorded up to ``most`` times in a row, so that starting it costs next to nothing. Running it so often would
    spoil the state: what it changed is put back, and it is run once for the ones after it.
    """

    def __init__(self, simulation: Simulation, executor: Executor, most: int = 16) -> None:
        self.simulation, self.executor, self.most = simulation, executor, most
        self.device = simulation.device
        self.launches: dict[str, int] = {}
        self.recorded: dict[tuple[Any, ...], Run] = {}
        self.backups = {
            column.name: wp.clone(column.array)
            for table in executor.tables.values()
            for column in table.columns.values()
        }

    def kernel(
        self, spec: Launchable, ways: Sequence[LoadedKernel | None] = (None,), first: Run | None = None
    ) -> list[float]:
        """Seconds per launch of a kernel, or of an entry that launches its own, for each way to run it.

        Args:
            spec: The kernel or entry.
            ways: Variants to launch, None for what the executor launches.
            first: Launched before each launch, and timed with it: what makes the kernel do its work again.
        """
        columns = [self.executor.tables[table][field] for table, field in spec.columns]
        self._copy(columns, save=True)
        once, seconds = self.record([(spec, None)], 1, first), []
        if spec.name not in self.launches:
            single = min(self.timed(once) for _ in range(2))
            self.launches[spec.name] = max(1, min(self.most, round(MIN_SAMPLE_S / max(single, 1e-9))))
            self._copy(columns, save=False)
        launches = self.launches[spec.name]
        for way in ways:
            seconds.append(self.timed(self.record([(spec, way)], launches, first)) / launches)
            self._copy(columns, save=False)
        once()
        return seconds

    def steps(self, specs: Iterable[Launchable], tuned: dict[str, LoadedKernel], steps: int) -> float:
        """Seconds per step of all kernels of a step, run after each other; callables are left out."""
        return self.timed(self.record([(spec, tuned.get(spec.name)) for spec in specs], steps)) / steps

    def call(self, node: HostNode) -> float:
        """Seconds of a callable of the schedule."""
        return self.timed(functools.partial(node.call, self.simulation))

    def _copy(self, columns: list[Column], save: bool) -> None:
        for column in columns:
            there, here = self.backups[column.name], column.array
            wp.copy(there, here) if save else wp.copy(here, there)

    def record(
        self, kernels: list[tuple[Launchable, LoadedKernel | None]], launches: int, first: Run | None = None
    ) -> Run:
        """``launches`` times all of ``kernels`` as one graph per shard; recorded once."""
        key = (launches, first is None, *((spec.name, id(way and way[0]), way and way[1]) for spec, way in kernels))
        if key not in self.recorded:
            graphs = []
            for shard in range(len(self.simulation.slices)):
                with WARP_LOCK, capture(self.device) as captured:
                    for _ in range(launches):
                        if first is not None:
                            first()
                        for spec, way in kernels:
                            self.executor.launch(spec, shard, ready=way)
                graphs.append(captured.graph)
            self.recorded[key] = functools.partial(
                run_all, [functools.partial(wp.capture_launch, graph) for graph in graphs], self.simulation.threads
            )
        return self.recorded[key]

    def timed(self, run: Run) -> float:
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
