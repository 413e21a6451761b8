"""Returns at equal samples: worldloom's PPO against Stable-Baselines3's with the same settings, each on its own worlds.

python benchmarks/against_sb3.py --out against_sb3.json

Stable-Baselines3 trains on Gymnasium's environments in a DummyVecEnv, worldloom on its own worlds with the same rules.
Both policies are evaluated in the same episodes with greedy actions. The result of a training is the mean over its
policies after each of the last iterations, because single policies fluctuate. The table shows medians over the seeds
with a 95 % bootstrap interval.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import stable_baselines3
import torch
import tyro
from rich.console import Console
from rich.table import Table
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize
from torch import nn

from worldloom.core.simulation import Simulation
from worldloom.learn import PPO, PolicyConfig, PPOConfig
from worldloom.learn.agents.agent_group import AgentGroup, AgentSlice, agent_counts
from worldloom.learn.networks.layers import ACTOR_GAIN, CRITIC_GAIN, linear
from worldloom.learn.play.actors import PolicyActor
from worldloom.learn.play.evaluation import Actor, evaluate

JUDGED_FROM = 10_000
"""The seed of the episodes that policies are judged by: other ones than those of the trainings."""
LAST = 5
"""Policies of each training that are judged: those after each of so many last iterations."""


@dataclass(frozen=True)
class Case:
    """A world, and the settings that both sides train with."""

    total_steps: int
    num_envs: int
    num_steps: int
    minibatches: int
    gamma: float
    epochs: int = 10
    learning_rate: float = 1e-3
    lam: float = 0.95
    half_range: float = 0.0
    """Half the range of the bounds of an action of real numbers; 0 for choices."""
    initial_std: float = 1.0
    """Initial standard deviation of an action of real numbers, in the world's units."""
    normalize: bool = False
    """Normalize observations and rewards by running statistics."""

    @property
    def iteration(self) -> int:
        """Steps of an iteration."""
        return self.num_envs * self.num_steps

    @property
    def judged_at(self) -> range:
        """After how many steps policies are judged."""
        return range(self.total_steps - (LAST - 1) * self.iteration, self.total_steps + 1, self.iteration)


CASES = {
    "CartPole-v1": Case(
        total_steps=65_536,
        num_envs=8,
        num_steps=128,
        minibatches=4,
        gamma=0.98,
    ),
    "Pendulum-v1": Case(
        total_steps=102_400,
        num_envs=4,
        num_steps=1024,
        minibatches=16,
        gamma=0.9,
        half_range=2.0,
    ),
    "Acrobot-v1": Case(
        total_steps=131_072,
        num_envs=16,
        num_steps=256,
        minibatches=8,
        gamma=0.99,
        normalize=True,
    ),
    "MountainCarContinuous-v0": Case(
        total_steps=262_144,
        num_envs=16,
        num_steps=256,
        minibatches=8,
        gamma=0.99,
        half_range=1.0,
        initial_std=2.0,
        normalize=True,
    ),
}


@dataclass
class Settings:
    """Train with both libraries and compare the returns of the finished policies."""

    worlds: tuple[str, ...] = tuple(CASES)
    """Which worlds."""
    seeds: int = 10
    """Trainings of each library in each world."""
    first_seed: int = 0
    """The first seed; the others follow it. Several processes can share the seeds."""
    libraries: tuple[Literal["worldloom", "sb3"], ...] = ("worldloom", "sb3")
    """Which libraries."""
    total_steps: int = 0
    """Steps of each training; 0 for those of the world's case."""
    episodes: int = 400
    """Episodes that each policy is judged by."""
    own_units: bool = False
    """Let worldloom's network return actions in units of their bounds, its default, instead of the world's units."""
    out: Path | None = None
    """A file for the figures as JSON."""


class WorldUnits(nn.Module):
    """Worldloom's network with means in the world's units, as in Stable-Baselines3, for equal optimizer steps."""

    def __init__(self, inputs: int, half_range: float) -> None:
        super().__init__()
        self.half_range = half_range
        self.actor, self.critic = (
            nn.Sequential(linear(inputs, 64, 2**0.5), nn.Tanh(), linear(64, 64, 2**0.5), nn.Tanh(), linear(64, 1, gain))
            for gain in (ACTOR_GAIN, CRITIC_GAIN)
        )

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.actor(seen) / self.half_range, self.critic(seen)


class Sb3Actor:
    """A policy of Stable-Baselines3 at play in worldloom's worlds."""

    def __init__(self, model: stable_baselines3.PPO, half_range: float) -> None:
        self.policy, self.half_range, self.normalizer = model.policy, half_range, model.get_vec_normalize_env()

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        return torch.zeros(rows, 0, device=device)

    def act(
        self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        seen = next(iter(observations.values()))
        if self.normalizer is not None:
            seen = torch.as_tensor(self.normalizer.normalize_obs(seen.numpy())).float()
        with torch.no_grad():
            likeliest = self.policy.get_distribution(seen).mode()
        return (likeliest / self.half_range if self.half_range else likeliest.int()[:, None]), state


def judge(world: str, actor: Actor, episodes: int) -> float:
    """The mean return of a finished policy."""
    with Simulation(world, episodes, "cpu", seed=JUDGED_FROM) as judged:
        kind = next(iter(agent_counts(judged.definition)))
        return evaluate(judged, {kind: (AgentGroup(judged, [AgentSlice(kind)]), actor)}, episodes).mean_return


def train_worldloom(world: str, case: Case, seed: int, settings: Settings) -> tuple[float, float]:
    """The mean return of the last policies of a training with worldloom, and the seconds of the training."""
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
        normalize_rewards=case.normalize,
        policy=PolicyConfig(
            initial_std=case.initial_std / case.half_range if case.half_range else 1.0,
            normalize_observations=case.normalize,
        ),
    )
    torch.manual_seed(seed)
    inputs = gymnasium.make(world).observation_space.shape
    other_units = case.half_range not in (0.0, 1.0) and not settings.own_units
    network = WorldUnits(inputs[0], case.half_range) if other_units and inputs else None
    trainer = PPO(world, config, network=network)
    (learner,) = trainer.learners.values()
    returns = []
    for steps in case.judged_at:
        trainer.learn(steps)
        returns.append(judge(world, PolicyActor(learner.policy), settings.episodes))
    return statistics.mean(returns), trainer.seconds


def train_sb3(world: str, case: Case, seed: int, settings: Settings) -> tuple[float, float]:
    """The same with Stable-Baselines3; what is not named here is its default, and worldloom's too."""
    worlds: VecEnv = DummyVecEnv([lambda: gymnasium.make(world)] * case.num_envs)
    if case.normalize:
        worlds = VecNormalize(worlds, gamma=case.gamma)
    model = stable_baselines3.PPO(
        "MlpPolicy",
        worlds,
        learning_rate=case.learning_rate,
        n_steps=case.num_steps,
        batch_size=case.iteration // case.minibatches,
        n_epochs=case.epochs,
        gamma=case.gamma,
        gae_lambda=case.lam,
        policy_kwargs={"log_std_init": math.log(case.initial_std)} if case.half_range else {},
        seed=seed,
        device="cpu",
    )
    returns, seconds = [], 0.0
    for steps in case.judged_at:
        start = time.perf_counter()
        model.learn(steps - model.num_timesteps, reset_num_timesteps=False)
        seconds += time.perf_counter() - start
        returns.append(judge(world, Sb3Actor(model, case.half_range), settings.episodes))
    return statistics.mean(returns), seconds


def summary(values: list[float]) -> str:
    """The median with a 95 % bootstrap interval."""
    draws = np.random.default_rng(0).choice(values, (10_000, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return f"{statistics.median(values):.1f} ({low:.1f} to {high:.1f})"


def main(settings: Settings) -> None:
    torch.set_num_threads(1)
    console = Console()
    names = {"worldloom": "worldloom", "sb3": "Stable-Baselines3"}
    table = Table("world", "steps", *(f"{names[k]}{unit}" for unit in ("", ", seconds") for k in settings.libraries))
    trainers = {"worldloom": train_worldloom, "sb3": train_sb3}
    results: list[dict[str, Any]] = []
    for world in settings.worlds:
        case = CASES[world]
        if settings.total_steps:
            case = replace(case, total_steps=settings.total_steps)
        trainings: dict[str, list[tuple[float, float]]] = {name: [] for name in settings.libraries}
        for seed in range(settings.first_seed, settings.first_seed + settings.seeds):
            for name, runs in trainings.items():
                runs.append(trainers[name](world, case, seed, settings))
                console.print(f"{world} seed {seed} {name}: return {runs[-1][0]:.1f} after {runs[-1][1]:.1f} s")
        returns = {name: [r for r, _ in runs] for name, runs in trainings.items()}
        seconds = {name: [s for _, s in runs] for name, runs in trainings.items()}
        medians = [f"{statistics.median(v):.1f}" for v in seconds.values()]
        table.add_row(world, f"{case.total_steps:,}", *map(summary, returns.values()), *medians)
        results.append({"world": world, "steps": case.total_steps, "returns": returns, "seconds": seconds})
    console.print(table)
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
