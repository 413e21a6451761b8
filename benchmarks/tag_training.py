"""A2C on Tag end to end: world steps per second of rollouts and updates, as in WarpDrive's paper.

python benchmarks/tag_training.py --device cuda:0 --out tag_training.json
python benchmarks/tag_training.py --device cuda:0 --cases continuous-45 --precision bf16 --shared
python benchmarks/tag_training.py --device cuda:0 --shared --peers warpdrive.json     # beside WarpDrive, same machine
python benchmarks/tag_training.py --device cpu --worlds 8 --num-steps 4 --cases grid-5 --iterations 2 --rounds 1

The settings are the published ones: 2,000 worlds, rollouts of 100 steps, one Adam step per rollout. On the grid,
taggers and runner share a policy with two layers of 32 units. In continuous Tag each kind has one with two layers of
256 units, and a player observes the ten nearest others, or all if there are fewer. 820 agents in 2,000 worlds of
continuous Tag exceed the memory of the paper's GPU. Published figures are those of WarpDrive's paper on an A100 (arXiv
2108.13976); --peers adds what benchmarks/peers/warpdrive_tag.py measured.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from peers.peer import Published, read_rates
from run import describe_machine, make_console, show
from tag import Case, continuous, grid

from worldloom.core.base.device import resolve
from worldloom.learn import A2C, A2CConfig, Callback, PolicyConfig, PolicyGroup
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

CASES: dict[str, Case] = {
    "grid-5": grid(5),
    "grid-1000": grid(1000),
    "continuous-5": continuous(5),
    "continuous-45": continuous(45),
    "continuous-820": continuous(820),
}
PUBLISHED: Published = {
    "paper, A100": {("grid", 5): 1.3e6, ("grid", 1000): 5.8e5, ("continuous", 5): 5.7e5, ("continuous", 45): 1.5e5}
}
"""World steps per second of 2,000 worlds by source, then by the world and its agents."""


@dataclass
class Settings:
    """Measure how fast A2C trains in Tag."""

    device: str = "auto"
    """Where to train: cpu, cuda:0, or auto."""
    cases: tuple[Literal["grid-5", "grid-1000", "continuous-5", "continuous-45", "continuous-820"], ...] = tuple(CASES)
    """What to train in."""
    worlds: int = 2000
    """Worlds of the batch."""
    num_steps: int = 100
    """Steps of a roll-out."""
    hidden: tuple[int, ...] = ()
    """Units of each layer; none for those of the case."""
    shared: bool = False
    """Let actor and critic share all layers but the last, as WarpDrive's do."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Numbers in the networks' products."""
    iterations: int = 5
    """Iterations of each round."""
    rounds: int = 3
    """Rounds, of which the median counts."""
    peers: Path | None = None
    """Figures of benchmarks/peers/warpdrive_tag.py (JSON), shown beside the published ones."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class TrainingRate:
    """One row of the table.

    Attributes:
        samples_per_second: World steps per second times the agents.
        rollout, update: Shares of the device's time.
        first_iterations_s: Seconds from the making of the trainer to the end of two iterations: compiling, recording.
        gigabytes: Memory of the device in use after the training, of whomever.
    """

    case: str
    agents: int
    worlds: int
    num_steps: int
    world_steps_per_second: float
    samples_per_second: float
    milliseconds_per_iteration: float
    rollout: float
    update: float
    first_iterations_s: float
    gigabytes: float


SHOWN = {
    "case": "case",
    "num_steps": "T",
    "world_steps_per_second": "steps/s",
    "samples_per_second": "samples/s",
    "milliseconds_per_iteration": "ms",
    "rollout": "roll-out",
    "update": "update",
    "gigabytes": "GB",
}
"""What is printed of a row, and above it; the file has all of it."""


class Shares(Callback):
    """Notes where the time of the last iteration went."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.last = progress.shares


def make_trainer(case: Case, settings: Settings, device: str) -> A2C:
    """The trainer of one case: published discount, step sizes, weights and norms."""
    on_grid = case.world == "grid"
    config = A2CConfig(
        num_envs=settings.worlds,
        num_steps=settings.num_steps,
        device=device,
        gamma=0.98,
        learning_rate=1e-3,
        value_weight=1.0,
        entropy_weight=0.05,
        max_gradient_norm=3.0 if on_grid else 0.5,
        precision=settings.precision,
        policy=PolicyConfig(
            hidden=settings.hidden or ((32, 32) if on_grid else (256, 256)), activation="relu", shared=settings.shared
        ),
    )
    policy_groups = (
        {"player": PolicyGroup("Tagger,Runner")}
        if on_grid
        else {"tagger": PolicyGroup("Tagger"), "runner": PolicyGroup("Runner")}
    )
    return A2C(case.definition(), config, policy_groups=policy_groups)


def learn(trainer: A2C, iterations: int, callback: Callback) -> float:
    """World steps per second over ``iterations`` iterations."""
    start, before = _now(trainer.device), trainer.steps
    trainer.learn(before + iterations * trainer.config.num_steps * trainer.config.num_envs, callback)
    return (trainer.steps - before) / (_now(trainer.device) - start)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _gigabytes(device: torch.device) -> float:
    if device.type != "cuda":
        return 0.0
    free, total = torch.cuda.mem_get_info(device)
    return (total - free) / 1e9


def measure(name: str, settings: Settings, device: str) -> TrainingRate:
    """Train for two iterations, then time the rounds."""
    case, shares = CASES[name], Shares()
    start = time.perf_counter()
    trainer = make_trainer(case, settings, device)
    learn(trainer, 2, shares)
    first = time.perf_counter() - start
    rate = statistics.median(learn(trainer, settings.iterations, shares) for _ in range(settings.rounds))
    steps, worlds, agents = trainer.config.num_steps, trainer.config.num_envs, case.agents
    used = _gigabytes(trainer.device)
    each = steps * worlds / rate
    found = TrainingRate(
        name,
        agents,
        worlds,
        steps,
        rate,
        rate * agents,
        each * 1e3,
        shares.last.get("roll-out", 0.0),
        shares.last.get("update", 0.0),
        first,
        used,
    )
    trainer.simulation.close()
    return found


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console, figures = make_console(), PUBLISHED | read_rates(settings.peers, "training")
    results: dict[str, Any] = {
        "machine": describe_machine(device),
        "device": device.alias,
        "torch": torch.__version__,
        "training": [],
        "against": [],
    }
    results["settings"] = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(settings).items()}
    console.print(results["machine"])
    for name in settings.cases:
        row = measure(name, settings, device.alias)
        results["training"].append(asdict(row))
        console.print(f"{name}: {row.world_steps_per_second:.3g} world steps/s, {row.gigabytes:.1f} GB")
        key = CASES[name].world, CASES[name].agents
        for source, published in ((source, rates[key]) for source, rates in figures.items() if key in rates):
            times = row.world_steps_per_second / published
            results["against"].append({"case": name, "source": source, "published": published, "times": times})
        if settings.out is not None:
            settings.out.write_text(
                json.dumps(results, indent=1)
            )  # what is known so far, should time or memory run out
        gc.collect()  # the trainer of this case, so that the next has the memory
        if device.is_cuda:
            torch.cuda.empty_cache()
    show(console, f"A2C on Tag, {settings.worlds:,} worlds, {settings.precision}", results["training"], SHOWN)
    if results["against"]:
        show(console, f"Against WarpDrive (figures of 2,000 worlds; here {settings.worlds:,})", results["against"])


if __name__ == "__main__":
    main(tyro.cli(Settings))
