"""Gymnasium's MuJoCo tasks on the CPU: environment steps per second of worldloom and EnvPool in one run.

python benchmarks/robots_cpu.py --out robots_cpu.json

Both step the same number of environments with the same random actions, resets included, on all cores, in alternating
rounds. EnvPool runs its synchronous interface with one thread per core.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import envpool
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import worldloom as wl
from worldloom.core.base.shards import num_cores


@dataclass
class Settings:
    """Compare environment steps per second with EnvPool's."""

    tasks: tuple[str, ...] = ("Ant-v5", "HalfCheetah-v5", "Humanoid-v5")
    """Which tasks."""
    num_envs: int = 64
    """Environments."""
    steps: int = 100
    """Steps of all environments in a round."""
    rounds: int = 7
    """Rounds of each side; the median counts."""
    warm_up: int = 50
    """Steps before the first round, so that robots have fallen or run as they do later."""
    out: Path | None = None
    """A file for the figures as JSON."""


def rate(step: Callable[[np.ndarray], Any], actions: np.ndarray) -> float:
    """Environment steps per second of ``step`` over ``actions`` [steps, num_envs, size]."""
    start = time.perf_counter()
    for action in actions:
        step(action)
    return actions.shape[0] * actions.shape[1] / (time.perf_counter() - start)


def main(settings: Settings) -> None:
    console, rows = Console(), []
    table = Table("task", "worldloom, steps/s", "EnvPool, steps/s", "ratio")
    for task in settings.tasks:
        ours = wl.make(task, num_envs=settings.num_envs, seed=0)
        theirs = envpool.make(task, env_type="gymnasium", num_envs=settings.num_envs, num_threads=num_cores(), seed=0)
        ours.reset()
        theirs.reset()
        space, generator = ours.single_action_space, np.random.default_rng(0)
        shape = (settings.warm_up + settings.steps, settings.num_envs, *space.shape)
        actions = generator.uniform(space.low, space.high, shape).astype(np.float32)
        envpool_actions = actions.astype(theirs.action_space.dtype)
        for step, sequence in ((ours.step, actions), (theirs.step, envpool_actions)):
            rate(step, sequence[: settings.warm_up])
        rates: dict[str, list[float]] = {"worldloom": [], "envpool": []}
        for _ in range(settings.rounds):
            rates["worldloom"].append(rate(ours.step, actions[settings.warm_up :]))
            rates["envpool"].append(rate(theirs.step, envpool_actions[settings.warm_up :]))
        medians = {side: statistics.median(values) for side, values in rates.items()}
        ratio = statistics.median(a / b for a, b in zip(rates["worldloom"], rates["envpool"], strict=True))
        table.add_row(task, f"{medians['worldloom']:,.0f}", f"{medians['envpool']:,.0f}", f"{ratio:.2f}")
        rows.append({"task": task, **rates, "ratio": ratio})
    console.print(table)
    if settings.out is not None:
        settings.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
