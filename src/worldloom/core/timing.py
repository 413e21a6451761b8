"""How fast worlds run: whole steps of several contenders in turn, and the systems of one step each alone."""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.compare import random_actions
from worldloom.core.errors import InputError
from worldloom.core.program import KernelSpec
from worldloom.core.registry import Definition
from worldloom.core.schedule import FINISHED, RESETTING, HostNode, Node, Settle
from worldloom.core.shards import run_all
from worldloom.core.simulation import Simulation

ROTATED = 8
"""How many arrays of actions are made beforehand and handed in by turns, so that making them is not timed."""

Run = Callable[[int], None]
"""Takes a number of steps, and returns when they are done."""


def make_actions(simulation: Simulation, seed: int = 0) -> list[Any]:
    """ROTATED sets of random actions as ``Simulation.step`` takes them: NumPy arrays on the CPU, PyTorch tensors on a GPU.

    A world with one action component gets arrays, one with several mappings, and one with none gets None.
    """
    generator = np.random.default_rng(seed)
    made: list[Any] = []
    for _ in range(ROTATED):
        actions: dict[str, Any] = dict(random_actions(simulation, generator))
        if simulation.device.is_cuda:
            import torch

            actions = {name: torch.from_numpy(values).to(str(simulation.device.alias)) for name, values in actions.items()}
        made.append(next(iter(actions.values())) if len(actions) == 1 else actions or None)
    return made


def stepping(simulation: Simulation, actions: Sequence[Any]) -> Run:
    """Steps ``simulation`` with ``actions`` by turns, through its public interface, and waits for the device at the end."""

    def run(steps: int) -> None:
        step, places = simulation.step, len(actions)
        for number in range(steps):
            step(actions[number % places])
        wp.synchronize_device(simulation.device)

    return run


def median_rates(contenders: Mapping[str, Run], seconds: float, rounds: int = 7) -> dict[str, float]:
    """Steps per second of each contender: the median of ``rounds`` short slices.

    Contenders take turns within a round, so that whatever else the machine does slows all of them alike. The first slices
    warm up and are not counted.

    Args:
        contenders: What to time, by name.
        seconds: About how long all of it takes.
        rounds: Slices per contender.
    """
    slice_s = seconds / ((rounds + 1) * len(contenders))
    steps = {name: _steps_within(run, slice_s) for name, run in contenders.items()}
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            rates[name].append(steps[name] / _seconds(run, steps[name]))
    return {name: statistics.median(found) for name, found in rates.items()}


def _seconds(run: Run, steps: int) -> float:
    start = time.perf_counter()
    run(steps)
    return time.perf_counter() - start


def _steps_within(run: Run, slice_s: float) -> int:
    """How many steps take about ``slice_s`` seconds."""
    run(1)
    steps = 1
    while (taken := _seconds(run, steps)) < slice_s / 4:
        steps *= 2
    return max(1, round(steps * slice_s / taken))


@dataclass(frozen=True)
class SystemTime:
    """What one system costs per step.

    Attributes:
        name: The system, and the kind of entity it runs over.
        engine: Whether it is the engine's own, and not of the world.
        on_reset: Whether it runs only for worlds that begin a new episode.
        seconds: Time per step, in all worlds together.
        share: Part of the time of all systems, 0 to 1.
        world_steps_per_second: Worlds times steps per second, if there were only this system.
        bytes_read, bytes_written: Bytes moved per world and step; what only some worlds move is left out.
    """

    name: str
    engine: bool
    on_reset: bool
    seconds: float
    share: float
    world_steps_per_second: float
    bytes_read: int
    bytes_written: int


def time_systems(
    world: str | Definition, num_worlds: int, device: str = "cpu", *, launches: int = 16, rounds: int = 5, warm_up: int = 50, seed: int = 0
) -> list[SystemTime]:
    """Time every system of a step alone, unfused, in the order they run in.

    Args:
        world: The id of a registered world, or its definition.
        num_worlds: Worlds that each system runs over.
        device: ``cpu`` or ``cuda:N``.
        launches: Times that a system runs in a row for one measurement.
        rounds: Measurements, a step apart, of which the median counts.
        warm_up: Steps before the first measurement, so that worlds are in the middle of their episodes.
        seed: Where random numbers start.
    """
    with Simulation(world, num_worlds, device, seed=seed, fuse=False) as simulation:
        if simulation.program is None:
            raise InputError("interpreted systems are not timed: use device 'cpu' or 'cuda:0'")
        stepping(simulation, make_actions(simulation, seed))(warm_up)
        clock = _Clock(simulation, launches)
        taken = [[] for _ in simulation.program.step]  # type: list[list[float]]
        for _ in range(rounds):
            for place, entry in enumerate(simulation.program.step):
                taken[place].append(clock.kernel(place, entry) if isinstance(entry, KernelSpec) else clock.call(entry))
        seconds = [statistics.median(found) for found in taken]
        return _merge(simulation, seconds)


class _Clock:
    """Times the kernels of a simulation one by one, each from the state that the ones before it left.

    A kernel is recorded ``launches`` times in a row, so that starting it costs next to nothing. Running it so often would
    spoil the state: what it changed is put back, and it is run once for the ones after it.
    """

    def __init__(self, simulation: Simulation, launches: int) -> None:
        self.simulation, self.launches = simulation, launches
        self.device, self.executor = simulation.device, simulation.executor
        self.recorded: dict[int, tuple[Callable[[], None], Callable[[], None]]] = {}
        self.spare = {column.name: wp.clone(column.array) for table in self.executor.tables.values() for column in table.columns.values()}

    def kernel(self, place: int, spec: KernelSpec) -> float:
        """Seconds per launch of the kernel at ``place`` of the step."""
        if place not in self.recorded:
            self.recorded[place] = self._record(spec, self.launches), self._record(spec, 1)
        many, once = self.recorded[place]
        columns = [self.executor.tables[table][field] for table, field in spec.columns]
        for column in columns:
            wp.copy(self.spare[column.name], column.array)
        seconds = self._timed(many) / self.launches
        for column in columns:
            wp.copy(column.array, self.spare[column.name])
        once()
        return seconds

    def call(self, node: HostNode) -> float:
        """Seconds of a callable of the schedule."""
        return self._timed(functools.partial(node.call, self.simulation))

    def _record(self, spec: KernelSpec, launches: int) -> Callable[[], None]:
        graphs = []
        for shard in range(len(self.simulation.slices)):
            with wp.ScopedCapture(device=self.device, force_module_load=False) as capture:
                for _ in range(launches):
                    self.executor.launch(spec, shard)
            graphs.append(capture.graph)
        return functools.partial(run_all, [functools.partial(wp.capture_launch, graph) for graph in graphs])

    def _timed(self, run: Callable[[], None]) -> float:
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


def _merge(simulation: Simulation, seconds: list[float]) -> list[SystemTime]:
    """One entry per system, with the times of all its places in the step added up."""
    assert simulation.program is not None
    totals: dict[tuple[str, bool, bool], list[float]] = {}
    begun = itertools.accumulate(not isinstance(entry, KernelSpec) or entry.begins for entry in simulation.program.step)
    nodes = [simulation.schedule.step[place - 1] for place in begun]
    for node, entry, taken in zip(nodes, simulation.program.step, seconds, strict=True):
        name = getattr(node.call, "__name__", repr(node.call)) if isinstance(node, HostNode) else node.label
        engine = isinstance(node, Settle) or (isinstance(node, Node) and node.system.engine)
        on_reset = isinstance(node, Node) and node.mask in (FINISHED, RESETTING)
        moved = (entry.bytes_read, entry.bytes_written) if isinstance(entry, KernelSpec) else (0, 0)
        total = totals.setdefault((name, engine, on_reset), [0.0, 0, 0])
        for place, value in enumerate((taken, *moved)):
            total[place] += value
    whole = sum(seconds) or 1.0
    return [
        SystemTime(name, engine, on_reset, taken, taken / whole, simulation.num_worlds / taken if taken else 0.0, int(read), int(written))
        for (name, engine, on_reset), (taken, read, written) in totals.items()
    ]
