"""Robots on a GPU: environment steps per second of whole worlds and of bare MuJoCo Warp with the same model.

python benchmarks/robots.py --device cuda:0 --out robots.json
python benchmarks/robots.py --agents-per-world 1 2 4 8 --num-worlds 4096    # humanoids of Flagrun that share worlds

A step of a world has physics, observations, rewards and resets. Bare MuJoCo Warp takes the same substeps, and
``rne_postconstraint`` where the world observes contact forces, recorded as one graph, with the controls of the world's
last step. Both use the same sizes of contacts and constraints.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro
import warp as wp
from rich.console import Console
from rich.table import Table
from run import describe_machine

import worldloom as wl
from worldloom.envs.locomotion.flagrun import define_flagrun
from worldloom.robots.physics import Physics
from worldloom.robots.warp.engine import WarpEngine


@dataclass
class Settings:
    """Measure worlds with robots against bare MuJoCo Warp."""

    device: str = "cuda:0"
    """The GPU."""
    worlds: tuple[str, ...] = ("LocomotionAnt-v0", "LocomotionHumanoid-v0", "Ant-v5", "Humanoid-v5")
    """Which worlds."""
    num_worlds: tuple[int, ...] = (1024, 4096, 8192, 32768)
    """Numbers of copies, or of humanoids with agents_per_world."""
    agents_per_world: tuple[int, ...] = ()
    """Instead of worlds: Flagrun with so many humanoids in each of its worlds, num_worlds of them in all."""
    steps: int = 50
    """Steps of a round."""
    rounds: int = 5
    """Rounds of each side; the median counts."""
    warm_up: int = 100
    """Steps with random actions before the first round."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class RobotRate:
    """One row: environment steps per second, their ratio, and bytes of the GPU's memory per world."""

    world: str
    agents: int
    num_worlds: int
    world_steps_per_second: float
    bare_steps_per_second: float
    ratio: float
    bytes_per_world: float


def seconds(call: Callable[[], None], steps: int) -> float:
    """Seconds of ``steps`` calls, waited for."""
    wp.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        call()
    wp.synchronize()
    return time.perf_counter() - start


def bare_step(physics: Physics, engine: WarpEngine) -> Callable[[], None]:
    """A recorded graph of the substeps alone."""
    forces = any(name in physics.names for name in ("cfrc_ext", "cfrc_int", "cacc"))
    with wp.ScopedDevice(engine.device), wp.ScopedCapture() as captured:
        for _ in range(physics.substeps):
            engine.mjw.step(engine.model, engine.data)
        if forces:
            engine.mjw.rne_postconstraint(engine.model, engine.data)
    return lambda: wp.capture_launch(captured.graph)


def measure(world: wl.Definition, num_worlds: int, settings: Settings) -> RobotRate:
    """Both rates of one world."""
    free = torch.cuda.mem_get_info()[0]
    simulation = wl.Simulation(world, num_worlds, settings.device, seed=0)
    ((kind, agents),) = simulation.definition.entities.items()
    actions = simulation[kind].action.torch()
    physics = next(launch.physics for launch in simulation.definition.launches if hasattr(launch, "physics"))
    for _ in range(settings.warm_up):
        simulation.step(torch.rand_like(actions) * 2.0 - 1.0)
    action = torch.rand_like(actions) * 2.0 - 1.0
    used = free - torch.cuda.mem_get_info()[0]
    bare = bare_step(physics, physics._engines[simulation])
    whole, alone = [], []
    for _ in range(settings.rounds):
        whole.append(seconds(lambda: simulation.step(action), settings.steps))
        alone.append(seconds(bare, settings.steps))
        simulation.reset()
        for _ in range(settings.warm_up):
            simulation.step(torch.rand_like(actions) * 2.0 - 1.0)
    count = num_worlds * settings.steps
    rates = [count / statistics.median(times) for times in (whole, alone)]
    return RobotRate(world.id, agents, num_worlds, *rates, rates[0] / rates[1], used / num_worlds)


def main(settings: Settings) -> None:
    console, rows = Console(), []
    table = Table("world", "worlds", "steps/s", "agents/s", "bare MuJoCo Warp", "ratio", "kB/world")
    worlds = [wl.definition(id) for id in settings.worlds]
    if settings.agents_per_world:
        worlds = [define_flagrun(f"Flagrun{agents}-bench", agents) for agents in settings.agents_per_world]
    for world in worlds:
        agents = sum(world.entities.values())
        for count in settings.num_worlds:
            num_worlds = count // agents
            row = measure(world, num_worlds, settings)
            rows.append(row)
            whole, bare = row.world_steps_per_second, row.bare_steps_per_second
            rates = (f"{whole:.3g}", f"{agents * whole:.3g}", f"{bare:.3g}", f"{row.ratio:.3f}")
            table.add_row(world.id, f"{num_worlds:,}", *rates, f"{row.bytes_per_world / 1e3:.1f}")
            gc.collect()
    console.print(table)
    if settings.out is not None:
        machine = describe_machine(wp.get_device(settings.device))
        settings.out.write_text(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
