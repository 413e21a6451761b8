"""Every game of the Atari 2600 against ALE, frame by frame; the table goes to docs/worlds/atari_parity.md.

Run as ``make parity-atari``, or with fewer frames:
``python tests/parity/atari_report.py --episodes 2 --frames 1000 --games pong,breakout``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from references.lockstep import LONGEST_HOLD, PARTS, Finding, Lockstep, Place
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from worldloom.atari.emulator.console_kernels import kernels
from worldloom.atari.games.game_table import GAMES
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY

DOCUMENT = Path(__file__).parents[2] / "docs" / "worlds" / "atari_parity.md"
BATCH = 13
"""Games per process."""

PAGE = """\
# Atari: equal to ALE

Each game runs with random actions in Worldloom's emulator and in ale-py in lockstep, from ALE's own start. After every
frame the 128 bytes of RAM, every pixel of the picture, the reward, the lives and the end of the game are compared. Half
of the episodes draw actions from the minimal action set and half from all 18; half of them hold an action for up to
{hold} frames. An episode lasts until the game is over, or 3,000 frames. The next one starts with a reset of both
consoles, which keeps their memory.
`make parity-atari` regenerates this table.

Behaviour that no game uses is compared as well: tests run programs that write to every TIA register at every clock of a
scanline, in frames of any length, and play random modes and difficulties. Adventure is the exception: in its modes 1
and 2 ALE places its objects by the wall clock.

Every frame is drawn in this comparison. In a step of several frames only the last two are drawn. A game that ends one
of these before its last scanline then shows below it what was drawn one step ago, not two frames ago. Video Checkers
and 3-D Tic-Tac-Toe do so occasionally.

Of {games} games, {ram} have equal RAM, {pictures} equal pictures and {rules} equal rewards, lives and ends, over
{frames:,} frames. The table names the first frame that differs.

| game | cartridge | episodes | frames | RAM | picture | rules |
|---|---|---:|---:|---|---|---|
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--episodes", type=int, default=10, help="episodes of each game, if none ends early; default 10"
    )
    parser.add_argument("--frames", type=int, default=3000, help="maximum frames of an episode; default 3,000")
    parser.add_argument("--games", default="", help="comma-separated names; default all")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write the table to {DOCUMENT.name}")
    chosen = parser.parse_args(arguments)
    names = (
        chosen.games.split(",") if chosen.games else [game.name for game in GAMES if game.name not in MULTIPLAYER_ONLY]
    )
    kernels()  # compiled once, for all processes
    began = time.perf_counter()
    findings = compare(names, chosen.episodes * chosen.frames, chosen.frames, chosen.seed, chosen.processes)
    took = time.perf_counter() - began
    Console().print(result_table(findings, took))
    if chosen.write:
        DOCUMENT.write_text(document(findings))
    return int(any(finding.differs for finding in findings))


def compare(names: Sequence[str], total: int, longest: int, seed: int, processes: int) -> list[Finding]:
    """Compare ``total`` frames of each game, in separate processes."""
    size = min(BATCH, -(-len(names) // processes))
    batches = [names[first : first + size] for first in range(0, len(names), size)]
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    bar = (TextColumn("frames"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with ProcessPoolExecutor(processes, context, _share, (done,)) as pool, Progress(*bar) as progress:
        task = progress.add_task("frames", total=total * len(names))
        finished = threading.Event()
        watcher = threading.Thread(target=_watch, args=(progress, task, done, finished))
        watcher.start()
        try:
            results = list(pool.map(_compare_batch, batches, repeat(total), repeat(longest), repeat(seed)))
        finally:
            finished.set()
            watcher.join()
    return sorted((finding for batch in results for finding in batch), key=lambda finding: finding.game)


def _watch(progress: Progress, task: Any, done: Any, finished: threading.Event) -> None:
    while not finished.wait(1.0):
        progress.update(task, completed=done.value)


def _share(done: Any) -> None:
    global _done
    _done = done


def _compare_batch(names: Sequence[str], total: int, longest: int, seed: int) -> list[Finding]:
    def count(frames: int) -> None:
        with _done.get_lock():
            _done.value += frames

    return Lockstep(names, longest, seed).run(total, count)


def result_text(finding: Finding, part: str) -> str:
    return "equal" if part not in finding.differs else at(finding.differs[part])


def at(place: Place) -> str:
    return f"episode {place.episode + 1}, " + ("start" if place.frame < 0 else f"frame {place.frame + 1}")


def result_table(findings: Sequence[Finding], took: float) -> Table:
    equal = sum(not finding.differs for finding in findings)
    frames = sum(finding.frames for finding in findings)
    table = Table(
        title=f"{equal} of {len(findings)} games equal to ALE over {frames:,} frames, in {took / 60:.1f} minutes"
    )
    for column in ("game", "cartridge", "episodes", "frames", *PARTS):
        table.add_column(column, justify="right" if column in ("episodes", "frames") else "left")
    for finding in findings:
        colour = "red" if finding.differs else "green"
        table.add_row(
            finding.game,
            finding.cartridge,
            str(finding.episodes),
            f"{finding.frames:,}",
            *(f"[{colour}]{result_text(finding, part)}" for part in PARTS),
        )
    return table


def document(findings: Sequence[Finding]) -> str:
    counts = [sum(part not in finding.differs for finding in findings) for part in PARTS]
    frames = sum(finding.frames for finding in findings)
    head = PAGE.format(
        games=len(findings), ram=counts[0], pictures=counts[1], rules=counts[2], frames=frames, hold=LONGEST_HOLD
    )
    rows = [
        [
            finding.game,
            finding.cartridge,
            str(finding.episodes),
            f"{finding.frames:,}",
            *(result_text(finding, part) for part in PARTS),
        ]
        for finding in findings
    ]
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
