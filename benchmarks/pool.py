"""The process pool against Gymnasium's AsyncVectorEnv, and its asynchronous mode against its synchronous one.

python benchmarks/pool.py                              # Acrobot-v1, and LunarLander-v3 where Box2D is installed
python benchmarks/pool.py --ids Acrobot-v1 --rounds 9

Rounds alternate between the candidates, so that load on the machine affects all of them. The table shows the median of
the rounds, and the median of the ratios within a round.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import tyro
from gymnasium.vector import AsyncVectorEnv
from rich.console import Console
from rich.table import Table

from worldloom.vector.process_pool.pool import ProcessPool


@dataclass
class Settings:
    """Measure the process pool."""

    ids: list[str] = field(
        default_factory=lambda: ["Acrobot-v1", *(["LunarLander-v3"] if importlib.util.find_spec("Box2D") else [])]
    )
    """Gymnasium environments to compare on."""
    num_envs: int = 64
    """Environments of each."""
    uneven_envs: int = 32
    """Environments whose steps take 1 to 10 ms, each with a worker of its own."""
    rounds: int = 7
    """Measurements of every candidate."""
    seconds: float = 1.0
    """How long one measurement runs."""


class Uneven(gymnasium.Env):
    """A step takes 1 to 10 ms at random, and no processor: like a simulator that runs elsewhere."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        time.sleep(self.np_random.uniform(0.001, 0.010))
        return np.zeros(4, np.float32), 0.0, False, False, {}


def rate(step: Callable[[], int], seconds: float) -> float:
    """Environment steps per second; ``step`` returns how many it took."""
    steps, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        steps += step()
    return steps / passed


def synchronous(env: Any) -> Callable[[], int]:
    """A step of all environments, with actions drawn beforehand."""
    env.reset(seed=0)
    actions = [env.action_space.sample() for _ in range(64)]

    def step() -> int:
        actions.append(actions.pop(0))
        env.step(actions[0])
        return env.num_envs

    return step


def asynchronous(pool: ProcessPool) -> Callable[[], int]:
    """New actions for the first batch that is finished."""
    pool.async_reset(seed=0)
    actions = np.zeros(pool.batch_size, np.int64)

    def step() -> int:
        pool.send(actions, pool.recv()[4]["env_id"])
        return pool.batch_size

    return step


def compare(title: str, candidates: dict[str, Callable[[], int]], settings: Settings, console: Console) -> None:
    """Rounds in turn; the first candidate is what the others are held against."""
    rates: dict[str, list[float]] = {name: [] for name in candidates}
    for step in candidates.values():
        rate(step, settings.seconds / 4)
    for _ in range(settings.rounds):
        for name, step in candidates.items():
            rates[name].append(rate(step, settings.seconds))
    base = rates[next(iter(rates))]
    table = Table(title=title)
    for column in ("", "steps per second", "ratio", "lowest", "highest"):
        table.add_column(column, justify="right" if column else "left")
    for name, measured in rates.items():
        ratios = [a / b for a, b in zip(measured, base, strict=True)]
        table.add_row(
            name, f"{median(measured):,.0f}", f"{median(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"
        )
    console.print(table)


def main(settings: Settings) -> None:
    console = Console()
    cores = len(os.sched_getaffinity(0))
    for name in settings.ids:
        theirs = AsyncVectorEnv([functools.partial(gymnasium.make, name)] * settings.num_envs)
        ours = ProcessPool(name, settings.num_envs)
        candidates = {"gymnasium AsyncVectorEnv": synchronous(theirs), "worldloom ProcessPool": synchronous(ours)}
        compare(f"{settings.num_envs} {name}, {cores} cores", candidates, settings, console)
        theirs.close()
        ours.close()
    count = settings.uneven_envs
    whole, quarter = (
        ProcessPool(Uneven, count, num_workers=count),
        ProcessPool(Uneven, count, batch_size=count // 4, num_workers=count),
    )
    candidates = {"synchronous": synchronous(whole), f"asynchronous, batch_size {count // 4}": asynchronous(quarter)}
    compare(f"{count} environments with steps of 1 to 10 ms, a worker for each", candidates, settings, console)
    whole.close()
    quarter.close()


if __name__ == "__main__":
    main(tyro.cli(Settings))
