"""Overcooked and Hanabi learned by self-play: seconds of training until evaluated episodes reach a score.

python benchmarks/games_training.py --device cuda:0 --out overcooked_training.json
python benchmarks/games_training.py --device cuda:0 --ids Overcooked-v0:layout=coordination_ring,old_dynamics=true
python benchmarks/games_training.py --device cuda:0 --ids Hanabi-v0 --goal 20 --every 20 --greedy --set num_envs=8192

Trains with the default settings of ``worldloom train``, changed by ``--set``, once per seed. Every few iterations the
policy plays whole episodes in worlds of their own; their time is not counted. The score is the mean sparse reward of an
episode of Overcooked (20 per soup, without shaped rewards), or the mean score of a game of Hanabi. Seconds begin with
the first iteration, and include the recording of CUDA graphs; ``start`` is the time before, with the compilation of
kernels where they are not cached.
"""

from __future__ import annotations

import ast
import json
import math
import sys
import time
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from run import describe_machine, show

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.learn import PPO, Callback, PPOConfig, Progress
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import evaluate
from worldloom.learn.training.trainer import Trainer

EVALUATION_SEED = 1_000_000


@dataclass
class Settings:
    """Train in games, and report when a score was reached."""

    ids: tuple[str, ...] = ("Overcooked-v0:old_dynamics=true",)
    """The games."""
    goal: float = 200.0
    """The score at which a training stops."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds, one training each."""
    set: tuple[str, ...] = ()
    """Settings of the training, as in num_envs=512 or policy.hidden=(64,64)."""
    config: tuple[str, ...] = ()
    """Configuration of the worlds in training, as in shaping_episodes=20."""
    every: int = 5
    """Iterations between two evaluations."""
    episodes: int = 1000
    """Episodes of an evaluation."""
    greedy: bool = False
    """Evaluate with the most likely actions, instead of sampled ones."""
    device: str = "auto"
    """Where to train."""
    limit: float = 600.0
    """Seconds of training after which it stops without the goal."""
    keep_on: bool = False
    """Do not stop at the goal."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Result:
    """One training.

    Attributes:
        start: Seconds before the first iteration.
        seconds, steps: Training time and world steps until the goal was reached; None if it was not.
        score: Mean score of the last evaluation; ``best`` of all.
        total_seconds, total_steps: Those of the whole training.
        curve: Seconds, steps and score of each evaluation.
    """

    id: str
    seed: int
    start: float = 0.0
    seconds: float | None = None
    steps: int | None = None
    score: float = math.nan
    best: float = -math.inf
    total_seconds: float = 0.0
    total_steps: int = 0
    curve: list[tuple[float, int, float]] = field(default_factory=list)


class Scoring(Callback):
    """Evaluates the policy, with the clock stopped."""

    def __init__(self, settings: Settings, result: Result, worlds: wl.Simulation) -> None:
        self.settings, self.result, self.worlds = settings, result, worlds
        self.seconds, self.resumed = 0.0, 0.0

    def on_start(self, trainer: Trainer) -> None:
        self.resumed = time.perf_counter()

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if progress.iteration % self.settings.every == 0:
            self.evaluate(trainer)
            reached = self.result.seconds is not None and not self.settings.keep_on
            if reached or self.seconds >= self.settings.limit:
                trainer.stop()

    def on_end(self, trainer: Trainer) -> None:
        if self.result.total_steps < trainer.steps:
            self.evaluate(trainer)

    def evaluate(self, trainer: Trainer) -> None:
        _synchronize(trainer.device)
        self.seconds += time.perf_counter() - self.resumed
        self.worlds.reset(seeds=EVALUATION_SEED)
        actors = make_actors(trainer.learners, self.worlds, stochastic=not self.settings.greedy, seed=EVALUATION_SEED)
        score, result = evaluate(self.worlds, actors, self.settings.episodes).mean_return, self.result
        result.curve.append((self.seconds, trainer.steps, score))
        result.score, result.best = score, max(score, result.best)
        result.total_seconds, result.total_steps = self.seconds, trainer.steps
        if result.seconds is None and score >= self.settings.goal:
            result.seconds, result.steps = self.seconds, trainer.steps
        print(f"{self.seconds:.1f} s, {trainer.steps:,} steps: {score:.2f}", file=sys.stderr, flush=True)
        _synchronize(trainer.device)
        self.resumed = time.perf_counter()


def train(settings: Settings, id: str, seed: int) -> Result:
    """Train once."""
    began, result = time.perf_counter(), Result(id, seed)
    config = replace(training_config(settings, id), seed=seed)
    episode = {"shaping": 0.0} if id.startswith("Overcooked") else {}
    with (
        wl.Simulation(id, config.num_envs, config.device, seed=seed, autoreset=PPO.autoreset) as worlds,
        wl.Simulation(id, min(1024, settings.episodes), config.device, seed=EVALUATION_SEED, config=episode) as judged,
    ):
        for name, value in parse(settings.config).items():
            worlds.set_config(name, value)
        trainer = PPO(worlds, config)
        scoring = Scoring(settings, result, judged)
        result.start = time.perf_counter() - began
        trainer.learn(callbacks=scoring)
    return result


def training_config(settings: Settings, id: str) -> PPOConfig:
    """The tuned settings of a game with those of the command line."""
    tuned = tuned_config(id, "ppo", PPOConfig, settings.device)
    values, whole = parse(settings.set), {one.name for one in fields(tuned) if one.type == "int"}
    plain = {name: int(value) if name in whole else value for name, value in values.items() if "." not in name}
    policy = {name.removeprefix("policy."): value for name, value in values.items() if "." in name}
    changed = replace(tuned, device=settings.device, policy=replace(tuned.policy, **policy), **plain)
    assert isinstance(changed, PPOConfig)
    return changed


def parse(assignments: tuple[str, ...]) -> dict[str, Any]:
    """Values by name of texts such as ``num_envs=512``; what is no literal is a text."""
    pairs = dict(assignment.split("=", 1) for assignment in assignments)
    return {name: _literal(text) for name, text in pairs.items()}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _synchronize(device: Any) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def main(settings: Settings) -> None:
    console = Console(width=160)
    device, _ = resolve(settings.device)
    results = []
    for id in settings.ids:
        for seed in settings.seeds:
            result = train(settings, id, seed)
            results.append(result)
            reached = "not reached" if result.seconds is None else f"{result.seconds:.2f} s, {result.steps:,} steps"
            rate = result.total_steps / result.total_seconds
            console.print(
                f"{id} seed {seed}: {settings.goal:g} {reached}; last {result.score:.1f}, best {result.best:.1f}, "
                f"{rate:,.3g} steps/s",
                soft_wrap=True,
            )
    heads = {name: name.replace("_", " ") for name in asdict(results[0]) if name != "curve"}
    show(console, f"training until a mean score of {settings.goal:g}", [asdict(one) for one in results], heads)
    if settings.out is not None:
        document = {"what": "training", "machine": describe_machine(device), "goal": settings.goal}
        document |= {"set": settings.set, "config": settings.config, "rows": [asdict(one) for one in results]}
        settings.out.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
