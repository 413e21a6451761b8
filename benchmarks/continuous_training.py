"""SAC and TD3 in continuous worlds: learning curves, and steps and optimizer steps per second.

python benchmarks/continuous_training.py --worlds HalfCheetah-v5 Ant-v5 --device cuda:0 --limit 240 --out curves.json

Every training stops after ``limit`` seconds or ``steps`` environment steps. The curve has the mean return
of recent training episodes at equal numbers of steps; the final policy plays whole episodes with deterministic actions
in other worlds. Rates are those from the first update on.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from rich.console import Console
from rich.table import Table

from worldloom.core.simulation import Simulation
from worldloom.learn import Callback, Progress, Trainer, algorithm, evaluate, make_actors, tuned_config
from worldloom.learn.config.tuned_defaults import build_config

PLAIN: dict[str, Any] = {"learning_starts": 10_000, "replay_capacity": 1_000_000}
"""Plain settings of MuJoCo's tasks, beside the defaults of the algorithms."""
ROBOTS: dict[str, Any] = {
    **PLAIN,
    "policy.hidden": (256, 256),
    "policy.normalize_observations": True,
}
"""Settings of MuJoCo's tasks on any device; they are not tuned per task."""
ROBOTS_ON_GPU: dict[str, Any] = {
    "num_envs": 1024,
    "learning_starts": 20_480,
    "batch_size": 8192,
    "updates": 4,
    "critic_hidden": (512, 512),
    "policy.hidden": (512, 256),
    "tau": 0.01,
}
"""Further settings of MuJoCo's tasks on a GPU: many worlds and large batches, as in FastTD3 and FastSAC."""
EXPLORATION_ON_GPU = {"sac": {}, "td3": {"exploration_noise": 0.4, "exploration_noise_min": 0.01}}
"""Exploration of MuJoCo's tasks on a GPU."""
EVALUATION_SEED = 10_000


@dataclass
class Settings:
    """Train with SAC or TD3, and report curves and rates."""

    worlds: tuple[str, ...] = ("Pendulum-v1", "MountainCarContinuous-v0", "HalfCheetah-v5", "Ant-v5")
    """The worlds."""
    algos: tuple[Literal["sac", "td3"], ...] = ("sac", "td3")
    """The algorithms."""
    seeds: tuple[int, ...] = (0,)
    """Seeds, one training each."""
    device: str = "cpu"
    """The device."""
    limit: float = 120.0
    """Seconds of each training."""
    steps: int = 0
    """Environment steps of each training; 0 for the tuned number of a world that has one, else 5,000,000."""
    num_envs: int = 0
    """Number of worlds; 0 for the default."""
    batch_size: int = 0
    """Minibatch size; 0 for the default."""
    updates: int = 0
    """Optimizer steps per update; 0 for the default."""
    atoms: int = 0
    """Atoms of a distributional critic; 0 for expected returns."""
    v_max: float = 250.0
    """Bound of the distribution of returns, with atoms: from -v_max to v_max."""
    plain: bool = False
    """Train MuJoCo's tasks with 256 and 256 units, tau 0.005 and observations as they are, on any device."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Precision of the networks."""
    points: int = 20
    """Points of a curve."""
    episodes: int = 32
    """Episodes of the final evaluation."""
    out: Path | None = None
    """A file for the figures as JSON."""


class Curve(Callback):
    """The return at equal numbers of steps; the time of the first update; stops at the limit.

    ``on_point`` is called after each point, so that a training that is interrupted leaves its curve.
    """

    def __init__(self, limit: float, every: int, on_point: Callable[[], None]) -> None:
        self.limit, self.every, self.on_point = limit, every, on_point
        self.points: list[tuple[int, float, float]] = []
        self.first_update: tuple[float, int, int] | None = None
        self.last = (0.0, 0, 0)
        self._started = time.perf_counter()

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        seconds = time.perf_counter() - self._started
        self.last = seconds, progress.steps, progress.iteration
        if self.first_update is None and math.isfinite(progress.metrics["loss/value"]):
            self.first_update = self.last
        returned = progress.metrics["episode/return"]
        if math.isfinite(returned) and progress.steps >= self.every * (len(self.points) + 1):
            self.points.append((progress.steps, round(returned, 3), round(seconds, 2)))
            self.on_point()
        if seconds >= self.limit:
            trainer.stop()


def make_config(world: str, algo: str, seed: int, settings: Settings) -> Any:
    """The settings of a training."""
    kind = algorithm(algo)[1]
    if world in ("Pendulum-v1", "MountainCarContinuous-v0"):
        config: Any = tuned_config(world, algo, kind, settings.device)
    else:
        on_gpu = settings.device.startswith("cuda") and not settings.plain
        further = {**ROBOTS_ON_GPU, **EXPLORATION_ON_GPU[algo]} if on_gpu else {}
        given = PLAIN if settings.plain else ROBOTS
        config = build_config(kind, {**given, "total_steps": 5_000_000, **further})
    numbers = {"num_envs": settings.num_envs, "batch_size": settings.batch_size, "updates": settings.updates}
    changes: dict[str, Any] = {name: value for name, value in numbers.items() if value}
    if settings.steps:
        changes["total_steps"] = settings.steps
    if settings.atoms:
        changes |= {"atoms": settings.atoms, "v_min": -settings.v_max, "v_max": settings.v_max}
    return replace(config, seed=seed, device=settings.device, precision=settings.precision, **changes)


def train(world: str, algo: str, seed: int, settings: Settings, keep: Callable[[dict[str, Any]], None]) -> None:
    """One training; ``keep`` takes its figures after each point of the curve, and after the evaluation."""
    config = make_config(world, algo, seed, settings)
    trainer: Any = algorithm(algo)[0](world, config)

    def figures() -> dict[str, Any]:
        (until, last, iterations), (since, first, iteration) = curve.last, curve.first_update or curve.last
        spent = max(until - since, 1e-9)
        return {
            "world": world,
            "algo": algo,
            "seed": seed,
            "device": str(trainer.device),
            "num_envs": config.num_envs,
            "batch_size": config.batch_size,
            "updates_per_iteration": config.updates,
            "steps": last,
            "seconds": round(until, 2),
            "steps_per_second": round((last - first) / spent, 1),
            "updates_per_second": round((iterations - iteration) * config.updates / spent, 1),
            "return_in_training": trainer.score if math.isfinite(trainer.score) else None,
            "return": None,
            "least_return": None,
            "curve": curve.points,
        }

    curve = Curve(settings.limit, max(1, config.total_steps // settings.points), lambda: keep(figures()))
    trainer.learn(callbacks=[curve])
    if trainer.device.type == "cuda":
        torch.cuda.synchronize()
    keep(figures())
    with Simulation(world, settings.episodes, config.device, seed=EVALUATION_SEED + seed) as worlds:
        result = evaluate(worlds, make_actors(trainer.learners, worlds), settings.episodes)
    keep({**figures(), "return": result.mean_return, "least_return": result.least_return})


def main(settings: Settings) -> None:
    torch.set_num_threads(1)
    console = Console(width=120)
    table = Table("world", "algorithm", "seed", "steps", "seconds", "steps/s", "updates/s", "return", "in training")
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for world, algo, seed in itertools.product(settings.worlds, settings.algos, settings.seeds):

        def keep(run: dict[str, Any], key: tuple[str, str, int] = (world, algo, seed)) -> None:
            found[key] = run
            if settings.out is not None:
                plain = {name: str(value) for name, value in asdict(settings).items()}
                settings.out.write_text(json.dumps({"settings": plain, "runs": [*found.values()]}, indent=1))

        train(world, algo, seed, settings, keep)
        run = found[world, algo, seed]
        names = ("steps_per_second", "updates_per_second", "return", "return_in_training")
        table.add_row(
            *(world, algo, f"{seed}", f"{run['steps']:,}", f"{run['seconds']:.1f}"),
            *("" if run[name] is None else f"{run[name]:,.1f}" for name in names),
        )
        console.print(f"{world} {algo} seed {seed}: {run['return']:.1f} after {run['seconds']:.1f} s")
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Settings))
