"""Tag on the CPU against the same rules in NumPy: 64 worlds of 100 agents, in alternating rounds of one run.

python benchmarks/tag_cpu.py --out tag_cpu.json
python benchmarks/tag_cpu.py --worlds 4 --agents 10 --cases grid-nearest --seconds 1

The references are tests/parity/references/tag_grid.py and tag_continuous.py: a Python loop over worlds, in one process
and in one process per core. Both sides take precomputed random actions, compute all observations and reset finished
episodes. A world step is one step of one world with all its agents.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from processes import split, workers
from rich.console import Console
from run import describe_machine, show
from tag import PUBLISHED_FIELD, Case, continuous, grid

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import NUM_ACTION_SETS, Run, make_actions, median_rates, step_runner

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parity" / "references"))
from tag_continuous import TagContinuous
from tag_grid import Rules, TagGrid

MAKES: dict[str, Callable[[int], Case]] = {
    "grid-nearest": lambda agents: grid(agents),
    "grid-full": lambda agents: grid(agents, full=True),
    "continuous-nearest": lambda agents: continuous(agents),
    "continuous-full": lambda agents: continuous(agents, full=True),
}


@dataclass
class Settings:
    """Measure Tag on the CPU against NumPy."""

    cases: tuple[Literal["grid-nearest", "grid-full", "continuous-nearest", "continuous-full"], ...] = tuple(MAKES)
    """Which makes of Tag."""
    worlds: int = 64
    """Worlds of the batch."""
    agents: int = 100
    """Agents of a world."""
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Threads of worldloom, and processes of the reference."""
    seconds: float = 20.0
    """How long the rounds of each case take."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class CpuRate:
    """World steps per second of one case, and the ratios."""

    case: str
    worldloom: float
    numpy: float
    times: float
    numpy_processes: float
    times_processes: float


class ReferenceWorlds:
    """``count`` worlds in NumPy, one after the other."""

    def __init__(self, case: Case, count: int, seed: int) -> None:
        self.case, self.rng = case, np.random.default_rng(seed)
        runners = case.agents - case.taggers
        choices: tuple[int, ...]
        if case.world == "grid":
            rules = Rules(case.taggers, runners, not case.neighbours, grid_length=100, episode_length=100)
            self.games: list[Any] = [TagGrid(rules, self._places()) for _ in range(count)]
            choices = ()
        else:
            self.games = [
                TagContinuous(case.taggers, runners, case.neighbours, episode_length=100, **PUBLISHED_FIELD)
                for _ in range(count)
            ]
            for game in self.games:
                game.reset(self.rng)
            choices = (2,)
        most = 5 if case.world == "grid" else 11
        self.actions = [self.rng.integers(0, most, (count, case.agents, *choices)) for _ in range(NUM_ACTION_SETS)]

    def _places(self) -> np.ndarray:
        return self.rng.integers(0, 101, (self.case.agents, 2))

    def run(self, steps: int) -> None:
        """Step all of them, observe, and reset those whose episode is over."""
        for number in range(steps):
            for game, actions in zip(self.games, self.actions[number % NUM_ACTION_SETS], strict=True):
                if isinstance(game, TagGrid):
                    over = any(game.step(actions))
                    game.observations()
                    if over:
                        game.start(self._places())
                        game.observations()
                else:
                    _, _, terminated, truncated = game.step(actions)
                    if terminated or truncated:
                        game.reset(self.rng)


def _serve(pipe: Connection, case: Case, count: int, seed: int) -> None:
    """Take as many steps as each message says."""
    worlds = ReferenceWorlds(case, count, seed)
    pipe.send("ready")
    while True:
        try:
            worlds.run(pipe.recv())
        except EOFError:
            return
        pipe.send("done")


@contextmanager
def in_processes(case: Case, count: int, processes: int) -> Iterator[Run]:
    """Steps of ``count`` worlds in several processes, each with its part of them."""
    with workers(_serve, [(case, part, seed) for seed, part in enumerate(split(count, processes))]) as pipes:

        def run(steps: int) -> None:
            for pipe in pipes:
                pipe.send(steps)
            for pipe in pipes:
                pipe.recv()

        yield run


def measure(name: str, settings: Settings) -> CpuRate:
    """All contenders by turns; the medians of their rounds."""
    case = MAKES[name](settings.agents)
    with (
        wl.Simulation(case.definition(), settings.worlds, "cpu", seed=0, threads=settings.cores) as sim,
        in_processes(case, settings.worlds, settings.cores) as spread,
    ):
        contenders = {
            "worldloom": step_runner(sim, make_actions(sim)),
            "numpy": ReferenceWorlds(case, settings.worlds, 0).run,
            "processes": spread,
        }
        rates = {who: rate * settings.worlds for who, rate in median_rates(contenders, settings.seconds).items()}
    ours, one, many = rates["worldloom"], rates["numpy"], rates["processes"]
    return CpuRate(case.name, ours, one, ours / one, many, ours / many)


def main(settings: Settings) -> None:
    device, _ = resolve("cpu")
    console = Console()
    results: dict[str, Any] = {
        "machine": describe_machine(device),
        "worlds": settings.worlds,
        "agents": settings.agents,
        "cores": settings.cores,
        "rates": [],
    }
    console.print(results["machine"])
    for name in settings.cases:
        results["rates"].append(asdict(measure(name, settings)))
    heads = dict(
        zip(results["rates"][0], ("case", "worldloom", "NumPy", "times", f"in {settings.cores}", "times"), strict=True)
    )
    title = (
        f"{settings.worlds} worlds of {settings.agents} agents, world steps/s, "
        f"against NumPy in 1 and in {settings.cores} processes"
    )
    show(console, title, results["rates"], heads)
    if settings.out is not None:
        settings.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
