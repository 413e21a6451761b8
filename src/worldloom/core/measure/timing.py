"""Timings: the step rates of several contenders in turn, and the time of each system of a step alone."""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.base.shards import run_all
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program, generate
from worldloom.core.measure.kernel_timer import KernelTimer, PreservedState
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime.executor import Executor
from worldloom.core.schedule.entries import FINISHED, RESETTING, Entry, HostNode, SystemNode
from worldloom.core.schedule.row_lists import RowListNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

NUM_ACTION_SETS = 8
"""Number of action arrays that are made in advance and used in rotation, so that making them is not timed."""

Run = Callable[[int], None]
"""Takes a number of steps, and returns after the device has finished them."""


def make_actions(simulation: Simulation, seed: int = 0) -> list[Any]:
    """``NUM_ACTION_SETS`` sets of random actions for ``Simulation.step``: NumPy arrays, or PyTorch tensors on a GPU.

    A world with one action component gets arrays, one with several gets mappings, and one without gets None.
    """
    generator = np.random.default_rng(seed)
    sets: list[Any] = []
    for _ in range(NUM_ACTION_SETS):
        actions: dict[str, Any] = dict(random_actions(simulation, generator))
        if simulation.device.is_cuda:
            import torch

            device = str(simulation.device.alias)
            actions = {name: torch.from_numpy(values).to(device) for name, values in actions.items()}
        sets.append(next(iter(actions.values())) if len(actions) == 1 else actions or None)
    return sets


def step_runner(simulation: Simulation, actions: Sequence[Any]) -> Run:
    """A function that steps ``simulation`` with ``actions`` in rotation, and synchronizes the device at the end."""

    def run(steps: int) -> None:
        step, sets = simulation.step, len(actions)
        for number in range(steps):
            step(actions[number % sets])
        wp.synchronize_device(simulation.device)

    return run


def median_rates(contenders: Mapping[str, Run], seconds: float, rounds: int = 7) -> dict[str, float]:
    """Steps per second of each contender: the median of ``rounds`` short slices.

    Contenders take turns within a round, so that other load on the machine affects them equally. The first slices are a
    warm-up and are not counted.

    Args:
        contenders: The functions to time, by name.
        seconds: Approximate total time.
        rounds: Slices per contender.
    """
    slice_s = seconds / ((rounds + 1) * len(contenders))
    steps = {name: _steps_within(run, slice_s) for name, run in contenders.items()}
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            rates[name].append(steps[name] / _seconds(run, steps[name]))
    return {name: statistics.median(samples) for name, samples in rates.items()}


def _seconds(run: Run, steps: int) -> float:
    start = time.perf_counter()
    run(steps)
    return time.perf_counter() - start


def _steps_within(run: Run, slice_s: float) -> int:
    """Number of steps that take about ``slice_s`` seconds."""
    run(1)
    steps = 1
    while (seconds := _seconds(run, steps)) < slice_s / 4:
        steps *= 2
    return max(1, round(steps * slice_s / seconds))


@dataclass(frozen=True)
class SystemTime:
    """The cost of one system per step.

    Attributes:
        name: The system, and the kind of entity it runs over.
        engine: Whether it belongs to the engine, and not to the world.
        on_reset: Whether it runs only for worlds that begin a new episode.
        seconds: Time per step of all worlds.
        share: Fraction of the time of all systems, 0 to 1.
        world_steps_per_second: Worlds times steps per second with this system alone.
        bytes_read, bytes_written: Bytes moved per world and step, without the accesses of only some worlds.
    """

    name: str
    engine: bool
    on_reset: bool
    seconds: float
    share: float
    world_steps_per_second: float
    bytes_read: int
    bytes_written: int


def check_compiled(simulation: Simulation) -> None:
    """InputError where a simulation has no compiled kernels."""
    if simulation.interpreted:
        raise InputError("interpreted systems are not timed: use device 'cpu' or 'cuda:0'")


def time_systems(
    simulation: Simulation, rounds: int = 5, on_progress: Callable[[], None] = lambda: None
) -> list[SystemTime]:
    """Time every system of a simulation alone, unfused, from the current state, which is restored.

    Args:
        simulation: The simulation, ideally in the middle of its episodes.
        rounds: Measurements, one step apart, of which the median is taken.
        on_progress: Called after each round.
    """
    check_compiled(simulation)
    program = generate(simulation.schedule, False, simulation.device.is_cuda, simulation.exact)
    executor = Executor(simulation, program, tuned=False)
    return _merge(simulation, program, time_entries(simulation, executor, rounds, on_progress))


def time_entries(
    simulation: Simulation, executor: Executor, rounds: int, on_progress: Callable[[], None]
) -> list[float]:
    """Median seconds of each entry of the step of ``executor``: kernels, launches and callables in execution order."""
    entries = executor.program.step
    samples: list[list[float]] = [[] for _ in entries]
    with PreservedState(simulation):
        timer = KernelTimer(simulation, executor)
        for _ in range(rounds):
            for times, entry in zip(samples, entries, strict=True):
                times.append(timer.time_call(entry) if isinstance(entry, HostNode) else timer.time_kernel(entry)[0])
            on_progress()
    return [statistics.median(times) for times in samples]


def _merge(simulation: Simulation, program: Program, seconds: list[float]) -> list[SystemTime]:
    """One entry per system, with the sum of the times of all its occurrences in the step."""
    totals: dict[tuple[str, bool, bool], list[float]] = {}
    counts = itertools.accumulate(
        entry.first_of_entry if isinstance(entry, KernelSpec) else not isinstance(entry, RowListNode)
        for entry in program.step
    )
    nodes = [
        entry if isinstance(entry, RowListNode) else simulation.schedule.step[count - 1]
        for entry, count in zip(program.step, counts, strict=True)
    ]
    for node, entry, time_s in zip(nodes, program.step, seconds, strict=True):
        on_reset = isinstance(node, (SystemNode, LaunchNode)) and node.mask in (FINISHED, RESETTING)
        moved = (entry.bytes_read, entry.bytes_written) if isinstance(entry, KernelSpec) else (0, 0)
        total = totals.setdefault((node.label, _is_engine(node), on_reset), [0.0, 0, 0])
        for index, value in enumerate((time_s, *moved)):
            total[index] += value
    whole = sum(seconds) or 1.0
    return [
        SystemTime(
            name=name,
            engine=engine,
            on_reset=on_reset,
            seconds=time_s,
            share=time_s / whole,
            world_steps_per_second=simulation.num_worlds / time_s if time_s else 0.0,
            bytes_read=int(read),
            bytes_written=int(written),
        )
        for (name, engine, on_reset), (time_s, read, written) in totals.items()
    ]


def _is_engine(node: Entry) -> bool:
    """Whether an entry of a schedule belongs to the engine."""
    if isinstance(node, SystemNode):
        return node.system.engine
    return node.engine if isinstance(node, LaunchNode) else not isinstance(node, HostNode)


def copy_bandwidth(device: wp.Device, threads: int = 1, repeats: int = 7) -> float:
    """Bytes per second, read plus written, of a large copy on a device; on the CPU with ``threads`` threads."""
    size = min(2**30, device.free_memory // 8) if device.is_cuda else 2**26
    source, target = (wp.zeros(size, dtype=wp.uint8, device=device) for _ in range(2))
    if device.is_cuda:
        copy = functools.partial(wp.copy, target, source)
    else:
        parts = zip(np.array_split(target.numpy(), threads), np.array_split(source.numpy(), threads), strict=True)
        copy = functools.partial(run_all, [functools.partial(np.copyto, *part) for part in parts])
    times = []
    for _ in range(repeats + 1):
        wp.synchronize_device(device)
        start = time.perf_counter()
        copy()
        wp.synchronize_device(device)
        times.append(time.perf_counter() - start)
    return 2 * size / statistics.median(times[1:])
