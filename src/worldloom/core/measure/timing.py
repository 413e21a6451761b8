"""How fast worlds run: whole steps of several contenders in turn, and the systems of one step each alone."""

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
from worldloom.core.schedule.schedule import FINISHED, RESETTING, HostNode, SystemNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

NUM_ACTION_SETS = 8
"""How many arrays of actions are made beforehand and handed in by turns, so that making them is not timed."""

Run = Callable[[int], None]
"""Takes a number of steps, and returns when they are done."""


def make_actions(simulation: Simulation, seed: int = 0) -> list[Any]:
    """ROTATED sets of random actions as ``Simulation.step`` takes them: NumPy arrays on the CPU, PyTorch tensors on a GPU.

    A world with one action component gets arrays, one with several mappings, and one with none gets None.
    """
    generator = np.random.default_rng(seed)
    made: list[Any] = []
    for _ in range(NUM_ACTION_SETS):
        actions: dict[str, Any] = dict(random_actions(simulation, generator))
        if simulation.device.is_cuda:
            import torch

            actions = {
                name: torch.from_numpy(values).to(str(simulation.device.alias)) for name, values in actions.items()
            }
        made.append(next(iter(actions.values())) if len(actions) == 1 else actions or None)
    return made


def step_runner(simulation: Simulation, actions: Sequence[Any]) -> Run:
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


def check_compiled(simulation: Simulation) -> None:
    """InputError where a simulation has no kernels that could be timed."""
    if simulation.interpreted:
        raise InputError("interpreted systems are not timed: use device 'cpu' or 'cuda:0'")


def time_systems(
    simulation: Simulation, rounds: int = 5, on_progress: Callable[[], None] = lambda: None
) -> list[SystemTime]:
    """Time every system of a simulation alone, unfused, from the state that it is in, which is put back.

    Args:
        simulation: Best in the middle of its episodes.
        rounds: Measurements, a step apart, of which the median counts.
        tell: Called after each round.
    """
    check_compiled(simulation)
    program = generate(simulation.schedule, False, simulation.device.is_cuda, simulation.exact)
    return _merge(
        simulation, program, time_entries(simulation, Executor(simulation, program, tuned=False), rounds, on_progress)
    )


def time_entries(
    simulation: Simulation, executor: Executor, rounds: int, on_progress: Callable[[], None]
) -> list[float]:
    """Median seconds of each entry of the step of ``executor``, kernels, launches and callables, in the order they run in."""
    entries = executor.program.step
    taken = [[] for _ in entries]  # type: list[list[float]]
    with PreservedState(simulation):
        clock = KernelTimer(simulation, executor)
        for _ in range(rounds):
            for place, entry in enumerate(entries):
                taken[place].append(clock.call(entry) if isinstance(entry, HostNode) else clock.kernel(entry)[0])
            on_progress()
    return [statistics.median(found) for found in taken]


def _merge(simulation: Simulation, program: Program, seconds: list[float]) -> list[SystemTime]:
    """One entry per system, with the times of all its places in the step added up."""
    totals: dict[tuple[str, bool, bool], list[float]] = {}
    begun = itertools.accumulate(not isinstance(entry, KernelSpec) or entry.first_of_entry for entry in program.step)
    nodes = [simulation.schedule.step[place - 1] for place in begun]
    for node, entry, taken in zip(nodes, program.step, seconds, strict=True):
        name = node.label
        engine = (
            node.system.engine
            if isinstance(node, SystemNode)
            else node.engine
            if isinstance(node, LaunchNode)
            else not isinstance(node, HostNode)
        )
        on_reset = isinstance(node, (SystemNode, LaunchNode)) and node.mask in (FINISHED, RESETTING)
        moved = (entry.bytes_read, entry.bytes_written) if isinstance(entry, KernelSpec) else (0, 0)
        total = totals.setdefault((name, engine, on_reset), [0.0, 0, 0])
        for place, value in enumerate((taken, *moved)):
            total[place] += value
    whole = sum(seconds) or 1.0
    return [
        SystemTime(
            name,
            engine,
            on_reset,
            taken,
            taken / whole,
            simulation.num_worlds / taken if taken else 0.0,
            int(read),
            int(written),
        )
        for (name, engine, on_reset), (taken, read, written) in totals.items()
    ]


def copy_bandwidth(device: wp.Device, threads: int = 1, repeats: int = 7) -> float:
    """Bytes per second of a large copy on a device, bytes read plus bytes written; on the CPU with ``threads`` threads."""
    size = min(2**30, device.free_memory // 8) if device.is_cuda else 2**26
    source, target = (wp.zeros(size, dtype=wp.uint8, device=device) for _ in range(2))
    if device.is_cuda:
        copy = functools.partial(wp.copy, target, source)
    else:
        parts = zip(np.array_split(target.numpy(), threads), np.array_split(source.numpy(), threads), strict=True)
        copy = functools.partial(run_all, [functools.partial(np.copyto, *part) for part in parts])
    taken = []
    for _ in range(repeats + 1):
        wp.synchronize_device(device)
        start = time.perf_counter()
        copy()
        wp.synchronize_device(device)
        taken.append(time.perf_counter() - start)
    return 2 * size / statistics.median(taken[1:])
