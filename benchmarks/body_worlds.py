"""The worlds with rigid bodies: world steps per second with random actions, memory, and the shares of a step.

python benchmarks/body_worlds.py --device cuda:0 --worlds 1 64 1024 4096 16384 65536 --shares --out body_worlds.json
python benchmarks/body_worlds.py --device cuda:0 --worlds 1024 16384 65536 --crowded --shares
python benchmarks/body_worlds.py --device cuda:0 --check

``--crowded`` packs bodies together: HideSeek's ``packed`` levels, and Escape Room with three cubes before each door,
which never sleep.
``--check`` compares all columns in exact mode after every step, bit for bit: 2 worlds for 40 steps of the
interpreter with the CPU, and 64 worlds for 200 steps of the CPU with the GPU of ``--device``. ``--threads`` sets the
threads that share a world in the solver, 1 for a thread per world: bits stay the same in exact mode, speed does not.
``--timeline`` lists the kernels of a step by the time that they take within it, ``--kernels`` by that which each takes
alone. ``--digest`` prints a digest of bodies and contacts after some steps in exact mode, which is the same on every
device.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom import physics
from worldloom.core.base.device import resolve
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.frontend.system import System
from worldloom.core.measure.timing import (
    SystemTime,
    make_actions,
    median_rates,
    step_runner,
    time_entries,
    time_systems,
)
from worldloom.core.tools.compare import Comparison
from worldloom.envs.escape_room.entities import CUBE_BLOCKING
from worldloom.learn.training.episode_starts import stagger_episodes
from worldloom.physics import substeps

BODIES = {"HideSeek-v0": "Solid", "EscapeRoom-v0": "Body"}
"""The table of bodies of each world."""
CROWDED: dict[str, dict[str, Any]] = {
    "HideSeek-v0": {"packed": True, "pile_gap": 0.05},
    "EscapeRoom-v0": {
        **dict.fromkeys(("first_room", "second_room", "third_room"), CUBE_BLOCKING),
        "sleep_speed": 0.0,
    },
}
"""Configuration of levels in which bodies are packed together. Cubes that random play never reaches would sleep."""
GROUPS = {
    "physics": ("adjust_contacts", "compact Pair", "compact Contact", "compact Joint", "clear_Pair"),
    "rays": ("look", "scan", "cast_lidar"),
    "observations": ("describe", "locate", "publish", "observe"),
}
"""Beginnings of the names of systems by group. Those of ``worldloom.physics`` are physics, those that run for worlds
that begin an episode are resets, and all others are rules."""


@dataclass
class Settings:
    """Measure the worlds with rigid bodies."""

    device: str = "cpu"
    """cpu or cuda:0."""
    envs: tuple[str, ...] = ("HideSeek-v0", "EscapeRoom-v0")
    """Worlds to measure."""
    worlds: tuple[int, ...] = (1024,)
    """Numbers of worlds."""
    crowded: bool = False
    """Whether bodies are packed together."""
    solver: Literal["auto", "worlds", "colours"] = "auto"
    """How contacts are solved, see docs/physics_design.md; auto is the simulation's choice."""
    threads: int = substeps.THREADS
    """Threads that share a world in the solver: 1, 4, 8, 16 or 32."""
    registers: int = substeps.REGISTERS
    """Registers of each of them at most."""
    warm_up: int = 240
    """Steps before the measurement; after an episode all steps of episodes are equally frequent."""
    seconds: float = 2.0
    """Approximate time of each measurement."""
    shares: bool = False
    """Whether to time every system alone with the most worlds, and print the shares of physics, rays and
    observations."""
    kernels: bool = False
    """Whether to print the time of each kernel alone, with the most worlds."""
    timeline: bool = False
    """Whether to print the time of each kernel within steps on a GPU, with the most worlds."""
    tune: bool = False
    """Whether to search block sizes and register limits first."""
    check: bool = False
    """Compare devices in exact mode instead of measuring."""
    check_worlds: tuple[int, int] = (2, 64)
    """Worlds of the two comparisons: interpreter with CPU, CPU with GPU."""
    check_steps: tuple[int, int] = (40, 200)
    """Their steps."""
    digest: int = 0
    """Steps after which to print a digest of the state, in exact mode; 0: none."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Row:
    """One measurement; numbers of pairs and contacts are means per world at its end."""

    env: str
    worlds: int
    world_steps_per_second: float
    step_us: float
    bytes_per_world: int
    pairs: float
    body_pairs: float  # of two bodies that move: without floor, walls and doors
    contacts: float
    solved: float
    colours: float
    faults: int
    shares: dict[str, float] = field(default_factory=dict)  # of the time of all systems, by group
    kernels: list[tuple[float, str]] = field(default_factory=list)  # us and systems, slowest first
    timeline: list[tuple[float, str]] = field(default_factory=list)  # the same


def simulation(name: str, worlds: int, settings: Settings, device: str = "", **options: Any) -> wl.Simulation:
    config = CROWDED[name] if settings.crowded else {}
    alternatives = {} if settings.solver == "auto" else {"solver": settings.solver}
    return wl.Simulation(
        name, worlds, device or settings.device, seed=0, config=config, alternatives=alternatives, **options
    )


def count_body_pairs(sim: wl.Simulation, bodies: str) -> float:
    """Mean number of pairs of two dynamic bodies in a world."""
    a, b = (sim["Pair"].padded(name).long() for name in ("a", "b"))
    motion = sim[bodies].padded("motion") if hasattr(sim[bodies], "padded") else sim[bodies].motion.torch()
    counts = sim["Pair"].counts.torch().reshape(-1, 1)
    live = torch.arange(a.shape[1], device=a.device) < counts
    moving = (motion.gather(1, a) == physics.DYNAMIC) & (motion.gather(1, b) == physics.DYNAMIC)
    return float((live & moving).sum()) / sim.num_worlds


def physics_systems(definition: wl.Definition) -> set[str]:
    """Names of the systems of a step that ``worldloom.physics`` has built."""
    sources = ((system.name, system.source) for system in definition.step if isinstance(system, System))
    return {name for name, source in sources if source.function.__module__.startswith("worldloom.physics")}


def group_of(timed: SystemTime, of_physics: set[str]) -> str:
    """The group of a system by its name, see ``GROUPS``."""
    if timed.on_reset:
        return "resets"
    if timed.name.split("(")[0] in of_physics:
        return "physics"
    for group, beginnings in GROUPS.items():
        if timed.name.startswith(beginnings):
            return group
    return "rules"


def measure_shares(sim: wl.Simulation) -> dict[str, float]:
    """Shares of the time of all systems by group, each system timed in a kernel of its own, which is compiled first."""
    of_physics = physics_systems(sim.definition)
    shares = dict.fromkeys(("physics", "rays", "observations", "rules", "resets"), 0.0)
    for timed in time_systems(sim, rounds=3):
        shares[group_of(timed, of_physics)] += timed.share
    return shares


def measure_kernels(sim: wl.Simulation) -> list[tuple[float, str]]:
    """Microseconds and systems of the kernels of a step, slowest first; launches of one kernel are added up."""
    seconds = time_entries(sim, sim.executor, 3, lambda: None)
    total: dict[str, float] = {}
    launches: dict[str, int] = {}
    for taken, entry in zip(seconds, sim.executor.program.step, strict=True):
        systems = ", ".join(entry.labels) if isinstance(entry, KernelSpec) else entry.label
        key = f"{systems} [{entry.name}]" if isinstance(entry, KernelSpec) else systems
        total[key] = total.get(key, 0.0) + 1e6 * taken
        launches[key] = launches.get(key, 0) + 1
    return sorted(((taken, f"{launches[key]} x {key}") for key, taken in total.items()), reverse=True)


def measure_timeline(sim: wl.Simulation, run: Callable[[int], None], steps: int = 10) -> list[tuple[float, str]]:
    """Microseconds of a step and systems of its kernels, slowest first, by PyTorch's profiler.

    Kernels are timed where they are in the graph of the step. What runs on two streams counts twice.
    """
    systems = {spec.name: ", ".join(spec.labels) for spec in sim.executor.program.step if isinstance(spec, KernelSpec)}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run(steps)
        torch.cuda.synchronize()
    total: dict[str, float] = {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            own = next((name for name in systems if event.name.startswith(f"{name}_")), "")
            label = systems.get(own, event.name)
            total[label] = total.get(label, 0.0) + event.device_time_total / steps
    return sorted(((taken, label) for label, taken in total.items()), reverse=True)


def measure(name: str, worlds: int, settings: Settings) -> Row:
    with simulation(name, worlds, settings) as sim:
        stagger_episodes(sim, 0, worlds)
        run = step_runner(sim, make_actions(sim))
        run(settings.warm_up)
        if settings.tune:
            print(sim.tune())
        rate = median_rates({"step": run}, settings.seconds)["step"]
        row = Row(
            env=name,
            worlds=worlds,
            world_steps_per_second=rate * worlds,
            step_us=1e6 / rate,
            bytes_per_world=sim.bytes_per_world,
            pairs=float(sim["Pair"].counts.numpy().mean()),
            body_pairs=count_body_pairs(sim, BODIES[name]),
            contacts=float(sim["Contact"].counts.numpy().mean()),
            solved=float((sim["Contact"].rows("colour") >= 0).sum()) / worlds,
            colours=float(sim.world.contact_colours.numpy().mean()),
            faults=len(sim.errors()),
        )
        if worlds == max(settings.worlds):
            row.shares = measure_shares(sim) if settings.shares else {}
            row.kernels = measure_kernels(sim) if settings.kernels else []
            row.timeline = measure_timeline(sim, run) if settings.timeline else []
    return row


def print_rows(name: str, rows: list[Row], settings: Settings) -> None:
    console = make_console()
    level = "crowded levels" if settings.crowded else "levels of training"
    title = f"{name}, {level}, {settings.device}, solver {settings.solver} with {settings.threads} threads"
    numbers = [
        {key: value for key, value in asdict(row).items() if key not in ("shares", "kernels", "timeline")}
        for row in rows
    ]
    show(console, title, numbers)
    for row in rows:
        if row.shares:
            shares = ", ".join(f"{group} {share:.1%}" for group, share in row.shares.items())
            console.print(f"{row.worlds:,} worlds, shares of the time of all systems: {shares}")
        for taken, kernel in (*row.kernels[:40], *row.timeline[:60]):
            console.print(f"  {taken:9.1f} us  {kernel[:110]}")


def check(name: str, settings: Settings) -> bool:
    """Whether devices agree bit for bit in exact mode."""
    gpu = resolve(settings.device)[0].is_cuda
    pairs = [("python", "cpu"), *([("cpu", settings.device)] if gpu else [])]
    equal = True
    for devices, worlds, steps in zip(pairs, settings.check_worlds, settings.check_steps, strict=False):
        start = time.perf_counter()
        with Comparison(name, devices, worlds, seed=3, exact=True) as comparison:
            for sim in comparison.simulations:
                for key, value in (CROWDED[name] if settings.crowded else {}).items():
                    sim.set_config(key, value)
                sim.reset(seeds=3)
            difference = comparison.run(steps)
            columns = comparison.num_columns
        equal &= difference is None
        found = "the same bits" if difference is None else str(difference)
        taken = time.perf_counter() - start
        what = f"{name}, {' and '.join(devices)}, {worlds} worlds, {steps} steps, {columns} columns"
        print(f"{what}: {found} ({taken:.0f} s)", flush=True)
    return equal


def print_digest(name: str, settings: Settings) -> None:
    with simulation(name, 64, settings, exact=True) as sim:
        actions = make_actions(sim, seed=1)
        for step in range(settings.digest):
            sim.step(actions[step % len(actions)])
        state = hashlib.sha256()
        for table in (BODIES[name], "Contact"):
            for column in ("position", "rotation", "velocity") if table != "Contact" else ("impulses", "normal"):
                rows = sim[table].rows(column).cpu().numpy() if table != "Body" else sim[table][column].numpy()
                state.update(np.ascontiguousarray(rows).tobytes())
        print(f"{name} {settings.device} threads {settings.threads}: digest {state.hexdigest()[:16]}", flush=True)


def main(settings: Settings) -> None:
    substeps.THREADS, substeps.REGISTERS = settings.threads, settings.registers  # before the worlds are defined
    if settings.check:
        raise SystemExit(not all([check(name, settings) for name in settings.envs]))
    rows: list[Row] = []
    for name in settings.envs:
        if settings.digest:
            print_digest(name, settings)
            continue
        measured = [measure(name, worlds, settings) for worlds in settings.worlds]
        print_rows(name, measured, settings)
        rows += measured
    if settings.out is not None:
        machine = describe_machine(resolve(settings.device)[0])
        figures = {"machine": machine, "settings": asdict(settings), "rows": [asdict(row) for row in rows]}
        settings.out.write_text(json.dumps(figures, indent=1, default=str))


if __name__ == "__main__":
    main(tyro.cli(Settings))
