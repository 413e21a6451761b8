"""Compiled execution: the whole step as one recorded graph, on CUDA or per CPU thread."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.capture import capture, use_stream_priorities
from worldloom.core.base.console import compile_notice
from worldloom.core.base.errors import InputError
from worldloom.core.base.shards import WARP_LOCK, run_all
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Entry, Program
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime import scratch
from worldloom.core.runtime.table import Table
from worldloom.core.runtime.user_stream import UserStream
from worldloom.core.runtime.variants import LoadedKernel, load_tuned
from worldloom.core.schedule.entries import HostNode
from worldloom.core.schedule.row_lists import RowListNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

_GENERATIONS = itertools.count()

Segment = Callable[[], None]
Launchable = KernelSpec | LaunchNode
"""An entry that can be recorded into a graph."""
OutputCopy = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
"""The memory of a column, and the target of its copy, an array of the same shape, (num_worlds, ...)."""


class Executor:
    """Records the kernels of a program as graphs and launches them. Callables of the schedule run between graphs."""

    def __init__(self, simulation: Simulation, program: Program, tuned: bool = True) -> None:
        self.program = program
        self.device, self.slices, self.threads = simulation.device, simulation.slices, simulation.threads
        self.tables, self.offset = {**simulation.tables, **self._scratch(simulation)}, simulation.world_offset
        self.errors, self.alarm = simulation._fault_buffers, simulation._alarm.array
        self.prepared = simulation.prepared
        self.output_copies: list[OutputCopy] = []
        """The copies of each slice of the worlds that follow its step, where :attr:`copies_in_step` holds."""
        self.copies_in_step = len(self.slices) > 1 and isinstance(next(reversed(program.step), None), Launchable)
        self._simulation = weakref.ref(simulation)
        for spec in (*program.step, *program.reset):
            if isinstance(spec, KernelSpec) and spec.launch_size(simulation.num_worlds) >= 2**31:
                problem = f"{simulation.num_worlds} worlds need more than 2^31 threads for {spec.labels[0]}"
                raise InputError(f"{problem}: use fewer worlds per simulation")
        self.kernels = program.load(self.device, simulation.definition.id)
        for entry in (*program.step, *program.reset):
            if isinstance(entry, RowListNode):
                entry.load(self.device)
        self.tuned = (
            load_tuned(program, self.kernels, self.device, simulation.num_worlds)
            if tuned
            else dict[str, LoadedKernel]()
        )
        self.generation = next(_GENERATIONS)
        """Changes whenever the recorded graphs are discarded, and is another one in every executor."""
        self.stream = UserStream(self.device)
        """Returns the stream of a step on a GPU."""
        with self._launch_notice(simulation.definition.id):
            self._recorded: tuple[list[Segment], list[Segment]] | None = self._record_all()

    def _launch_notice(self, name: str) -> AbstractContextManager[None]:
        """A notice for the compilation of launches, whose kernels are compiled when they are first recorded."""
        launches = any(isinstance(entry, LaunchNode) for entry in (*self.program.step, *self.program.reset))
        return compile_notice(f"the launches of {name} for {self.device.alias}") if launches else nullcontext()

    def _scratch(self, simulation: Simulation) -> dict[str, Table]:
        """Allocate the memory that is undefined between two steps."""
        specs = [spec for spec in (*self.program.step, *self.program.reset) if isinstance(spec, KernelSpec)]
        return scratch.allocate(
            simulation.definition.populations.values(),
            simulation.schedule.scratch,
            {column for spec in specs for column in spec.columns},
            simulation.num_worlds,
            self.device,
            simulation.schedule.lists.values(),
            max([1, *(spec.tile for spec in specs)]),  # that of all tiled kernels
        )

    def invalidate(self) -> None:
        """Discard the recorded graphs, since some memory has moved."""
        self._recorded = None
        self.generation = next(_GENERATIONS)

    @property
    def segments(self) -> tuple[list[Segment], list[Segment]]:
        if self._recorded is None:
            self._recorded = self._record_all()
        return self._recorded

    def _record_all(self) -> tuple[list[Segment], list[Segment]]:
        with WARP_LOCK:
            return self._record(self.program.step, self.copies_in_step), self._record(self.program.reset)

    def step(self) -> None:
        for segment in (self._recorded or self.segments)[0]:
            segment()

    def reset(self) -> None:
        for segment in (self._recorded or self.segments)[1]:
            segment()

    def enqueue_step(self) -> None:
        """Launch the kernels of one step one by one on the user's stream, for a graph that the caller captures."""
        for entry in self.program.step:
            if not isinstance(entry, HostNode):
                for shard in range(len(self.slices)):
                    self.launch(entry, shard, self.stream() if self.device.is_cuda else None)
            else:
                self._call(entry)

    def record_step(self, before: Segment, after: Segment) -> wp.Graph:
        """Record one step of a GPU as a graph, with further launches before and after its kernels, on Warp's stream.

        The program must have no callables. A graph is valid until :attr:`generation` changes.
        """
        kernels = [entry for entry in self.program.step if isinstance(entry, Launchable)]
        assert len(kernels) == len(self.program.step), "a graph cannot record a callable"
        with WARP_LOCK:
            return self._capture(kernels, before=before, after=after)

    def use(self, tuned: dict[str, LoadedKernel]) -> None:
        """Launch these kernels, by name, instead of the default ones."""
        self.tuned = tuned
        self.invalidate()

    def launch(
        self, entry: Launchable, shard: int = 0, stream: wp.Stream | None = None, ready: LoadedKernel | None = None
    ) -> None:
        """Launch one kernel, or a launch entry, for the worlds of one shard.

        Args:
            entry: The kernel or launch entry.
            shard: The index of the slice of worlds.
            stream: The stream; None for Warp's.
            ready: The variant to launch; None for the tuned kernel, or the default one where it was not tuned.
        """
        if isinstance(entry, LaunchNode):
            entry.start(self.prepared, self.tables, self.slices[shard], self.device, stream)
        else:
            self._launch_kernel(entry, shard, stream, ready)

    def _launch_kernel(
        self, spec: KernelSpec, shard: int, stream: wp.Stream | None, ready: LoadedKernel | None
    ) -> None:
        kernel, block = ready or self.tuned.get(spec.name) or (self.kernels[spec.name], spec.block_dim(self.device))
        first, end = self.slices[shard]
        start = first if spec.row_list is None else spec.row_list
        width = block if self.device.is_cuda else None
        rows = spec.rows_argument(end - first, width)
        inputs: list[Any] = [start, rows, self.offset, *[self.tables[t][f].array for t, f in spec.columns]]
        if spec.takes_errors:
            inputs.append(self.errors[shard])
        if spec.takes_alarm:
            inputs.append(self.alarm)
        wp.launch(
            kernel,
            dim=spec.launch_size(end - first, width) if self.device.is_cuda else 1,
            inputs=inputs,
            device=self.device,
            stream=stream,
            record_tape=False,
            block_dim=block,
        )

    def _record(self, entries: list[Entry], copies_in_step: bool = False) -> list[Segment]:
        segments: list[Segment] = []
        kernels: list[Launchable] = []
        for entry in [*entries, None]:
            if isinstance(entry, Launchable):
                kernels.append(entry)
                continue
            if kernels:
                segments.append(self._graph(kernels, copies_in_step and entry is None))
                kernels = []
            if entry is not None:
                segments.append(functools.partial(self._call, entry))
        return segments

    def _graph(self, kernels: list[Launchable], copies_in_step: bool) -> Segment:
        graphs = [self._capture(kernels, shard) for shard in range(len(self.slices))]
        if self.device.is_cuda:
            return functools.partial(self._launch_graph, graphs[0])
        if len(graphs) == 1:
            return functools.partial(wp.capture_launch, graphs[0])
        runs: list[Segment] = [functools.partial(wp.capture_launch, graph) for graph in graphs]
        if copies_in_step:
            runs = [
                functools.partial(_step_and_copy, self.output_copies, run, *part)
                for run, part in zip(runs, self.slices, strict=True)
            ]
        return functools.partial(run_all, runs, self.threads)

    def _capture(
        self, kernels: list[Launchable], shard: int = 0, before: Segment | None = None, after: Segment | None = None
    ) -> wp.Graph:
        """Record entries for the worlds of one shard, and further launches before and after them, as a graph."""
        with capture(self.device) as captured:
            if before is not None:
                before()
            prioritized = self._launch_all(kernels, shard)
            if after is not None:
                after()
        if prioritized:
            use_stream_priorities(captured.graph)
        return captured.graph

    def _launch_all(self, kernels: list[Launchable], shard: int) -> bool:
        """Launch entries in order into the graph that is recorded; returns whether some have a higher priority.

        Those after a kernel that runs beside others have a stream of higher priority. They are many with few threads
        each, and would otherwise wait one by one until all threads of such a kernel have started.
        """
        stream: wp.Stream | None = None
        for entry in kernels:
            beside = isinstance(entry, KernelSpec) and entry.beside
            if beside and stream is None:
                stream = self._urgent_stream
                stream.wait_stream(self.device.stream)
            self.launch(entry, shard, None if beside else stream)
        if stream is not None:
            self.device.stream.wait_stream(stream)
        return stream is not None

    @functools.cached_property
    def _urgent_stream(self) -> wp.Stream:
        return wp.Stream(self.device, priority=-1)

    def _call(self, node: HostNode) -> None:
        node.call(self._simulation())

    def _launch_graph(self, graph: wp.Graph) -> None:
        wp.capture_launch(graph, self.stream())


def _step_and_copy(output_copies: list[OutputCopy], run: Segment, first: int, end: int) -> None:
    """Step a slice of the worlds, and copy its outputs while they are in the cache.

    It is not a method, since a recorded graph must not keep its executor alive.
    """
    run()
    for column, target in output_copies:
        np.copyto(target[first:end], column[first:end])
