"""``--num-envs auto`` against a scan over all numbers of worlds: how close the chosen number is to the fastest.

python benchmarks/num_envs.py --device cpu --out num_envs.json
python benchmarks/num_envs.py --device cuda:0 --out num_envs.json
python benchmarks/num_envs.py --device cpu --worlds CartPole-v1 --sizes 16 32 --rounds 1 --set num_steps 8 --json

Every round searches as ``worldloom train --num-envs auto`` does and then trains with every number of the scan for a
few seconds, in ascending and in descending order by turns. The rate of a number is the median over the rounds, each the
fastest of three windows. The share is the rate with the number that a search chose over the highest rate of the scan.

Where other programs use the cores, ``--clock cpu`` counts the CPU time of this process instead of the wall clock, in
the search too. Then use one thread: ``OMP_NUM_THREADS=1 taskset -c 0 python benchmarks/num_envs.py --clock cpu``.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console
from rich.table import Table
from run import describe_machine

from worldloom.core.base.device import resolve
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.experiments.batch_rate import BatchRate, measure_rate, peak_memory
from worldloom.learn.experiments.num_envs_search import SMALLEST, NumEnvsSearch, climb, search_num_envs
from worldloom.learn.runs.training_request import TrainingRequest

CPU_SIZES, GPU_SIZES = (3, 12), (6, 17)
"""First and last power of two of a scan."""
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass
class Settings:
    """Compare the number of worlds that `--num-envs auto` chooses with a scan over powers of two."""

    device: str = "auto"
    """Where to train: cpu, cuda:0, or auto."""
    worlds: tuple[str, ...] = ("CartPole-v1", "TagContinuousDemo-v0", "Pong-v5")
    """The worlds."""
    algo: str = "ppo"
    """The algorithm, with its tuned settings of the device."""
    sizes: tuple[int, ...] = ()
    """Numbers of worlds of the scan; by default 8 to 4,096 on the CPU and 64 to 131,072 on a GPU."""
    rounds: int = 3
    """Searches, and measurements of each number."""
    clock: Literal["wall", "cpu"] = "wall"
    """Seconds of the wall clock, or CPU time of this process."""
    slowest: float = 45.0
    """Numbers above one that took this many seconds to measure are omitted."""
    set: dict[str, int] = field(default_factory=dict)
    """Whole numbers of the algorithm that replace the tuned ones, such as num_steps 16 epochs 1 for a quick test."""
    total_steps: int = 1_000_000_000
    """Environment steps of the training: the search leaves it 20 iterations at least."""
    out: Path | None = None
    """A file for the figures as JSON."""
    json: bool = False
    """Print the figures as JSON."""


@dataclass
class WorldRates:
    """What was measured in one world.

    Attributes:
        world: Its id.
        chosen: The number that each search chose.
        search_seconds: How long each search took.
        rates: Trained environment steps per second by number of worlds, one value per round.
        omitted: Numbers that were not measured, and why.
    """

    world: str
    chosen: list[int] = field(default_factory=list)
    search_seconds: list[float] = field(default_factory=list)
    rates: dict[int, list[float]] = field(default_factory=dict)
    omitted: dict[int, str] = field(default_factory=dict)

    def medians(self) -> dict[int, float]:
        """The median rate by number of worlds."""
        return {number: statistics.median(values) for number, values in sorted(self.rates.items())}

    def shares(self) -> list[float]:
        """Rate with the number of each search over the highest rate."""
        medians = self.medians()
        return [medians[number] / max(medians.values()) for number in self.chosen if number in medians]

    def as_dict(self) -> dict[str, Any]:
        """All values for JSON."""
        return {**asdict(self), "medians": self.medians(), "shares": self.shares()}


def search_in_cpu_time(request: TrainingRequest) -> NumEnvsSearch:
    """The search of ``--num-envs auto`` in this process, by its CPU time."""
    messages: list[dict[str, Any]] = []
    base_memory = peak_memory()
    climb(
        lambda number: measure_rate(request, number, base_memory, time.process_time),
        lambda: None,
        request.config.total_steps,
        messages.append,
        min(SMALLEST, request.config.num_envs),
    )
    rates = {message["num_envs"]: BatchRate(**message) for message in messages if "num_envs" in message}
    return NumEnvsSearch(tuple(rates.values()), messages[-1]["end"])


def compare(world: str, settings: Settings, sizes: tuple[int, ...], show: Callable[[str], None]) -> WorldRates:
    """Search and scan in one world."""
    config = tuned_config(world, settings.algo, algorithm(settings.algo)[1], settings.device)
    config = replace(config, device=settings.device, total_steps=settings.total_steps, **settings.set)
    request = TrainingRequest(world, settings.algo, config)
    found = WorldRates(world)
    for index in range(settings.rounds):
        began = time.perf_counter()
        search = search_in_cpu_time(request) if settings.clock == "cpu" else search_num_envs(request)
        found.search_seconds.append(time.perf_counter() - began)
        found.chosen.append(search.best.num_envs)
        show(f"{world}, round {index + 1}: auto chose {search.best.num_envs:,} ({search.end})")
        numbers = sorted({*sizes, *found.chosen}, reverse=bool(index % 2))
        for number in [number for number in numbers if number not in found.omitted]:
            began = time.perf_counter()
            rate = measure_rate(request, number, clock=CLOCKS[settings.clock])
            seconds = time.perf_counter() - began
            if rate.steps_per_second is None:
                found.omitted[number] = rate.problem
                continue
            found.rates.setdefault(number, []).append(rate.steps_per_second)
            show(
                f"{world}, round {index + 1}, {number:,} worlds: {rate.steps_per_second:,.0f} steps/s ({seconds:.0f} s)"
            )
            if index == 0 and seconds > settings.slowest:
                found.omitted |= {n: "slow" for n in numbers if n > number and n not in found.chosen}
                break
    return found


def show_tables(console: Console, all_rates: list[WorldRates]) -> None:
    """Print the rates of each world, and how close the searches came."""
    for rates in all_rates:
        medians = rates.medians()
        table = Table(title=f"{rates.world}: trained steps per second, median of {len(rates.chosen)} rounds")
        for name in ("worlds", "steps/s", "of the fastest", "chosen"):
            table.add_column(name, justify="right")
        for number, rate in medians.items():
            times = rates.chosen.count(number)
            table.add_row(
                f"{number:,}", f"{rate:,.0f}", f"{rate / max(medians.values()):.0%}", f"{times} x" * bool(times)
            )
        console.print(table)
        shares, seconds = ", ".join(f"{share:.0%}" for share in rates.shares()), statistics.median(rates.search_seconds)
        console.print(f"auto reached {shares} of the fastest rate; a search took {seconds:.0f} s", markup=False)


def main(settings: Settings) -> None:
    """Compare in all worlds, and print and write the figures."""
    device = resolve(settings.device)[0]
    first, last = GPU_SIZES if device.is_cuda else CPU_SIZES
    sizes = settings.sizes or tuple(2**power for power in range(first, last + 1))
    messages, console = Console(stderr=True), Console(width=120)
    all_rates: list[WorldRates] = []
    for world in settings.worlds:
        all_rates.append(compare(world, settings, sizes, lambda line: messages.print(line, markup=False)))
        content = {"machine": describe_machine(device), "worlds": [rates.as_dict() for rates in all_rates]}
        if settings.out is not None:
            settings.out.write_text(json.dumps(content, indent=1) + "\n")
    if settings.json:
        print(json.dumps(content))
    else:
        show_tables(console, all_rates)


if __name__ == "__main__":
    main(tyro.cli(Settings))
