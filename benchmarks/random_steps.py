"""Microseconds per step of any worlds with random actions: in a graph of several steps, and through the public calls.

python benchmarks/random_steps.py --device cuda:0 --ids Catch-v0 FrozenLake8x8-v1 --worlds 65536 1048576
python benchmarks/random_steps.py --device cpu --worlds 64 --seconds 0.2

*graph*: several steps recorded as one CUDA graph (on the CPU one recording per thread), each with a kernel that draws
the actions: the engine's own launches, as in a trainer's rollout. *draws*: the part of it that draws the actions.
*step*: ``Simulation.step``, one call per step after one launch that draws the actions. *env*: ``step`` of
``wl.make(..., env_type="torch")`` with a tensor of actions, for worlds with one array of actions. All step the same
worlds in alternating rounds. *limit*: the bytes that the kernels of the step move, at the bandwidth of a copy.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from gymnasium.spaces import Dict
from random_player import RandomPlayer, step_seconds
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.explain import step_bytes
from worldloom.core.measure.timing import copy_bandwidth


@dataclass
class Settings:
    """Measure steps of worlds with random actions."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    ids: tuple[str, ...] = ("CartPole-v1",)
    """Worlds whose actions are choices."""
    worlds: tuple[int, ...] = (4096,)
    """Numbers of worlds."""
    steps: int = 10
    """Steps of the graph."""
    seconds: float = 1.0
    """How long each of the measurements runs."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class StepTime:
    """One row: microseconds of a step of all worlds."""

    id: str
    worlds: int
    graph: float
    draws: float
    step: float
    env: float | None
    limit: float


def measure(id: str, worlds: int, settings: Settings, device: str, bandwidth: float) -> StepTime:
    with wl.make(id, worlds, device=device, env_type="torch", seed=0) as env:
        env.reset()
        player = RandomPlayer(env.simulation, settings.steps)
        player.run(max(1, 100 // settings.steps))  # into the middle of the episodes
        timed = step_seconds(player, settings.seconds, None if isinstance(env.action_space, Dict) else env)
        moved = step_bytes(env.simulation.program) * worlds
    through_env = None if timed.env is None else timed.env * 1e6
    engine = timed.graph * 1e6, timed.draws * 1e6, timed.public * 1e6
    return StepTime(id, worlds, *engine, through_env, moved / bandwidth * 1e6)


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console = make_console()
    results: dict[str, Any] = {"machine": describe_machine(device), "device": device.alias, "rows": []}
    console.print(results["machine"])
    bandwidth = results["copy_bytes_per_second"] = copy_bandwidth(device)
    for id in settings.ids:
        for worlds in settings.worlds:
            results["rows"].append(asdict(measure(id, worlds, settings, device.alias, bandwidth)))
            if settings.out is not None:
                settings.out.write_text(json.dumps(results, indent=1))
    show(console, f"Microseconds per step, graphs of {settings.steps} steps", results["rows"])


if __name__ == "__main__":
    main(tyro.cli(Settings))
