"""The cost of training on a CPU: process time and wall clock per environment step.

python benchmarks/cpu_training.py --base PATH --out cpu_training.json

PPO on CartPole-v1 with its tuned settings, from this checkout, from the checkout at ``--base`` and from
Stable-Baselines3 with equal settings. Runs alternate, each in a process of its own; the first iterations, which
compile, are not measured. A convolutional and a recurrent network, which use PyTorch, are reported without a
comparison.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

SETTINGS = {"epochs": 8, "gamma": 0.98, "lam": 0.9, "learning_rate": 3e-3, "schedule": "linear"}
"""The tuned settings of CartPole-v1, without the number of worlds."""
NUM_STEPS, MINIBATCHES = 32, 4

WORLDLOOM = """
import json, sys, time
from worldloom.learn import PPO, PolicyConfig, PPOConfig
case = json.loads(sys.argv[1])
policy = PolicyConfig(**case["policy"])
config = PPOConfig(device="cpu", num_envs=case["num_envs"], seed=case["seed"], total_steps=1_000_000_000, policy=policy,
                   **case["settings"])
trainer = PPO(case["world"], config)
steps = config.num_steps * case["num_envs"]
trainer.learn(case["warm_up"] * steps)
process, wall = time.process_time(), time.perf_counter()
trainer.learn((case["warm_up"] + case["iterations"]) * steps)
count = case["iterations"] * steps
print(json.dumps([(time.process_time() - process) / count, (time.perf_counter() - wall) / count]))
"""

SB3 = """
import json, sys, time
import gymnasium, torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv
case = json.loads(sys.argv[1])
torch.set_num_threads(1)
settings = case["settings"]
env = DummyVecEnv([lambda: gymnasium.make(case["world"])] * case["num_envs"])
rollout = case["num_steps"] * case["num_envs"]
model = PPO("MlpPolicy", env, n_steps=case["num_steps"], batch_size=rollout // case["minibatches"],
            n_epochs=settings["epochs"], gamma=settings["gamma"], gae_lambda=settings["lam"],
            learning_rate=settings["learning_rate"], seed=case["seed"], device="cpu",
            policy_kwargs={"net_arch": [64, 64]})
model.learn(case["warm_up"] * rollout)
process, wall = time.process_time(), time.perf_counter()
model.learn(case["iterations"] * rollout, reset_num_timesteps=False)
count = case["iterations"] * rollout
print(json.dumps([(time.process_time() - process) / count, (time.perf_counter() - wall) / count]))
"""


@dataclass(frozen=True)
class Arguments:
    """The runs to measure."""

    base: Path | None = None
    """Another checkout to compare with."""
    num_envs: tuple[int, ...] = (64, 4096)
    """Numbers of worlds."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Random seeds; each is one run of every side."""
    steps: int = 130_000
    """Measured environment steps of a run, at least one iteration."""
    sb3: bool = True
    """Also measure Stable-Baselines3, once per number of worlds."""
    others: bool = True
    """Also measure a convolutional and a recurrent network."""
    out: Path | None = None
    """File for the results."""


@dataclass
class Side:
    """Seconds per step of one side: process time and wall clock of each run."""

    process: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, script: str, case: dict[str, object], source: Path) -> None:
        """Measure one run in a process of its own."""
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, "-c", script, json.dumps(case)]
        output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        process, wall = json.loads(output.splitlines()[-1])
        self.process.append(process)
        self.wall.append(wall)

    def medians(self) -> tuple[float, float]:
        """Median process time and wall clock."""
        return statistics.median(self.process), statistics.median(self.wall)


def measure(arguments: Arguments, own: Path) -> dict[str, dict[str, Side]]:
    """All runs, by case and side."""
    results: dict[str, dict[str, Side]] = {}
    for num_envs in arguments.num_envs:
        sides = {"worldloom": Side()}
        if arguments.base is not None:
            sides["base"] = Side()
        for seed in arguments.seeds:
            case = _case("CartPole-v1", num_envs, seed, arguments.steps)
            sides["worldloom"].add(WORLDLOOM, case, own)
            if arguments.base is not None:
                sides["base"].add(WORLDLOOM, case, arguments.base / "src")
        if arguments.sb3:
            sides["Stable-Baselines3"] = Side()
            sides["Stable-Baselines3"].add(SB3, _case("CartPole-v1", num_envs, 0, min(arguments.steps, 32_768)), own)
        results[f"CartPole-v1, {num_envs:,} worlds"] = sides
    if arguments.others:
        for name, world, policy in (("CNN", "Breakout-v5", {}), ("LSTM", "CartPole-v1", {"memory": "lstm"})):
            side = Side()
            side.add(WORLDLOOM, _case(world, 64, 0, 4096, policy, {"epochs": 4}), own)
            results[f"{name} on {world}, 64 worlds, 4 epochs"] = {"worldloom": side}
    return results


def _case(
    world: str,
    num_envs: int,
    seed: int,
    steps: int,
    policy: dict[str, object] | None = None,
    settings: dict[str, object] | None = None,
) -> dict[str, object]:
    return {
        "world": world,
        "num_envs": num_envs,
        "seed": seed,
        "warm_up": 2,
        "iterations": max(1, steps // (num_envs * NUM_STEPS)),
        "num_steps": NUM_STEPS,
        "minibatches": MINIBATCHES,
        "policy": policy or {},
        "settings": SETTINGS if settings is None else settings,
    }


def show(results: dict[str, dict[str, Side]], console: Console) -> None:
    """Print a table."""
    table = Table("case", "side", "process us/step", "wall us/step", "process ratio", "wall ratio")
    for case, sides in results.items():
        own = sides["worldloom"].medians()
        for name, side in sides.items():
            process, wall = side.medians()
            ratios = [f"{theirs / ours:.2f}" for theirs, ours in zip((process, wall), own, strict=True)]
            table.add_row(case, name, f"{process * 1e6:.2f}", f"{wall * 1e6:.2f}", *ratios)
    console.print(table)


def main(arguments: Arguments) -> None:
    """Measure and print."""
    results = measure(arguments, Path(__file__).resolve().parents[1] / "src")
    show(results, Console())
    if arguments.out is not None:
        plain = {case: {name: vars(side) for name, side in sides.items()} for case, sides in results.items()}
        arguments.out.write_text(json.dumps(plain, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Arguments))
