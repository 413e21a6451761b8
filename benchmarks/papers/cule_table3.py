"""CuLE's Table 3 and Figure 5: A2C + V-trace until a policy reaches a score in ale-py's emulator.

python benchmarks/papers/cule_table3.py --device cuda:0 --games Pong-v5 --consoles 120 1200 --seeds 0 --limit 120 \
    --out cule_table3.json --plot figures
python benchmarks/papers/cule_table3.py --device cuda:0 --keep-on --out cule_figure5.json --plot figures    # Figure 5
python benchmarks/papers/cule_table3.py --device cpu --games Pong-v5 --consoles 4 --batching 2/4/1 --frames 64 \
    --every 32 --episodes 2 --game-steps 20

A training's policy plays whole games in ale-py every 500,000 training frames, the resolution of the paper's table. The
clock stands meanwhile; it runs from the first iteration, so that the autotuning and graph capture of PyTorch count.
A training frame is one step of one console, four frames of the game. A command repeated with the same --out continues:
complete trainings are not repeated, and one that --piece interrupted resumes from its checkpoint beside the file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import benchmarks_path  # noqa: F401
from ale_games import AleTest
from cule_runs import CuleRun, Limits, columns, is_complete, train
from figures import Band, draw_bands, mean_band
from published import published
from results import Results, open_results, run_command, show_table
from rich.console import Console
from run import make_console

from worldloom.core.base.device import resolve
from worldloom.core.base.errors import InputError

TABLE = published("cule")["table3"]
FRAMES = published("cule")["figure5"]["frames"]
HEADS = (
    *("game", "consoles", "batches", "N", "SPU", "seed", "K frames/s", "updates/s", "minutes", "M frames", "best"),
    *("published engine", "K frames/s", "updates/s", "minutes", "M frames"),
)


@dataclass
class Settings:
    """Train with A2C + V-trace as CuLE's paper did, and test in ale-py."""

    device: str = "auto"
    """Where to train: cpu, cuda:0, or auto."""
    games: tuple[str, ...] = tuple(TABLE["games"])
    """The games; the published ones have a score, others need --score."""
    consoles: tuple[int, ...] = (120, 1200)
    """Numbers of consoles."""
    batching: tuple[str, ...] = ("20/20/1", "5/5/1", "1/5/5")
    """Batches, N and SPU of a training."""
    seeds: tuple[int, ...] = (0,)
    """Random seeds, one training each."""
    limit: float = 540.0
    """Seconds of a training, tests not counted."""
    piece: float = 540.0
    """Seconds of this command, after which it saves the training under way; 0 for no limit."""
    score: float | None = None
    """Score that ends a training; by default the published one."""
    frames: int | None = None
    """Training frames that end a training; by default those of Figure 5."""
    every: int = 500_000
    """Training frames between two tests."""
    first: int = 0
    """Training frames before the first test."""
    episodes: int = 32
    """Games of a test."""
    game_steps: int = published("cule")["program"]["max_game_steps"]
    """Steps after which a game of a test is cut off."""
    keep_on: bool = False
    """Train on after the score, for the curves of Figure 5."""
    precision: Literal["fp32", "bf16"] | None = None
    """Precision of the network; by default the game's: bf16 on a GPU."""
    plot: Path | None = None
    """A folder for a figure of every game: score in ale-py over training time."""
    out: Path | None = None
    """A file for the results as JSON, by which a command continues."""


def runs(settings: Settings) -> Iterator[CuleRun]:
    """The trainings, those with the fewest updates last."""
    for game in settings.games:
        if game not in TABLE["games"] and (settings.score is None or settings.frames is None):
            raise InputError(f"the paper has no score for {game}: give --score and --frames")
        for text in settings.batching:
            try:
                batches, num_steps, spu = (int(part) for part in text.split("/"))
            except ValueError:
                raise InputError(f"--batching {text} is not of the form batches/N/SPU, such as 20/20/1") from None
            for consoles in settings.consoles:
                for seed in settings.seeds:
                    yield CuleRun(game, consoles, batches, num_steps, spu, seed)


def limits_of(settings: Settings, run: CuleRun, stop_at: float) -> Limits:
    score = TABLE["games"][run.game]["score"] if settings.score is None else settings.score
    frames = FRAMES[run.game] if settings.frames is None else settings.frames
    return Limits(score, frames, settings.limit, settings.every, settings.first, settings.keep_on, stop_at)


def table_rows(run: CuleRun, row: dict[str, Any] | None) -> Iterator[tuple[Any, ...]]:
    """A training beside every published column with its settings."""
    own: tuple[Any, ...] = (None,) * 5
    if row is not None:
        minutes, frames = row["reached_seconds"], row["reached_frames"]
        best = max((test["score"] for test in row["tests"]), default=None)
        reached = (minutes and minutes / 60.0, frames and frames / 1e6)
        own = (row["kfps"], row["ups"], *reached, best)
    head = (run.game, run.consoles, run.batches, run.num_steps, run.steps_per_update, run.seed, *own)
    for engine, figures in columns(run) or [("none", {})]:
        yield (*head, engine, *(figures.get(name) for name in ("kfps", "ups", "minutes", "mframes")))


def draw(settings: Settings, results: Results) -> list[Path]:
    """A figure per game: the mean score of the seeds in ale-py over training time, and their standard deviation."""
    files: list[Path] = []
    for game in settings.games:
        bands: dict[str, Band] = {}
        curves: dict[str, list[list[tuple[float, float]]]] = {}
        for run in runs(settings):
            row = results.rows.get(run.key)
            if run.game == game and row is not None and row["tests"]:
                label = (
                    f"{run.consoles:,} consoles, {run.batches} batches, N {run.num_steps}, SPU {run.steps_per_update}"
                )
                curves.setdefault(label, []).append([(t["seconds"], t["score"]) for t in row["tests"]])
        bands = {label: mean_band(found) for label, found in curves.items()}
        if bands and settings.plot is not None:
            score = TABLE["games"].get(game, {}).get("score") if settings.score is None else settings.score
            file = settings.plot / f"cule_figure5_{game.partition('-')[0].lower()}"
            files += draw_bands(file, f"{game}, tested in ale-py", "training, seconds", "score", bands, goal=score)
    return files


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    console: Console = make_console()
    shared = {"episodes": settings.episodes, "game_steps": settings.game_steps, "device": device.alias}
    results = open_results(settings.out, "cule_table3", shared | {"precision": settings.precision})
    stop_at = time.perf_counter() + settings.piece if settings.piece else math.inf
    for run in runs(settings):
        limits = limits_of(settings, run, stop_at)
        if is_complete(results.rows.get(run.key), limits):
            console.print(f"{run.key}: complete, not repeated")
            continue
        if time.perf_counter() >= stop_at:
            console.print(f"{run.key}: left for the next piece, repeat the command to continue")
            continue
        test = AleTest(run.game, settings.episodes, settings.game_steps)
        train(run, limits, test, results, device.alias, settings.precision, console)
    shown = [cells for run in runs(settings) for cells in table_rows(run, results.rows.get(run.key))]
    show_table(console, f"CuLE, Table 3: worldloom on {device.name}, published on a Titan V", HEADS, shown)
    for file in draw(settings, results) if settings.plot is not None else ():
        console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
