"""Microseconds of ``step`` of ``wl.make`` beside ``Simulation.step``: what the public interface costs.

python benchmarks/step_overhead.py --device cuda:0 --env-types torch --worlds 2048 65536 --out step_overhead.json
python benchmarks/step_overhead.py --device cpu --worlds 64

Every step of an environment takes another array or tensor of actions, drawn beforehand; a round ends with one
synchronization. ``Simulation.step`` runs without actions. All candidates alternate, one round each. *microseconds* is
the fastest round, since other programs on the machine only add time, and *median* the median round; *ratio* compares
the fastest rounds. On the CPU everything runs in one thread, and one world of ``gymnasium.make`` runs beside
Gymnasium's environment of the same id.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import gymnasium
import torch
import tyro
import warp as wp
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom.core.base.device import resolve

Round = Callable[[int], None]
"""Takes a number of steps."""


@dataclass
class Settings:
    """Measure the overhead of a step."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    id: str = "CartPole-v1"
    """A world with one choice as its action."""
    worlds: tuple[int, ...] = (64,)
    """Numbers of worlds."""
    steps: int = 1000
    """Steps of a round."""
    rounds: int = 15
    """Rounds of every candidate."""
    env_types: tuple[Literal["gymnasium", "torch"], ...] = ("gymnasium", "torch")
    """Environments with NumPy arrays or with tensors. Arrays of many worlds on a GPU take milliseconds per step."""
    out: Path | None = None
    """A file for the figures as JSON."""
    json: bool = False
    """Whether to print the figures as JSON, without a table."""


@dataclass
class StepTime:
    """One row.

    Attributes:
        worlds: Number of worlds.
        call: What was called.
        actions: The type of the actions.
        copy: Whether the results were copies.
        microseconds: Time of a step of all worlds in the fastest round.
        median: The same in the median round.
        ratio: Of ``microseconds`` to that of ``Simulation.step``; for one world, to that of Gymnasium's environment.
    """

    worlds: int
    call: str
    actions: str
    copy: bool | None
    microseconds: float
    median: float
    ratio: float


def repeat(call: Callable[[Any], Any], arguments: list[Any]) -> Round:
    """A round that calls ``call`` with one argument after the other."""
    remaining = itertools.cycle(arguments)

    def run(steps: int) -> None:
        for argument in itertools.islice(remaining, steps):
            call(argument)

    return run


def single_world(id: str, steps: int) -> Round:
    """A round of one world of ``gymnasium.make``, with resets."""
    env = gymnasium.make(id)
    env.reset(seed=0)
    env.action_space.seed(0)

    def step(action: Any) -> None:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    return repeat(step, [env.action_space.sample() for _ in range(steps)])


def measure(
    candidates: dict[Any, Round], settings: Settings, device: wp.Device
) -> dict[Any, tuple[float, float, float]]:
    """Microseconds of a step of each candidate, fastest and median, and the ratio of the fastest to the first."""
    seconds: dict[Any, list[float]] = {key: [] for key in candidates}
    for run in candidates.values():
        run(settings.steps)
    for _ in range(settings.rounds):
        for key, run in candidates.items():
            wp.synchronize_device(device)
            start = time.perf_counter()
            run(settings.steps)
            wp.synchronize_device(device)
            seconds[key].append((time.perf_counter() - start) / settings.steps)
    base = min(next(iter(seconds.values())))
    return {key: (1e6 * min(times), 1e6 * median(times), min(times) / base) for key, times in seconds.items()}


def bench_batch(worlds: int, settings: Settings, device: wp.Device) -> list[StepTime]:
    """Batches of worlds through every interface."""
    simulation = wl.Simulation(settings.id, worlds, device.alias, seed=0, threads=1)
    choices = int(wl.make_spec(settings.id).action_space.n)
    drawn = torch.randint(choices, (settings.steps, worlds), device=wp.device_to_torch(device))
    candidates: dict[tuple[str, str, bool | None], Round] = {
        ("Simulation.step", "in place", None): repeat(lambda _: simulation.step(), [None])
    }
    for env_type, copy, dtype in itertools.product(settings.env_types, (True, False), ("int32", "int64")):
        env = wl.make(settings.id, worlds, device=device.alias, env_type=env_type, copy=copy, seed=0, num_threads=1)
        env.reset()
        actions = list(drawn.to(getattr(torch, dtype)))
        if env_type == "gymnasium":
            actions = [values.cpu().numpy() for values in actions]
        candidates[env_type, dtype, copy] = repeat(env.step, actions)
    times = measure(candidates, settings, device)
    return [StepTime(worlds, *key, *figures) for key, figures in times.items()]


def bench_single(settings: Settings, device: wp.Device) -> list[StepTime]:
    """One world through ``gymnasium.make``, beside Gymnasium's own."""
    ids = (settings.id, f"worldloom/{settings.id}")
    times = measure({id: single_world(id, settings.steps) for id in ids}, settings, device)
    return [StepTime(1, f"gymnasium.make({id!r})", "int64", True, *figures) for id, figures in times.items()]


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    torch.set_num_threads(1)
    results: dict[str, Any] = {"machine": describe_machine(device), "device": device.alias, "rows": []}
    rows = [row for worlds in settings.worlds for row in bench_batch(worlds, settings, device)]
    if device.is_cpu and settings.id in gymnasium.registry:
        rows += bench_single(settings, device)
    results["rows"] = [asdict(row) for row in rows]
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1) + "\n")
    if settings.json:
        print(json.dumps(results))
        return
    console = make_console()
    console.print(results["machine"])
    show(console, f"Microseconds per step of {settings.id}", results["rows"])


if __name__ == "__main__":
    main(tyro.cli(Settings))
