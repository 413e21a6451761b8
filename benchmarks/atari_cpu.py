"""Atari on the CPU against EnvPool: 64 environments, 84 x 84 grey, frame stack 4, frame skip 4, in alternating rounds.

python benchmarks/atari_cpu.py --out atari_cpu.json
python benchmarks/atari_cpu.py --games Pong-v5 --envs 8 --seconds 4

Both get the same precomputed random actions through their vector environments, and have the same number of threads.
Frames are those of the console, four per step.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import envpool
import numpy as np
import tyro
from rich.console import Console
from run import describe_machine, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import NUM_ACTION_SETS, Run, median_rates

FRAMES = 4


@dataclass
class Settings:
    """Measure Atari on the CPU against EnvPool."""

    games: list[str] = field(default_factory=lambda: ["Pong-v5", "Breakout-v5", "SpaceInvaders-v5", "MsPacman-v5"])
    """The worlds."""
    envs: int = 64
    """Environments of a batch."""
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Threads of both."""
    seconds: float = 20.0
    """Seconds per game."""
    out: Path | None = None
    """A JSON file."""


def step_runner(env: Any, actions: list[np.ndarray]) -> Run:
    """Steps with ``actions`` in turn."""

    def run(steps: int) -> None:
        for number in range(steps):
            env.step(actions[number % len(actions)])

    env.reset()
    run(20)  # bring the games apart
    return run


def main(settings: Settings) -> None:
    """Measure, print and write."""
    console, rows = Console(), list[dict[str, Any]]()
    for game in settings.games:
        ours = wl.make(game, num_envs=settings.envs, device="cpu", num_threads=settings.threads, seed=0)
        theirs = envpool.make(game, env_type="gymnasium", num_envs=settings.envs, num_threads=settings.threads, seed=0)
        choices = np.random.default_rng(0).integers(0, theirs.action_space.n, (NUM_ACTION_SETS * 8, settings.envs))
        runs = {
            "worldloom": step_runner(ours, [*choices.astype(ours.action_space.dtype)]),
            "envpool": step_runner(theirs, [*choices.astype(np.int32)]),
        }
        rates = median_rates(runs, settings.seconds)
        frames = {name: rate * settings.envs * FRAMES for name, rate in rates.items()}
        rows.append({"game": game, **frames, "times": rates["worldloom"] / rates["envpool"]})
        console.print(rows[-1])
        ours.close()
        theirs.close()
    machine = describe_machine(resolve("cpu")[0])
    show(console, f"frames a second, {settings.envs} environments, {settings.threads} threads", rows)
    if settings.out is not None:
        settings.out.write_text(
            json.dumps(
                {"machine": machine, "envs": settings.envs, "threads": settings.threads, "games": rows}, indent=1
            )
            + "\n"
        )


if __name__ == "__main__":
    main(tyro.cli(Settings))
