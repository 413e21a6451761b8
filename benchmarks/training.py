"""Training rates: PPO on CartPole end to end, against a plain PyTorch loop, and the time to solve it.

python benchmarks/training.py --device cuda:0 --out training.json
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console

from worldloom.learn import PPO, Callback, PolicyConfig, PPOConfig, StopAt
from worldloom.learn.training.trainer import Trainer

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from cleanrl_style import train as train_plainly

SOLVED = 475.0


@dataclass
class Settings:
    """Measure how fast PPO trains CartPole-v1: 4 epochs of 4 minibatches, rollouts of 32 steps, an MLP of 64 and 64."""

    device: str = "cpu"
    """Where to train."""
    num_envs: tuple[int, ...] = (2048, 65536)
    """Worlds, one measurement each."""
    iterations: int = 60
    """Iterations of each of five rounds."""
    plain: bool = True
    """Measure the plain PyTorch loop too."""
    solve: bool = True
    """Measure the time until the mean return is 475."""
    precision: list[str] = field(default_factory=lambda: ["fp32", "bf16"])
    """Which precisions to measure."""
    compiled: bool = False
    """Measure torch.compile too, on networks of 256 and 256 units with 16,384 worlds."""
    out: Path | None = None
    """A file for the figures as JSON."""


def settings_of(device: str, num_envs: int, **changes: Any) -> PPOConfig:
    return PPOConfig(
        num_envs=num_envs, num_steps=32, epochs=4, minibatches=4, learning_rate=1e-3, device=device, **changes
    )


def wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def rate(trainer: PPO, iterations: int) -> float:
    """World steps per second over ``iterations`` iterations, reports included."""
    wait(trainer.config.device)
    start, before = time.perf_counter(), trainer.steps
    trainer.learn(before + iterations * trainer.config.num_steps * trainer.config.num_envs)
    wait(trainer.config.device)
    return (trainer.steps - before) / (time.perf_counter() - start)


class FirstStep(Callback):
    """Notes when the first iteration began and when the training ended."""

    def on_start(self, trainer: Trainer) -> None:
        self.start = time.perf_counter()

    def on_end(self, trainer: Trainer) -> None:
        wait(trainer.config.device)
        self.seconds = time.perf_counter() - self.start


def solve(device: str, num_envs: int, seed: int, **changes: Any) -> dict[str, float]:
    """Seconds until the mean return of finished episodes is 475: from the trainer's creation, and after a warm-up."""
    begin = time.perf_counter()
    cold = FirstStep()
    PPO("CartPole-v1", settings_of(device, num_envs, seed=seed, **changes)).learn(200_000_000, [StopAt(SOLVED), cold])
    included = time.perf_counter() - begin
    warm = PPO("CartPole-v1", settings_of(device, num_envs, seed=seed, **changes))
    tensors, plain = warm.state()
    fresh = {name: tensor.clone() for name, tensor in tensors.items()}
    warm.learn(3 * warm.config.num_steps * num_envs)  # captures the graphs
    warm.load_state(fresh, plain)
    second = FirstStep()
    warm.learn(200_000_000, [StopAt(SOLVED), second])
    return {
        "included_s": included,
        "first_step_s": cold.seconds,
        "captured_s": second.seconds,
        "steps": float(warm.steps),
    }


def main(settings: Settings) -> None:
    console = Console()
    results: dict[str, Any] = {
        "device": settings.device,
        "torch": torch.__version__,
        "rates": [],
        "plain": [],
        "solve": [],
    }
    for num_envs in settings.num_envs:
        trainers = {
            p: PPO("CartPole-v1", settings_of(settings.device, num_envs, precision=p)) for p in settings.precision
        }
        rates: dict[str, list[float]] = {p: [] for p in trainers}
        for trainer in trainers.values():
            rate(trainer, 5)
        for _ in range(5):
            for precision, trainer in trainers.items():
                rates[precision].append(rate(trainer, settings.iterations))
        for precision, found in rates.items():
            results["rates"].append(
                {
                    "num_envs": num_envs,
                    "precision": precision,
                    "steps_per_second": statistics.median(found),
                    "all": found,
                }
            )
            console.print(results["rates"][-1])
        if settings.plain:
            train_plainly(num_envs=num_envs, iterations=2, device=settings.device)
            _, plain = train_plainly(
                num_envs=num_envs, iterations=max(3, settings.iterations // 10), device=settings.device
            )
            results["plain"].append(
                {
                    "num_envs": num_envs,
                    "steps_per_second": plain,
                    "times": results["rates"][-len(trainers)]["steps_per_second"] / plain,
                }
            )
            console.print(results["plain"][-1])
    if settings.solve:
        for seed in range(3):
            results["solve"].append(solve(settings.device, settings.num_envs[0], seed))
            console.print(results["solve"][-1])
    if settings.compiled:
        results["compile"] = []
        for precision in settings.precision:
            wide = {
                c: PPO(
                    "CartPole-v1",
                    settings_of(
                        settings.device, 16384, precision=precision, compile=c, policy=PolicyConfig(hidden=(256, 256))
                    ),
                )
                for c in (False, True)
            }
            begin = time.perf_counter()
            rate(wide[True], 5)
            seconds = time.perf_counter() - begin
            rate(wide[False], 5)
            found = {
                c: statistics.median(rate(trainer, settings.iterations // 3) for _ in range(3))
                for c, trainer in wide.items()
            }
            results["compile"].append(
                {"precision": precision, "plain": found[False], "compiled": found[True], "first_iterations_s": seconds}
            )
            console.print(results["compile"][-1])
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
