"""Which worlds the algorithms solve with tuned settings: final return, steps and time for every seed, and the curves.

python benchmarks/solve.py --algo ppo --plot docs/algorithms/ppo.svg
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from rich.table import Table

from worldloom.core.simulation import Simulation
from worldloom.learn import Callback, Progress
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import evaluate
from worldloom.learn.training.trainer import Trainer

JUDGED_FROM = 10_000
"""The seed that evaluations begin with: other episodes than those of the training."""


@dataclass(frozen=True)
class Case:
    """A world to be solved.

    Attributes:
        world: Its id.
        goal: The mean return at which it counts as solved.
        config: Values of its configuration.
    """

    world: str
    goal: float
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.world + "".join(f", {name}={value}" for name, value in self.config.items())


CARTPOLE = Case("CartPole-v1", 475.0)
CONTINUOUS = [Case("MountainCarContinuous-v0", 90.0), Case("Pendulum-v1", -200.0)]
CASES = {
    "ppo": [
        CARTPOLE,
        Case("Acrobot-v1", -100.0),
        *CONTINUOUS,
        Case("FrozenLake-v1", 1.0, {"is_slippery": False}),
    ],
    "a2c": [CARTPOLE],
    "vtrace": [CARTPOLE],
    "dqn": [CARTPOLE],
    "sac": CONTINUOUS,
    "td3": CONTINUOUS,
}


@dataclass
class Settings:
    """Train with the tuned settings and judge what came of it."""

    algo: str = "ppo"
    """The algorithm."""
    worlds: tuple[str, ...] = ()
    """Which of its worlds; all of them unless named."""
    seeds: int = 5
    """Trainings in each world."""
    episodes: int = 100
    """Episodes that each policy is judged by, with its likeliest actions."""
    device: str = "cpu"
    """Where to train."""
    threads: int = 1
    """Threads of PyTorch; one is fastest for networks as small as these."""
    plot: Path | None = None
    """A picture of the curves, such as ppo.svg."""
    out: Path | None = None
    """A file for the figures as JSON."""


class Curve(Callback):
    """Keeps the return over the steps."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        mean = progress.metrics["episode/return"]
        if math.isfinite(mean):
            self.points.append((progress.steps, mean))


def train(case: Case, algo: str, seed: int, settings: Settings) -> dict[str, Any]:
    """Train once; returns what came of it."""
    trainer_of, kind = algorithm(algo)
    config = replace(tuned_config(case.world, algo, kind), seed=seed, device=settings.device)
    curve = Curve()
    with Simulation(
        case.world, config.num_envs, config.device, seed=seed, autoreset=trainer_of.autoreset, config=case.config
    ) as worlds:
        trainer: Any = trainer_of(worlds, config)
        trainer.learn(callbacks=[curve])
        with Simulation(
            case.world, settings.episodes, config.device, seed=JUDGED_FROM + seed, config=case.config
        ) as judged:
            result = evaluate(judged, make_actors(trainer.learners, judged, epsilon=0.0), settings.episodes)
    return {
        "seed": seed,
        "return": result.mean_return,
        "least": result.least_return,
        "steps": trainer.steps,
        "seconds": trainer.seconds,
        "curve": curve.points,
    }


def draw(found: dict[str, list[dict[str, Any]]], cases: list[Case], algo: str, target: Path) -> None:
    """One panel per world, one line per seed."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    columns = min(3, len(cases))
    rows = math.ceil(len(cases) / columns)
    figure = Figure(figsize=(3.6 * columns + 0.4, 2.6 * rows + 0.3), layout="constrained")
    panels: Any = figure.subplots(rows, columns, squeeze=False)
    for panel, case in zip(panels.flat, cases, strict=False):
        for run in found[case.name]:
            kept = run["curve"][:: max(1, len(run["curve"]) // 150)]
            panel.plot(*zip(*kept, strict=True), linewidth=1.0, alpha=0.8)
        panel.axhline(case.goal, color="black", linestyle="--", linewidth=0.8, alpha=0.6)
        panel.set_title(case.name, fontsize=9)
        panel.set(xlabel="steps", ylabel="return while training")
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
        panel.grid(alpha=0.3)
    for panel in panels.flat[len(cases) :]:
        panel.set_axis_off()
    figure.suptitle(f"{algo}: {len(next(iter(found.values())))} seeds; broken line: solved", fontsize=10)
    figure.savefig(target)


def main(settings: Settings) -> None:
    torch.set_num_threads(settings.threads)
    console = Console(width=120)
    cases = [case for case in CASES[settings.algo] if not settings.worlds or case.world in settings.worlds]
    table = Table("world", "solved at", "seed", "return", "least", "steps", "seconds")
    found: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        found[case.name] = []
        for seed in range(settings.seeds):
            run = train(case, settings.algo, seed, settings)
            found[case.name].append(run)
            table.add_row(
                case.name,
                f"{case.goal:g}",
                f"{seed}",
                f"{run['return']:.1f}",
                f"{run['least']:.1f}",
                f"{run['steps']:,}",
                f"{run['seconds']:.1f}",
            )
            console.print(f"{case.name} seed {seed}: {run['return']:.1f} after {run['seconds']:.1f} s")
    console.print(table)
    if settings.plot is not None:
        draw(found, cases, settings.algo, settings.plot)
    if settings.out is not None:
        settings.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main(tyro.cli(Settings))
