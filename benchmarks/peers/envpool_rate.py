"""EnvPool alone: steps and frames per second of one task on this machine's CPU, synchronous or asynchronous.

pip install envpool==1.2.5 tyro
python benchmarks/peers/envpool_rate.py --task Pong-v5 --num-envs 64 --frame-skip 4
python benchmarks/peers/envpool_rate.py --task Pong-v5 --num-envs 768 --batch-size 256 --num-threads 256 --frame-skip 4

Random actions, drawn beforehand; episodes restart by themselves. With a batch size below the number of environments the
pool is asynchronous, as in EnvPool's paper: batches are received as environments finish, and sent back. Medians of
seven rounds after a warm-up. Comparisons with worldloom in one run: ``worldloom bench step ID --against envpool``,
benchmarks/atari_cpu.py and benchmarks/robots_cpu.py.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from peer import describe, require, write_rates

INSTALL = "pip install envpool==1.2.5 tyro"
ROUNDS = 7
ACTION_SETS = 8


@dataclass
class Settings:
    """Measure EnvPool."""

    task: str = "Pong-v5"
    """EnvPool's id of the task."""
    num_envs: int = 64
    """Environments."""
    batch_size: int | None = None
    """Environments of a batch; none for all of them, which is synchronous."""
    num_threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Threads of the pool."""
    frame_skip: int = 1
    """Frames of an environment step, by which the frames are counted; EnvPool's Atari games have 4."""
    seconds: float = 10.0
    """Approximate time of the measurement."""
    out: Path | None = None
    """A file for the figures as JSON."""


def batch_stepper(pool: Any, batch_size: int) -> Callable[[], None]:
    """A function that steps one batch."""
    space = pool.action_space
    space.seed(0)
    sets = [np.stack([space.sample() for _ in range(batch_size)]) for _ in range(ACTION_SETS)]
    if np.issubdtype(sets[0].dtype, np.integer):
        sets = [actions.astype(np.int32) for actions in sets]
    pool.async_reset()
    number = 0

    def step() -> None:
        nonlocal number
        number += 1
        pool.send(sets[number % ACTION_SETS], pool.recv()[-1]["env_id"])

    return step


def rate_of(step: Callable[[], None], batch_size: int, seconds: float) -> float:
    """Environment steps per second: the median of the rounds, after one that is not counted."""
    found = []
    for _ in range(ROUNDS + 1):
        start, batches = time.perf_counter(), 0
        while time.perf_counter() - start < seconds / (ROUNDS + 1):
            step()
            batches += 1
        found.append(batches * batch_size / (time.perf_counter() - start))
    return statistics.median(found[1:])


def main(settings: Settings) -> None:
    envpool = require("envpool", INSTALL)
    batch_size = settings.batch_size or settings.num_envs
    pool = envpool.make_gymnasium(
        settings.task, num_envs=settings.num_envs, batch_size=batch_size, num_threads=settings.num_threads, seed=0
    )
    rate = rate_of(batch_stepper(pool, batch_size), batch_size, settings.seconds)
    pool.close()
    processor = f"{platform.processor() or platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    machine = describe(processor, envpool=envpool.__version__)
    print(machine)
    print(
        f"{settings.task}, {settings.num_envs:,} environments, batches of {batch_size:,}, "
        f"{settings.num_threads} threads: "
        f"{rate:,.0f} steps/s, {rate * settings.frame_skip:,.0f} frames/s"
    )
    row = {
        "part": "steps",
        "world": settings.task,
        "agents": 1,
        "steps_per_second": rate,
        "num_envs": settings.num_envs,
    }
    frames = {"batch_size": batch_size, "frames_per_second": rate * settings.frame_skip}
    write_rates(settings.out, f"EnvPool {envpool.__version__}", machine, [row | frames])


if __name__ == "__main__":
    main(tyro.cli(Settings, description=__doc__))
