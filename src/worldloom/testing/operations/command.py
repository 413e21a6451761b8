"""The command ``python -m worldloom.testing.operations``: random operations on devices, compared after each of them."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from worldloom.testing.fuzz import process_pool


@dataclass
class Operations:
    """Apply random operations to simulations on several devices, compare them after each, and print what differs.

    Exits with 0 where nothing differs, and with 1 otherwise. The same seed gives the same operations.
    """

    operations: int = 5000
    """Number of operations."""
    seconds: float = 3600.0
    """Time limit in seconds for starting new sequences. Those already running are finished, and shrunk if they fail."""
    per_sequence: int = 100
    """Operations of a sequence, on one world with simulations of its own."""
    variants: str = "python,cpu"
    """Variants to compare, separated by commas; the first is the reference:
    python, cpu, cpu-unfused, cpu-threads, cuda, cuda-unfused, cuda-large, cuda-text. All run in exact mode."""
    seed: int | None = None
    """Seed of the first sequence; the next sequences have the next seeds. Default: from the clock."""
    world: str = ""
    """The id of the world of all sequences; random for the fuzzer's worlds. Default: one for each sequence."""
    processes: int = 1
    """Number of processes that run sequences in parallel."""
    quick: bool = False
    """Compile without optimizations. Results are the same bits."""
    shrink_seconds: float = 120.0
    """Time limit in seconds for shrinking a sequence that fails; 0 to disable shrinking."""
    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        first = int(time.time()) % 10**9 if self.seed is None else self.seed
        reports, start = list[dict[str, Any]](), time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="worldloom-fuzz-") as folder,
            Console(stderr=True).status("operations") as status,
        ):
            os.environ["WARP_CACHE_PATH"] = folder  # worker processes inherit it, and do not fill the user's cache
            for report in self._reports(first):
                reports.append(report)
                done, failed = sum(r["operations"] for r in reports), sum(bool(r["failure"]) for r in reports)
                status.update(f"{done:,} operations, {failed} failures, {time.monotonic() - start:.0f} s")
                if report["failure"] and not self.json:
                    Console().print(report["failure"], markup=False, highlight=False, soft_wrap=True)
        self._print(reports, first, time.monotonic() - start)
        return 1 if any(report["failure"] for report in reports) else 0

    def _reports(self, first: int) -> Iterator[dict[str, Any]]:
        """The reports of all sequences, in the order of their completion."""
        lengths = [
            min(self.per_sequence, self.operations - done) for done in range(0, self.operations, self.per_sequence)
        ]
        options = (tuple(self.variants.split(",")), self.world, self.shrink_seconds, self.quick)
        waiting, running = list(enumerate(lengths, first)), dict[Future[Any], tuple[int, int]]()
        pool, deadline = process_pool(self.processes), time.monotonic() + self.seconds
        try:
            while waiting or running:
                if time.monotonic() > deadline:
                    waiting.clear()
                while waiting and len(running) < self.processes:
                    seed, length = waiting.pop(0)
                    running[pool.submit(one_sequence, seed, length, *options)] = seed, length
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    seed, length = running.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:  # one of the sequences crashed: run each of them alone
                        pool.shutdown(wait=False)
                        pool, crashed = process_pool(self.processes), [(seed, length), *running.values()]
                        running = {}
                        for seed, length in crashed:
                            yield _run_alone(seed, length, *options)
                        break
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _print(self, reports: list[dict[str, Any]], first: int, seconds: float) -> None:
        failed = [report for report in reports if report["failure"]]
        counts = sum((Counter(report["counts"]) for report in reports), Counter[str]())
        worlds = Counter(report["world"] for report in reports)
        total = sum(report["operations"] for report in reports)
        summary = {"first_seed": first, "sequences": len(reports), "operations": total, "variants": self.variants}
        if self.json:
            shown = {"counts": dict(counts), "worlds": dict(worlds), "failures": failed, "seconds": round(seconds, 1)}
            print(json.dumps({**summary, **shown}, indent=2))
            return
        out = Console(highlight=False)
        out.print(", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())), soft_wrap=True)
        out.print(", ".join(f"{name} {number}" for name, number in sorted(worlds.items())), soft_wrap=True)
        seeds = f"seeds {first} to {first + len(reports) - 1}"
        out.print(f"{total:,} operations in {len(reports)} sequences on {self.variants}, {seeds}, {seconds:.0f} s")
        for report in failed:
            again = f"--seed {report['seed']} --operations {report['length']} --per-sequence {report['length']}"
            world = f" --world {self.world}" if self.world else ""
            line = f"python -m worldloom.testing.operations {again} --variants {self.variants}{world}"
            out.print(f"fails: {line}", style="red", markup=False, soft_wrap=True)
        if not failed:
            out.print("nothing differed", style="green")


def one_sequence(
    seed: int, length: int, variants: tuple[str, ...], world: str, shrink_seconds: float, quick: bool
) -> dict[str, Any]:
    """Run one sequence in this process; a report in plain values."""
    from worldloom.testing.campaign import compile_quickly, scratch
    from worldloom.testing.operations import draw, run, shrink

    if quick:
        compile_quickly()
    sequence = draw(seed, length, world)
    with scratch() as folder:
        failure = run(sequence, variants, folder)
        if failure is not None and shrink_seconds:
            failure = shrink(failure, variants[0], folder, shrink_seconds)
    done = sequence.operations if failure is None else failure.sequence.operations
    report = {"seed": seed, "length": length, "world": sequence.world, "operations": len(done)}
    counts = Counter(name for name, _ in done)
    return {**report, "counts": dict(counts), "failure": "" if failure is None else str(failure)}


def _run_alone(seed: int, length: int, *options: Any) -> dict[str, Any]:
    """Run a sequence in a process of its own after a crash, to find out whether this sequence caused it."""
    with process_pool(1) as pool:
        try:
            return pool.submit(one_sequence, seed, length, *options).result()
        except BrokenProcessPool:
            failure = f"the process crashed in the sequence of seed {seed}"
            return {"seed": seed, "length": length, "world": "", "operations": 0, "counts": {}, "failure": failure}
