"""PPO with an attention policy: samples per second of rollout and update, and their share of the matmul rate.

python benchmarks/attention.py --device cuda:0 --out attention.json
python benchmarks/attention.py --device cuda:0 --units 512 --precisions bf16
python benchmarks/attention.py --device cpu --units 16 --worlds 8 --num-steps 4 --minibatch 32 --iterations 1 --rounds 1

Five agents observe sixteen entities each, a random part of which is masked. A sample is one step of one agent. An
update passes over every sample ``epochs`` times in minibatches of nearly equal size. The rate of floating-point
operations counts the matrix products of forward and backward pass; the matmul rate is that of one large product in the
same precision.
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
from rich.console import Console
from run import describe_machine, show
from torch import nn

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.learn import PPO, Callback, Policy, PolicyConfig, PPOConfig, Progress, Trainer

AGENTS, ENTITIES, NUMBERS = 5, 16, 8
BACKWARD = 3
"""Operations of forward and backward pass, relative to the forward pass."""


class Walker(wl.Entity):
    walk: wl.Action(wl.Discrete(5))
    sight: wl.Observation(NUMBERS)
    others: wl.Observation(ENTITIES, NUMBERS, entities=True, mask="present")
    present: wl.Observation(ENTITIES, dtype=bool)
    reward: wl.Reward


class Square(wl.World):
    pass


@wl.system
def walk(walker: Walker, world: Square):
    walker.reward = 1.0 if walker.walk == 0 else 0.0


@wl.system
def look(walker: Walker, world: Square):
    for k in range(ENTITIES):
        for number in range(NUMBERS):
            walker.others[k, number] = world.random(-1.0, 1.0)
        walker.present[k] = world.random() < 0.75
    for number in range(NUMBERS):
        walker.sight[number] = world.random(-1.0, 1.0)


WORLD = wl.Definition("Square-benchmark", Square, {Walker: AGENTS}, step=(walk,), observe=(look,), max_steps=100)


@dataclass
class Settings:
    """Measure how fast PPO trains an attention policy."""

    device: str = "auto"
    """Where to train: cpu, cuda:0, or auto."""
    units: tuple[int, ...] = (64, 128, 256, 512, 1024)
    """Units of a token and of the layer after attention."""
    precisions: tuple[Literal["fp32", "bf16"], ...] = ("fp32", "bf16")
    """Precisions of the network."""
    layers: int = 1
    """Attention layers."""
    heads: int = 4
    """Attention heads."""
    worlds: int = 3276
    """Worlds of the batch."""
    num_steps: int = 20
    """Steps of a rollout."""
    minibatch: int = 32_768
    """Samples of a minibatch, rounded so that minibatches divide a rollout."""
    epochs: int = 1
    """Passes over each rollout."""
    compile: bool = False
    """Compile the network with torch.compile."""
    iterations: int = 5
    """Iterations of each round."""
    rounds: int = 3
    """Rounds, of which the median counts."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class AttentionRate:
    """One row of the table.

    Attributes:
        rollout, update: Samples per second of each phase alone; in an update each epoch counts once.
        training: Samples per second of the whole iteration.
        teraflops: 1e12 operations per second of the update's matrix products.
        matmul: The same of one large product.
        share: Their ratio.
    """

    units: int
    precision: str
    minibatch: int
    rollout: float
    update: float
    training: float
    teraflops: float
    matmul: float
    share: float


class Shares(Callback):
    """Records how the time of the last iteration was divided."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.last = progress.shares


def make_trainer(units: int, precision: Literal["fp32", "bf16"], settings: Settings, device: str) -> PPO:
    """The trainer of one row."""
    samples = AGENTS * settings.worlds * settings.num_steps
    config = PPOConfig(
        num_envs=settings.worlds,
        num_steps=settings.num_steps,
        epochs=settings.epochs,
        minibatches=max(1, round(samples / settings.minibatch)),
        precision=precision,
        compile=settings.compile,
        device=device,
        policy=PolicyConfig(
            hidden=(units,),
            activation="relu",
            attention_size=units,
            attention_heads=settings.heads,
            attention_layers=settings.layers,
        ),
    )
    return PPO(WORLD, config)


def forward_operations(policy: Policy) -> float:
    """Floating-point operations of the matrix products of one sample's forward pass."""
    counted: list[float] = []

    def count(module: nn.Module, inputs: tuple[torch.Tensor, ...], _: Any) -> None:
        assert isinstance(module, nn.Linear)
        counted.append(2.0 * inputs[0].numel() * module.out_features)

    hooks = [m.register_forward_hook(count) for m in policy.modules() if isinstance(m, nn.Linear)]
    rows, device = 2, next(policy.parameters()).device
    observations = {
        name: torch.ones((rows, *spec.shape), dtype=spec.dtype, device=device)
        for name, spec in policy.spec.observations.items()
    }
    with torch.no_grad():
        policy.act(observations, policy.initial_state(rows, device))
    for hook in hooks:
        hook.remove()
    tokens, config = ENTITIES + 1, policy.config
    return sum(counted) / rows + config.attention_layers * 4.0 * tokens * tokens * config.attention_size


def matmul_rate(device: torch.device, precision: str) -> float:
    """Operations per second of one large matrix product in ``precision``; TF32 for fp32 on a GPU, as in training."""
    size = 8192 if device.type == "cuda" else 512
    torch.set_float32_matmul_precision("high")
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    rates = []
    for _ in range(5):
        start = _now(device)
        for _ in range(10):
            left @ right
        rates.append(20.0 * size**3 / (_now(device) - start))
    return max(rates)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def measure(units: int, precision: Literal["fp32", "bf16"], settings: Settings, device: str) -> AttentionRate:
    """Train for three iterations, then time the rounds."""
    trainer, shares = make_trainer(units, precision, settings, device), Shares()
    steps = settings.worlds * settings.num_steps
    trainer.learn(3 * steps, shares)
    rollouts, updates, totals = [], [], []
    for _ in range(settings.rounds):
        start = _now(trainer.device)
        trainer.learn(trainer.steps + settings.iterations * steps, shares)
        seconds = (_now(trainer.device) - start) / settings.iterations
        totals.append(seconds)
        rollouts.append(seconds * shares.last["roll-out"])
        updates.append(seconds * shares.last["update"])
    samples = AGENTS * steps
    rollout, update, total = (statistics.median(values) for values in (rollouts, updates, totals))
    (learner,) = trainer.learners.values()
    operations = BACKWARD * forward_operations(learner.policy) * samples * settings.epochs / update
    peak = matmul_rate(trainer.device, precision)
    minibatch = samples // trainer.config.minibatches
    trainer.simulation.close()
    return AttentionRate(
        units,
        precision,
        minibatch,
        samples / rollout,
        samples * settings.epochs / update,
        samples / total,
        operations / 1e12,
        peak / 1e12,
        operations / peak,
    )


def main(settings: Settings) -> None:
    console = Console()
    device, name = resolve(settings.device)[0], settings.device
    rows = []
    for units in settings.units:
        for precision in settings.precisions:
            rows.append(asdict(measure(units, precision, settings, name)))
            gc.collect()
    machine = describe_machine(device)
    show(console, f"attention, {AGENTS} agents x {ENTITIES} entities, {machine['hardware']}", rows)
    if settings.out is not None:
        settings.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Settings))
