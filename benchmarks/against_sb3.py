"""Returns at equal samples: worldloom's PPO against Stable-Baselines3's with the same settings, each on its own worlds.

python benchmarks/against_sb3.py --out against_sb3.json

Stable-Baselines3 trains and is judged on Gymnasium's environments in a DummyVecEnv, worldloom on its own worlds of the same rules.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import stable_baselines3
import torch
import tyro
from rich.console import Console
from rich.table import Table
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from worldloom.core.simulation import Simulation
from worldloom.learn import PPO, PolicyConfig, PPOConfig
from worldloom.learn.actors import PolicyActor
from worldloom.learn.evaluate import evaluate
from worldloom.learn.seats import Seats

JUDGED_FROM = 10_000
"""The seed that evaluations begin with: other episodes than those of the training."""


@dataclass(frozen=True)
class Case:
    """A world, and the settings that both sides train with."""

    total_steps: int
    num_envs: int
    num_steps: int
    minibatches: int
    epochs: int
    learning_rate: float
    gamma: float
    lam: float
    half_range: float = 1.0
    """Half the range of the action's bounds. Worldloom's standard deviation is in these units, that of Stable-Baselines3 in the world's."""


CASES = {
    "CartPole-v1": Case(total_steps=65_536, num_envs=8, num_steps=128, minibatches=4, epochs=10, learning_rate=1e-3, gamma=0.98, lam=0.95),
    "Pendulum-v1": Case(total_steps=102_400, num_envs=4, num_steps=1024, minibatches=16, epochs=10, learning_rate=1e-3, gamma=0.9, lam=0.95, half_range=2.0),
}


@dataclass
class Settings:
    """Train with both libraries and compare the returns of the finished policies."""

    worlds: tuple[str, ...] = tuple(CASES)
    """Which worlds."""
    seeds: int = 5
    """Trainings of each library in each world."""
    episodes: int = 100
    """Episodes that each policy is judged by, with its likeliest actions."""
    out: Path | None = None
    """A file for the figures as JSON."""


def train_worldloom(world: str, case: Case, seed: int, episodes: int) -> tuple[float, float]:
    """The mean return of a policy trained with worldloom, and the seconds of its training."""
    config = PPOConfig(
        num_envs=case.num_envs,
        num_steps=case.num_steps,
        total_steps=case.total_steps,
        minibatches=case.minibatches,
        epochs=case.epochs,
        learning_rate=case.learning_rate,
        gamma=case.gamma,
        lam=case.lam,
        value_weight=1.0,  # of half the squared error; Stable-Baselines3 takes 0.5 of the whole
        seed=seed,
        device="cpu",
        policy=PolicyConfig(initial_std=1.0 / case.half_range),
    )
    trainer = PPO(world, config)
    trainer.learn()
    judged = Simulation(world, episodes, "cpu", seed=JUDGED_FROM + seed)
    players = {name: (Seats(judged, learner.seats.members), PolicyActor(learner.policy)) for name, learner in trainer.learners.items()}
    return evaluate(judged, players, episodes).mean_return, trainer.seconds


def train_sb3(world: str, case: Case, seed: int, episodes: int) -> tuple[float, float]:
    """The same with Stable-Baselines3; what is not named here is its default, and worldloom's too."""
    worlds = DummyVecEnv([lambda: gymnasium.make(world)] * case.num_envs)
    batch = case.num_envs * case.num_steps // case.minibatches
    model = stable_baselines3.PPO(
        "MlpPolicy",
        worlds,
        learning_rate=case.learning_rate,
        n_steps=case.num_steps,
        batch_size=batch,
        n_epochs=case.epochs,
        gamma=case.gamma,
        gae_lambda=case.lam,
        seed=seed,
        device="cpu",
    )
    start = time.perf_counter()
    model.learn(case.total_steps)
    seconds = time.perf_counter() - start
    judged = VecMonitor(DummyVecEnv([lambda: gymnasium.make(world)] * 10))
    judged.seed(JUDGED_FROM + seed)
    mean, _ = evaluate_policy(model, judged, n_eval_episodes=episodes, deterministic=True)
    return float(mean), seconds


def summary(values: list[float]) -> str:
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values) if len(values) > 1 else 0.0:.1f}"


def main(settings: Settings) -> None:
    torch.set_num_threads(1)
    console = Console()
    table = Table("world", "steps", "worldloom", "Stable-Baselines3", "seconds, worldloom", "seconds, Stable-Baselines3")
    results: list[dict[str, Any]] = []
    for world in settings.worlds:
        case = CASES[world]
        found: dict[str, list[tuple[float, float]]] = {"worldloom": [], "sb3": []}
        for seed in range(settings.seeds):
            for name, train in (("worldloom", train_worldloom), ("sb3", train_sb3)):
                found[name].append(train(world, case, seed, settings.episodes))
                console.print(f"{world} seed {seed} {name}: return {found[name][-1][0]:.1f} after {found[name][-1][1]:.1f} s")
        returns = {name: [r for r, _ in runs] for name, runs in found.items()}
        seconds = {name: [s for _, s in runs] for name, runs in found.items()}
        table.add_row(world, f"{case.total_steps:,}", *(summary(v) for v in returns.values()), *(f"{statistics.median(v):.1f}" for v in seconds.values()))
        results.append({"world": world, "steps": case.total_steps, "returns": returns, "seconds": seconds})
    console.print(table)
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
