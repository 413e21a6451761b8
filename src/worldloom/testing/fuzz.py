"""``python -m worldloom.testing.fuzz``: random worlds on the reference and on devices, until a time limit."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from worldloom.testing.coverage import CONSTRUCTS

DEVICES: dict[str, tuple[str, ...]] = {
    "python": ("python",),
    "cpu": ("cpu", "cpu-threads", "cpu-unfused", "cpu-exact"),
    "cuda": ("cuda", "cuda-exact"),
    "cuda:0": ("cuda", "cuda-exact"),
}
"""The variants that a device stands for."""


def rotated(variants: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """The first variant, those that compile nothing of their own, and one of the others by turns."""
    compiled = [v for v in variants if v not in ("python", "cpu-threads")]
    others = compiled[1:]
    gone = {v for place, v in enumerate(others) if place != seed % len(others)} if others else set()
    return tuple(v for v in variants if v not in gone)


WORLDS_PER_PROCESS = 12
"""Worlds that one process compares before it is replaced, since compiled modules stay in memory."""


@dataclass
class Fuzz:
    """Compare random worlds on the reference interpreter and on devices, and print the smallest world for each find.

    Exits with 0 where nothing differed, and with 1 otherwise. The same seed gives the same worlds.
    """

    seconds: float = 600.0
    """How long to start new worlds; those under way are finished."""
    seed: int | None = None
    """The seed of the first world; the others follow. Left out: one from the clock, so that every run has fresh ones."""
    worlds: int | None = None
    """Stop after so many worlds."""
    systems_per_world: int = 60
    """Systems of one world: more of them share one compilation."""
    devices: str = "cpu"
    """Devices to compare, with commas between: python, cpu, cuda."""
    variants: str = ""
    """Single variants instead of devices, with commas between: python, cpu, cpu-unfused, cpu-exact, cpu-threads, cuda, cuda-unfused, cuda-exact."""
    rotate: bool = False
    """Compare each world on the first variant of a device and on one of its others, by turns: twice the worlds in the same time."""
    avoid: tuple[str, ...] = ()
    """Leave out systems in which one of these constructs occurs, named as in the report, to look past a failure that is known."""
    processes: int = 1
    """Processes that compare worlds side by side."""
    shrink_seconds: float = 240.0
    """How long to make a failing world smaller; 0 leaves it as it is."""
    finds: int = 3
    """Stop after so many failing worlds; 0 goes on to the end."""
    output: Path | None = None
    """A folder for the files of failing worlds."""
    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        first = int(time.time()) % 10**9 if self.seed is None else self.seed
        chosen = (
            tuple(self.variants.split(","))
            if self.variants
            else tuple(v for d in self.devices.split(",") for v in DEVICES[d])
        )
        campaign = Campaign(self, first, chosen)
        start = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="worldloom-fuzz-") as folder,
            Console(stderr=True).status("fuzzing") as status,
        ):
            os.environ["WARP_CACHE_PATH"] = (
                folder  # the processes that compare inherit it, so that nothing stays behind in the user's cache
            )
            for report in campaign.reports():
                campaign.add(report)
                status.update(
                    f"{campaign.worlds} worlds, {campaign.systems:,} systems, {len(campaign.found)} finds, {time.monotonic() - start:.0f} s"
                )
        campaign.seconds = time.monotonic() - start
        campaign.print(self.json)
        return 1 if campaign.found else 0


@dataclass
class Campaign:
    """The worlds of one command, and what came of them."""

    settings: Fuzz
    first: int
    variants: tuple[str, ...]
    worlds: int = 0
    systems: int = 0
    refused: list[str] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)
    constructs: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def reports(self) -> Iterator[Any]:
        """The reports of all worlds, as they come in."""
        deadline, seed, waiting = time.monotonic() + self.settings.seconds, self.first, dict[Future[Any], int]()
        pool = _pool(self.settings.processes)
        try:
            while True:
                done = self.settings.worlds is not None and seed - self.first >= self.settings.worlds
                enough = bool(self.settings.finds) and len(self.found) >= self.settings.finds
                while (
                    not done and not enough and len(waiting) < self.settings.processes and time.monotonic() < deadline
                ):
                    settings, variants = (
                        self.settings,
                        rotated(self.variants, seed) if self.settings.rotate else self.variants,
                    )
                    made = pool.submit(
                        one_world, seed, settings.systems_per_world, variants, settings.shrink_seconds, settings.avoid
                    )
                    waiting[made] = seed
                    seed += 1
                    done = self.settings.worlds is not None and seed - self.first >= self.settings.worlds
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    number = waiting.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        pool.shutdown(wait=False)
                        pool = _pool(self.settings.processes)
                        again, waiting = [number, *waiting.values()], {}
                        for one in again:
                            yield _alone(one, self.settings.systems_per_world, self.variants)
                        break
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def add(self, report: Any) -> None:
        self.worlds += 1
        self.systems += report.systems
        self.refused += report.refused
        self.constructs += report.constructs
        for name, seconds in report.seconds.items():
            self.spent[name] += seconds
        if report.differences:
            self.found.append(
                {
                    "seed": report.seed,
                    "systems_before": self.systems,
                    "differences": report.differences,
                    "world": report.text,
                }
            )
            if self.settings.output is not None:
                self.settings.output.mkdir(parents=True, exist_ok=True)
                (self.settings.output / f"seed_{report.seed}.py").write_text(report.text)
            if not self.settings.json:
                Console().print(report.text, markup=False, highlight=False, soft_wrap=True)

    def print(self, as_json: bool) -> None:
        summary = {
            "first_seed": self.first,
            "worlds": self.worlds,
            "systems": self.systems,
            "refused": len(self.refused),
            "variants": list(self.variants),
            "seconds": round(self.seconds, 1),
            "seconds_by_part": {name: round(seconds, 1) for name, seconds in self.spent.items()},
            "constructs": {name: self.constructs[name] for name in CONSTRUCTS},
            "reasons": self.refused[:20],
            "finds": self.found,
        }
        if as_json:
            print(json.dumps(summary, indent=2, default=str))
            return
        out = Console(highlight=False)
        table = Table(
            "construct", "systems", title=f"{self.systems:,} systems of {self.worlds} worlds, seeds from {self.first}"
        )
        for name in CONSTRUCTS:
            table.add_row(name, f"{self.constructs[name]:,}", style="red" if not self.constructs[name] else "")
        out.print(table)
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.spent.items())
        out.print(f"{len(self.refused)} systems refused; {self.seconds:.0f} s in all ({parts})")
        for reason in self.refused[:5]:
            out.print(f"  refused: {reason}", markup=False, soft_wrap=True)
        for find in self.found:
            out.print(
                f"seed {find['seed']}, within {find['systems_before']:,} systems: {find['differences'][0]}",
                style="red",
                markup=False,
                soft_wrap=True,
            )
        if not self.found:
            out.print("nothing differed", style="green")


def one_world(
    seed: int, systems: int, variants: tuple[str, ...], shrink_seconds: float, avoid: tuple[str, ...] = ()
) -> Any:
    """Compare one world in this process; a failing one comes back shrunk, as a file that runs by itself."""
    from worldloom.testing.campaign import differences, fuzz_world, runnable, scratch, shrink_world

    with scratch() as folder:
        report = fuzz_world(seed, systems, variants, folder, avoid)
        if report.differences:
            text = (
                shrink_world(report.text, report.variants[0], folder, shrink_seconds) if shrink_seconds else report.text
            )
            report.text = runnable(text, [*differences(text, report.variants, folder), *report.differences])
    return report


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), max_tasks_per_child=WORLDS_PER_PROCESS)


def _alone(seed: int, systems: int, variants: tuple[str, ...]) -> Any:
    """A world in a process of its own, after one has crashed: whether this world was the reason."""
    from worldloom.testing.campaign import WorldReport, runnable
    from worldloom.testing.generate import generate

    with _pool(1) as pool:
        try:
            return pool.submit(one_world, seed, systems, variants, 0.0).result()
        except BrokenProcessPool:
            text = generate(seed, systems)
            return WorldReport(
                seed, systems, differences=["the process crashed"], text=runnable(text, ["the process crashed"])
            )


if __name__ == "__main__":
    sys.exit(tyro.cli(Fuzz, config=(tyro.conf.FlagCreatePairsOff,)).run())
