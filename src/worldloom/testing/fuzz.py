"""The command ``python -m worldloom.testing.fuzz``: random worlds on devices, compared with the reference."""

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

from worldloom.testing.coverage import CONSTRUCTS, NEAR

DEVICES: dict[str, tuple[str, ...]] = {
    "python": ("python",),
    "cpu": ("cpu", "cpu-threads", "cpu-unfused", "cpu-exact"),
    "cuda-text": ("cuda-text", "cuda-text-exact"),
    "cuda": ("cuda", "cuda-exact", "cuda-large"),
    "cuda:0": ("cuda", "cuda-exact", "cuda-large"),
}
"""The variants of each device."""


def rotated(variants: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """The first variant, those that compile no kernels of their own, and one of the others in rotation."""
    compiled = [v for v in variants if v not in ("python", "cpu-threads")]
    others = compiled[1:]
    skipped = {v for index, v in enumerate(others) if index != seed % len(others)} if others else set()
    return tuple(v for v in variants if v not in skipped)


WORLDS_PER_PROCESS = 12
"""Number of worlds that one process compares before it is replaced, since compiled modules stay in memory."""


@dataclass
class Fuzz:
    """Compare random worlds on devices with the reference interpreter, and print each failing world after shrinking.

    Exits with 0 where no world differs, and with 1 otherwise. The same seed gives the same worlds.
    """

    seconds: float = 600.0
    """Time limit in seconds for starting new worlds. Worlds already running are finished, and shrunk if they fail."""
    seed: int | None = None
    """Seed of the first world; the next worlds have the next seeds. Default: from the clock."""
    worlds: int | None = None
    """Maximum number of worlds."""
    systems_per_world: int = 60
    """Number of systems per world, without those of sequences. They share one compilation."""
    devices: str = "cpu"
    """Devices to compare, separated by commas: python, cpu, cuda, and cuda-text, which runs the kernels of CUDA by
    threads of Python, without a GPU and without queries of neighbours."""
    variants: str = ""
    """Variants to compare instead of devices, separated by commas:
    python, cpu, cpu-unfused, cpu-exact, cpu-threads, cuda, cuda-unfused, cuda-exact, cuda-large, cuda-text,
    cuda-text-exact."""
    systems: int | None = None
    """Number of systems after which no new worlds start."""
    quick: bool = False
    """Compile without optimizations, in two thirds of the time. Results are the same bits."""
    rotate: bool = False
    """Compare each world on the first variant and on one of the others in turn: twice the worlds in the same time."""
    avoid: tuple[str, ...] = ()
    """Skip systems that contain one of these constructs, named as in the report, for example for a known failure."""
    processes: int = 1
    """Number of processes that compare worlds in parallel."""
    shrink_seconds: float = 240.0
    """Time limit in seconds for shrinking a failing world; 0 to disable shrinking."""
    finds: int = 3
    """Maximum number of failing worlds; 0 for no limit."""
    output: Path | None = None
    """Folder for the files of failing worlds."""
    json: bool = False
    """Print JSON."""

    @property
    def avoided(self) -> tuple[str, ...]:
        """What systems must not contain."""
        text_runs = "cuda-text" in f"{self.devices},{self.variants}"
        return (*self.avoid, *(NEAR if text_runs else ()))

    def run(self) -> int:
        first = int(time.time()) % 10**9 if self.seed is None else self.seed
        variants = self.variants.split(",") if self.variants else []
        variants = variants or [variant for device in self.devices.split(",") for variant in DEVICES[device]]
        campaign = Campaign(self, first, tuple(variants))
        start = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="worldloom-fuzz-") as folder,
            Console(stderr=True).status("fuzzing") as status,
        ):
            os.environ["WARP_CACHE_PATH"] = folder  # worker processes inherit it, and do not fill the user's cache
            for report in campaign.reports():
                campaign.add(report)
                counts = f"{campaign.worlds} worlds, {campaign.systems:,} systems, {len(campaign.found)} finds"
                status.update(f"{counts}, {time.monotonic() - start:.0f} s")
        campaign.seconds = time.monotonic() - start
        campaign.print(self.json)
        return 1 if campaign.found else 0


@dataclass
class Campaign:
    """The worlds of one command, and their results."""

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
        """The reports of all worlds, in the order of their completion."""
        settings, seed, running = self.settings, self.first, dict[Future[Any], int]()
        deadline, pool = time.monotonic() + settings.seconds, process_pool(settings.processes)
        try:
            while True:
                while self._starts(seed) and len(running) < settings.processes and time.monotonic() < deadline:
                    running[pool.submit(one_world, seed, **self._options(seed))] = seed
                    seed += 1
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    finished = running.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        pool.shutdown(wait=False)
                        pool = process_pool(settings.processes)
                        unfinished, running = [finished, *running.values()], {}
                        for one in unfinished:
                            yield _run_isolated(one, self._options(one))
                        break
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _options(self, seed: int) -> dict[str, Any]:
        """The arguments of :func:`one_world` for a seed."""
        settings = self.settings
        return {
            "systems": settings.systems_per_world,
            "variants": rotated(self.variants, seed) if settings.rotate else self.variants,
            "shrink_seconds": settings.shrink_seconds,
            "avoid": settings.avoided,
            "quick": settings.quick,
        }

    def _starts(self, seed: int) -> bool:
        """Whether the world of a seed lies within the limits on worlds and on finds."""
        settings = self.settings
        within = settings.worlds is None or seed - self.first < settings.worlds
        within &= settings.systems is None or self.systems < settings.systems
        return within and not (settings.finds and len(self.found) >= settings.finds)

    def add(self, report: Any) -> None:
        self.worlds += 1
        self.systems += report.systems
        self.refused += report.refused
        self.constructs += report.constructs
        for name, seconds in report.seconds.items():
            self.spent[name] += seconds
        if report.differences:
            find = {"seed": report.seed, "systems_before": self.systems}
            self.found.append({**find, "differences": report.differences, "world": report.text})
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
        seeds = f"seeds {self.first} to {self.first + self.worlds - 1}"
        title = f"{self.systems:,} systems of {self.worlds} worlds, {seeds}"
        table = Table("construct", "systems", title=title)
        for name in CONSTRUCTS:
            table.add_row(name, f"{self.constructs[name]:,}", style="red" if not self.constructs[name] else "")
        out.print(table)
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.spent.items())
        out.print(f"{len(self.refused)} systems refused; {self.seconds:.0f} s in all ({parts})")
        for reason in self.refused[:5]:
            out.print(f"  refused: {reason}", markup=False, soft_wrap=True)
        for find in self.found:
            line = f"seed {find['seed']}, within {find['systems_before']:,} systems: {find['differences'][0]}"
            out.print(line, style="red", markup=False, soft_wrap=True)
        if not self.found:
            out.print("nothing differed", style="green")


def one_world(
    seed: int,
    systems: int,
    variants: tuple[str, ...],
    shrink_seconds: float,
    avoid: tuple[str, ...] = (),
    quick: bool = False,
) -> Any:
    """Compare one world in this process. The text of a failing one is shrunk, and becomes a script."""
    from worldloom.testing.campaign import compile_quickly, differences, fuzz_world, runnable, scratch, shrink_world

    if quick:
        compile_quickly()
    with scratch() as folder:
        report = fuzz_world(seed, systems, variants, folder, avoid)
        if report.differences:
            text = report.text
            if shrink_seconds:
                text = shrink_world(text, report.variants[0], folder, shrink_seconds)
            report.text = runnable(text, [*differences(text, report.variants, folder), *report.differences])
    return report


def process_pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), max_tasks_per_child=WORLDS_PER_PROCESS)


def _run_isolated(seed: int, options: dict[str, Any]) -> Any:
    """Compare a world in a process of its own after a crash, to find out whether this world caused it."""
    from worldloom.testing.campaign import WorldReport, runnable
    from worldloom.testing.generator.worlds import generate

    systems = options["systems"]
    with process_pool(1) as pool:
        try:
            return pool.submit(one_world, seed, **{**options, "shrink_seconds": 0.0}).result()
        except BrokenProcessPool:
            crash = ["the process crashed"]
            return WorldReport(seed, systems, differences=crash, text=runnable(generate(seed, systems), crash))


if __name__ == "__main__":
    sys.exit(tyro.cli(Fuzz, config=(tyro.conf.FlagCreatePairsOff,)).run())
