"""Traces: a timeline of steps with one event per launch, and its Chrome trace file for Perfetto."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base import nvtx_ranges
from worldloom.core.base.capture import capture
from worldloom.core.base.errors import InputError
from worldloom.core.base.shards import WARP_LOCK, run_all
from worldloom.core.codegen.program import Entry
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime.executor import Launchable
from worldloom.core.schedule.entries import HostNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


@dataclass(frozen=True)
class TraceEvent:
    """One launch of a kernel or of a launch entry for the worlds of one shard, or one call of a callable.

    Attributes:
        name: The kernel, the launch, or the callable.
        systems: The systems that it ran, or the launch itself; none for a callable.
        step: The step, counted from 0 in the trace.
        shard: The shard of the worlds, counted from 0; 0 on a GPU.
        start, seconds: Its start, relative to the start of the trace, and its duration.
        bytes: Bytes of columns that it moved, without the accesses of only some worlds.
    """

    name: str
    systems: tuple[str, ...]
    step: int
    shard: int
    start: float
    seconds: float
    bytes: int


def record(
    simulation: Simulation,
    steps: int,
    actions: Sequence[Any] | None = None,
    on_progress: Callable[[], None] = lambda: None,
) -> list[TraceEvent]:
    """Take ``steps`` steps and time each kernel.

    ``actions`` are used in rotation. ``on_progress`` is called after each step.
    """
    tracer = _CudaTracer(simulation) if simulation.device.is_cuda else _CpuTracer(simulation)
    tracer.prepare(steps)
    for step in range(steps):
        if actions is not None:
            simulation._assign_actions(actions[step % len(actions)])
        tracer.step(step)
        on_progress()
    return tracer.events()


class _Tracer:
    """Base class of the tracers of both kinds of device."""

    def __init__(self, simulation: Simulation) -> None:
        assert simulation.program is not None
        self.simulation, self.executor, self.device = simulation, simulation.executor, simulation.device
        self.entries: list[Entry] = list(simulation.program.step)
        self.sizes = [end - first for first, end in simulation.slices]

    def event(self, entry: Entry, step: int, shard: int, start: float, seconds: float) -> TraceEvent:
        if isinstance(entry, HostNode):
            return TraceEvent(entry.label, (), step, shard, start, seconds, 0)
        if isinstance(entry, LaunchNode):
            return TraceEvent(entry.name, (entry.label,), step, shard, start, seconds, 0)
        moved = (entry.bytes_read + entry.bytes_written) * self.sizes[shard]
        return TraceEvent(entry.name, entry.labels, step, shard, start, seconds, moved)


def _range_name(spec: Launchable) -> str:
    """The name of the NVTX range of a launch."""
    systems = "" if isinstance(spec, LaunchNode) else f": {', '.join(spec.labels)}"
    return f"worldloom {spec.name}{systems}"


class _CpuTracer(_Tracer):
    """Reads the clock before and after each kernel, in the thread that runs its shard."""

    def prepare(self, steps: int) -> None:
        self.graphs: dict[tuple[str, int], Callable[[], None]] = {}
        for entry in self.entries:
            for shard in range(len(self.sizes)):
                if not isinstance(entry, HostNode) and (entry.name, shard) not in self.graphs:
                    with WARP_LOCK, capture(self.device) as captured:
                        self.executor.launch(entry, shard)
                    launch = functools.partial(wp.capture_launch, captured.graph)
                    self.graphs[entry.name, shard] = nvtx_ranges.with_nvtx_range(_range_name(entry), launch)
        self.samples: list[tuple[Entry, int, int, float, float]] = []
        self.begin = time.perf_counter()

    def step(self, number: int) -> None:
        kernels: list[Launchable] = []
        for entry in [*self.entries, None]:
            if isinstance(entry, Launchable):
                kernels.append(entry)
                continue
            if kernels:
                shards = range(len(self.sizes))
                runs: list[Callable[[], None]] = [
                    functools.partial(self._run_shard, kernels, number, shard) for shard in shards
                ]
                run_all(runs, self.simulation.threads)
                kernels = []
            if entry is not None:
                self._time(entry, number, 0, functools.partial(entry.call, self.simulation))

    def _run_shard(self, kernels: list[Launchable], number: int, shard: int) -> None:
        for spec in kernels:
            self._time(spec, number, shard, self.graphs[spec.name, shard])

    def _time(self, entry: Entry, number: int, shard: int, run: Callable[[], None]) -> None:
        start = time.perf_counter()
        run()
        self.samples.append((entry, number, shard, start - self.begin, time.perf_counter() - start))

    def events(self) -> list[TraceEvent]:
        return [self.event(*sample) for sample in sorted(self.samples, key=lambda sample: (sample[1], sample[3]))]


class _CudaTracer(_Tracer):
    """Records timing events around each kernel in the graph of each step.

    Kernels are launched one by one with NVTX ranges where a profiler is attached.
    """

    def prepare(self, steps: int) -> None:
        self.single = nvtx_ranges.profiler_attached()
        self.pairs = [[(self._event(), self._event()) for _ in self.entries] for _ in range(steps)]
        self.plans = [self._plan(pairs) for pairs in self.pairs]
        self.stream = self.executor.stream()
        self.begin = self._event()
        wp.synchronize_device(self.device)
        self.stream.record_event(self.begin)

    def _event(self) -> wp.Event:
        return wp.Event(self.device, enable_timing=True)

    def _plan(self, pairs: list[tuple[wp.Event, wp.Event]]) -> list[Callable[[], None]]:
        """The runs of one step: graphs of adjacent kernels, and the callables between them."""
        runs: list[Callable[[], None]] = []
        kernels: list[tuple[Launchable, tuple[wp.Event, wp.Event]]] = []
        for entry, pair in zip(self.entries, pairs, strict=True):
            if not isinstance(entry, HostNode) and not self.single:
                kernels.append((entry, pair))
                continue
            if kernels:
                runs.append(self._graph(kernels))
                kernels = []
            runs.append(functools.partial(self._run_single, entry, pair))
        return [*runs, self._graph(kernels)] if kernels else runs

    def _graph(self, kernels: list[tuple[Launchable, tuple[wp.Event, wp.Event]]]) -> Callable[[], None]:
        with WARP_LOCK, capture(self.device) as captured:
            for spec, (before, after) in kernels:
                self.device.stream.record_event(before)
                self.executor.launch(spec)
                self.device.stream.record_event(after)
        return functools.partial(self._launch, captured.graph)

    def _launch(self, graph: wp.Graph) -> None:
        wp.capture_launch(graph, self.stream)

    def _run_single(self, entry: Entry, pair: tuple[wp.Event, wp.Event]) -> None:
        before, after = pair
        self.stream.record_event(before)
        if isinstance(entry, HostNode):
            entry.call(self.simulation)
        else:
            with nvtx_ranges.nvtx_range(_range_name(entry)):
                self.executor.launch(entry, stream=self.stream)
        self.stream.record_event(after)

    def step(self, number: int) -> None:
        for run in self.plans[number]:
            run()

    def events(self) -> list[TraceEvent]:
        wp.synchronize_device(self.device)
        events = []
        for step, pairs in enumerate(self.pairs):
            for entry, (before, after) in zip(self.entries, pairs, strict=True):
                start = wp.get_event_elapsed_time(self.begin, before, synchronize=False) / 1000.0
                seconds = wp.get_event_elapsed_time(before, after, synchronize=False) / 1000.0
                events.append(self.event(entry, step, 0, start, seconds))
        return events


def chrome_trace(events: Sequence[TraceEvent], what: str, cuda: bool) -> dict[str, Any]:
    """The events as a Chrome trace: a thread for each shard, times in microseconds."""
    shards = sorted({event.shard for event in events})
    metadata: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": what}}]
    metadata += [
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": n, "args": {"name": "GPU" if cuda else f"shard {n}"}}
        for n in shards
    ]
    launches = [
        {
            "ph": "X",
            "cat": "kernel" if event.systems else "callable",
            "name": _title(event),
            "pid": 0,
            "tid": event.shard,
            "ts": event.start * 1e6,
            "dur": event.seconds * 1e6,
            "args": {"kernel": event.name, "step": event.step, "systems": list(event.systems), "bytes": event.bytes},
        }
        for event in events
    ]
    return {"traceEvents": metadata + launches, "displayTimeUnit": "ns"}


def _title(event: TraceEvent) -> str:
    """The label on the timeline: the world's systems, those of the engine where there are none, or the callable."""
    own = [label.partition("(")[0] for label in event.systems if "(" in label]
    return ", ".join(dict.fromkeys(own or event.systems)) or event.name


def save(trace: dict[str, Any], path: str | Path) -> None:
    """Write a Chrome trace; InputError where it cannot be written."""
    try:
        Path(path).write_text(json.dumps(trace))
    except OSError as error:
        raise InputError(f"the trace cannot be written to {path}: {error.strerror or error}") from None
