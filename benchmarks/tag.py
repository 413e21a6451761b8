"""World steps per second of Tag, on the grid and continuous, with random actions sampled on the device and resets.

python benchmarks/tag.py --device cuda:0 --out tag.json --plots docs/images     # everything
python benchmarks/tag.py --device cuda:0 --parts cases                          # the table alone
python benchmarks/tag.py --device cuda:0 --parts cases --peers warpdrive.json   # beside WarpDrive on the same machine
python benchmarks/tag.py --device cpu --worlds 4 --sweep-worlds 1 4 --sweep-agents 5 10 --most-agents 100 --seconds 0.1

A world step is one step of one world with all its agents. The first figure is of a graph of several steps, the engine's
own launches: for each step a kernel that samples the actions of all agents, and the kernels of the world. The second
is of the public interface in the same run: one ``Simulation.step`` per step, after one launch that samples the actions.
Full observations are compared with the memory bandwidth, since every step writes all of them. The batch is reduced to
the worlds that fit into memory, and the table shows their number. Players: one runner on the grid; one tagger per ten
players, at least one, on the plane. Published figures are those of WarpDrive's paper on an A100 (arXiv 2108.13976);
--peers adds what benchmarks/peers/warpdrive_tag.py measured.
"""

from __future__ import annotations

import concurrent.futures
import gc
import json
import multiprocessing
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
import warp as wp
from peers.peer import Published, read_rates
from plots import Labels, log_log
from random_player import RandomPlayer, step_seconds
from rich.console import Console
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.timing import copy_bandwidth, median_rates
from worldloom.core.model.fields import Role
from worldloom.envs.tag.continuous import continuous_tag
from worldloom.envs.tag.grid import grid_tag

WORLDS = ("grid", "continuous")
SWEEP_AGENTS = 5
"""Agents of the sweep over worlds."""
MAX_NEIGHBOURS = 10
PUBLISHED_FIELD = {
    "grid_length": 20.0,
    "max_acceleration": 0.1,
    "min_acceleration": -0.1,
    "max_turn": 2.356,
    "min_turn": -2.356,
    "tagging_distance": 0.02,
}
MAX_ROWS = 20_000_000
"""Maximum number of agents of all worlds in the sweep over agents."""
FREE_SHARE = 0.9
"""Share of the free memory that a batch may use."""


@dataclass(frozen=True)
class Case:
    """One variant of Tag.

    Attributes:
        agents: All players of a world.
        neighbours: How many others a player sees; 0 for all of them. On the grid a player sees one.
    """

    world: Literal["grid", "continuous"]
    agents: int
    neighbours: int

    @property
    def taggers(self) -> int:
        return self.agents - 1 if self.world == "grid" else max(1, self.agents // 10)

    @property
    def name(self) -> str:
        return f"{self.world}-{self.agents}-{f'k{self.neighbours}' if self.neighbours else 'full'}"

    def definition(self) -> wl.Definition:
        """The world with episodes of 100 steps, on the published grid of 101 by 101 cells or square of 20 by 20."""
        name = f"Bench-{self.name}-v0"
        if self.world == "grid":
            return grid_tag(
                name,
                taggers=self.taggers,
                runners=1,
                full_observation=not self.neighbours,
                grid_length=100,
                episode_length=100,
            )
        players = {"taggers": self.taggers, "runners": self.agents - self.taggers, "neighbours": self.neighbours}
        return continuous_tag(name, **players, episode_length=100, **PUBLISHED_FIELD)


def grid(agents: int, full: bool = False) -> Case:
    return Case("grid", agents, 0 if full else 1)


def continuous(agents: int, full: bool = False) -> Case:
    return Case("continuous", agents, 0 if full else min(MAX_NEIGHBOURS, agents - 1))


CASES = (
    *(grid(5, full=True), grid(5), grid(1000), grid(100, full=True), grid(1000, full=True)),
    *(
        continuous(5, full=True),
        continuous(5),
        continuous(100, full=True),
        continuous(1000),
        continuous(1000, full=True),
    ),
)
PUBLISHED: Published = {"paper, A100": {("grid", 5): 9.8e6, ("grid", 1000): 2.9e6, ("continuous", 5): 8.3e6}}
"""World steps per second of 2,000 worlds by source, then by the world and its agents."""
PUBLISHED_WORLDS = 2000


@dataclass
class Settings:
    """Measure how fast Tag steps."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    worlds: int = 2000
    """Worlds of the table, and of the sweep over agents."""
    parts: tuple[Literal["cases", "sweep-worlds", "sweep-agents"], ...] = ("cases", "sweep-worlds", "sweep-agents")
    """What to measure."""
    sweep_worlds: tuple[int, ...] = tuple(4**k for k in range(8))
    """Numbers of worlds of the sweep with 5 agents."""
    sweep_agents: tuple[int, ...] = (5, 10, 45, 100, 300, 1000, 3000, 10000)
    """Numbers of agents of the sweep, with the nearest others in sight."""
    most_agents: int = 10000
    """Cases with more agents are left out."""
    steps: int = 10
    """Steps of one recorded graph."""
    seconds: float = 0.5
    """How long each measurement runs."""
    compilers: int = 1
    """Processes that compile all worlds beforehand; with 1 each is compiled when its turn comes."""
    peers: Path | None = None
    """Figures of benchmarks/peers/warpdrive_tag.py (JSON), shown beside the published ones."""
    plots: Path | None = None
    """A folder for tag_worlds and tag_agents, each as PNG and SVG."""
    out: Path | None = None
    """A file for the figures as JSON."""

    def __post_init__(self) -> None:
        self.sweep_agents = tuple(n for n in self.sweep_agents if n <= self.most_agents)


@dataclass
class TagRate:
    """One row of a table.

    Attributes:
        worlds: Worlds that were run, fewer than asked for where the memory does not suffice.
        microseconds: One step of all worlds, in a graph of several steps.
        public_microseconds: One step of all worlds through ``Simulation.step``.
        kernels: Kernels of a step, the drawing of the actions included.
        ended: Episodes that ended per world and step.
        observation_bytes: Bytes of all observations, which a step writes.
        share_of_writes: Those bytes per second over the measured rate at which the memory can be filled.
        bytes_per_step: Bytes that the kernels move, read and written, where every world moves them in every step.
        share_of_copy: Those bytes per second over the measured bandwidth of a copy.
        gigabytes: Memory of all columns.
    """

    case: str
    agents: int
    worlds: int
    microseconds: float
    world_steps_per_second: float
    agent_steps_per_second: float
    public_microseconds: float
    public_steps_per_second: float
    kernels: int
    ended: float
    observation_bytes: int
    share_of_writes: float
    bytes_per_step: int
    share_of_copy: float
    gigabytes: float


SHOWN = {
    "case": "case",
    "worlds": "worlds",
    "microseconds": "us",
    "world_steps_per_second": "steps/s",
    "agent_steps_per_second": "agents/s",
    "public_microseconds": "step(), us",
    "public_steps_per_second": "step(), steps/s",
    "share_of_writes": "writes",
    "share_of_copy": "copy",
}
"""What is printed of a row, and above it; the file has all of it."""


@dataclass
class Bandwidth:
    """What the memory of a device allows, in bytes per second."""

    copy: float
    write: float
    device: wp.Device = field(repr=False)


def measure_bandwidth(device: wp.Device) -> Bandwidth:
    size = min(2**30, device.free_memory // 8) if device.is_cuda else 2**26
    array = wp.zeros(size, dtype=wp.uint8, device=device)

    def fill(times: int) -> None:
        for _ in range(times):
            array.fill_(1)
        wp.synchronize_device(device)

    return Bandwidth(copy_bandwidth(device), size * median_rates({"": fill}, 0.2)[""], device)


def fitting(definition: wl.Definition, worlds: int, device: wp.Device) -> int:
    """``worlds``, or as many as fit into the memory of a GPU."""
    if not device.is_cuda:
        return worlds
    gc.collect()  # graphs of the case before hold its columns
    wp.synchronize_device(device)
    with wl.Simulation(definition, 1, device.alias, seed=0) as one:
        each = one.bytes_per_world
    return max(1, min(worlds, int(FREE_SHARE * device.free_memory / each)))


def measure(case: Case, worlds: int, bandwidth: Bandwidth, settings: Settings) -> TagRate:
    """Time one case."""
    definition, device = case.definition(), bandwidth.device
    worlds = fitting(definition, worlds, device)
    with wl.Simulation(definition, worlds, device.alias, seed=0) as sim:
        player = RandomPlayer(sim, settings.steps)
        player.run(max(1, 100 // settings.steps))  # past the first episodes, which all begin together
        before, steps = _episodes(sim), max(1, 20 // settings.steps)
        player.run(steps)
        ended = (_episodes(sim) - before) / (worlds * steps * settings.steps)
        timed = step_seconds(player, settings.seconds)
        kernels = [k for k in sim.executor.program.step if isinstance(k, KernelSpec)]
        moved = sum(k.bytes_read + k.bytes_written for k in kernels) * worlds
        seen = sum(c.nbytes for c in sim.columns(Role.OBSERVATION).values())
        memory = sim.bytes_per_world * worlds
        faults = sim.errors()
    assert not faults, faults[0]
    each = timed.graph
    rates = worlds / each, worlds * case.agents / each, timed.public * 1e6, worlds / timed.public
    held = seen, seen / each / bandwidth.write, moved, moved / each / bandwidth.copy, memory / 1e9
    return TagRate(case.name, case.agents, worlds, each * 1e6, *rates, len(kernels) + 1, ended, *held)


def _episodes(sim: wl.Simulation) -> int:
    return int(sim.world.episode.numpy().astype(np.int64).sum())


def sweeps(settings: Settings) -> dict[str, list[tuple[Case, int]]]:
    """What to measure, by the part: cases with their numbers of worlds."""
    found = {
        "cases": [(case, settings.worlds) for case in CASES if case.agents <= settings.most_agents],
        "sweep-worlds": [
            (make(SWEEP_AGENTS), worlds) for make in (grid, continuous) for worlds in settings.sweep_worlds
        ],
        "sweep-agents": [
            (make(n), max(1, min(settings.worlds, MAX_ROWS // n)))
            for make in (grid, continuous)
            for n in settings.sweep_agents
        ],
    }
    return {part: found[part] for part in settings.parts}


def compile_one(case: Case, device: str) -> str:
    """Compile a world into the cache on disk; returns its name."""
    wl.Simulation(case.definition(), 1, device, seed=0).close()
    return case.name


def compile_all(cases: Iterable[Case], device: str, processes: int, console: Console) -> None:
    """Compile each world once, several at a time."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(processes, context) as pool:
        waiting = [pool.submit(compile_one, case, device) for case in dict.fromkeys(cases)]
        for number, done in enumerate(concurrent.futures.as_completed(waiting), 1):
            console.print(f"compiled {done.result()} ({number} of {len(waiting)})")


def against(rows: list[dict[str, Any]], cases: list[Case], figures: Published) -> list[dict[str, Any]]:
    """Figures of WarpDrive beside the measured ones, where there are any."""
    found = []
    for case, row in zip(cases, rows, strict=True):
        for source, rates in figures.items():
            published = rates.get((case.world, case.agents))
            if published is not None and (
                case.neighbours or case.agents == SWEEP_AGENTS
            ):  # a thousand players of the published one see one other
                found.append(
                    {
                        "case": case.name,
                        "source": source,
                        "published": published,
                        "times": row["world_steps_per_second"] / published,
                        "times, step()": row["public_steps_per_second"] / published,
                    }
                )
    return found


def draw(results: dict[str, Any], folder: Path, hardware: str, figures: Published) -> None:
    """The two sweeps as pictures, with the figures of WarpDrive as points."""
    for part, axis in (("sweep-worlds", "worlds"), ("sweep-agents", "agents")):
        rows = results.get(part)
        if not rows:
            continue
        lines, points = {}, {}
        for world in WORLDS:
            lines[f"worldloom, {world}"] = [
                (row[axis], row["world_steps_per_second"]) for row in rows if row["case"].startswith(world)
            ]
            lines[f"worldloom, {world}, Simulation.step"] = [
                (row[axis], row["public_steps_per_second"]) for row in rows if row["case"].startswith(world)
            ]
            for source, rates in figures.items():
                of_world = [(agents, rate) for (kind, agents), rate in rates.items() if kind == world]
                points[f"{source}, {world}"] = (
                    of_world
                    if axis == "agents"
                    else [(PUBLISHED_WORLDS, rate) for agents, rate in of_world if agents == SWEEP_AGENTS]
                )
        fixed = f"{SWEEP_AGENTS} agents" if axis == "worlds" else f"{max(row['worlds'] for row in rows):,} worlds"
        log_log(
            folder / f"tag_{axis}",
            Labels(f"Tag, {fixed}, random actions, on {hardware}", axis, "world steps per second"),
            lines,
            points,
        )


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = make_console()
    bandwidth = measure_bandwidth(device)
    results: dict[str, Any] = {
        "machine": describe_machine(device),
        "device": device.alias,
        "copy_bytes_per_second": bandwidth.copy,
    }
    results["write_bytes_per_second"] = bandwidth.write
    console.print(results["machine"])
    console.print(f"copy bandwidth {bandwidth.copy / 1e9:,.0f} GB/s, filling {bandwidth.write / 1e9:,.0f} GB/s")
    figures = PUBLISHED | read_rates(settings.peers, "steps")
    plan = sweeps(settings)
    if settings.compilers > 1:
        compile_all((case for part in plan.values() for case, _ in part), device.alias, settings.compilers, console)
    for part, wanted in plan.items():
        results[part] = []
        for case, worlds in wanted:
            results[part].append(asdict(measure(case, worlds, bandwidth, settings)))
            row = results[part][-1]
            console.print(
                f"{row['case']}, {row['worlds']:,} worlds: {row['microseconds']:,.1f} us, "
                f"{row['world_steps_per_second']:.3g} world steps/s; through Simulation.step "
                f"{row['public_microseconds']:,.1f} us, {row['public_steps_per_second']:.3g}"
            )
            if settings.out is not None:
                settings.out.write_text(json.dumps(results, indent=1))  # what is known so far, should time run out
        show(console, f"Tag: {part}", results[part], SHOWN)
    if "cases" in plan:
        results["against"] = against(results["cases"], [case for case, _ in plan["cases"]], figures)
        show(console, f"Against WarpDrive (figures of 2,000 worlds; here {settings.worlds:,})", results["against"])
    if settings.plots is not None:
        draw(results, settings.plots, results["machine"]["hardware"], figures)
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
