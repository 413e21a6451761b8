"""EnvPool's Figure 7: the same PPO on eight Atari games of several engines, return against the clock.

python benchmarks/papers/envpool_figure7.py --engines worldloom envpool gymnasium --device cpu --limit 120 \
    --out envpool_figure7.json --plot figures
python benchmarks/papers/envpool_figure7.py --engines worldloom gymnasium --device cuda:0 --games Pong-v5 --limit 100
python benchmarks/papers/envpool_figure7.py --engines worldloom --games Pong-v5 --num-steps 8 --total-steps 128

Hyperparameters are those of the paper's Table 3. ``worldloom`` is worldloom's own module with EnvPool's interface, its
consoles on the CPU as EnvPool's are; ``worldloom-gpu`` has them on the GPU. ``gymnasium`` is ale-py behind Gymnasium's
Python wrappers and SyncVectorEnv. Only the engine differs between the lines. A command repeated with the same --out
continues: complete trainings are not repeated, and others resume from their checkpoint, with new games.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import benchmarks_path  # noqa: F401
import numpy as np
import torch
from atari_engines import ENGINES, Engine, Games
from atari_ppo import TABLE, Ppo, PpoSettings
from figures import draw_bands, mean_band
from results import Results, Row, open_results, run_command, show_table
from rich.console import Console
from run import make_console

from worldloom.core.base.device import resolve
from worldloom.learn.runs.checkpoints import Checkpoints


@dataclass
class Settings:
    """Train the same PPO with several engines."""

    engines: tuple[Engine, ...] = ENGINES
    """The engines."""
    games: tuple[str, ...] = tuple(TABLE["games"])
    """The games."""
    seeds: tuple[int, ...] = (0,)
    """Random seeds, one training each; the paper has five."""
    device: str = "auto"
    """Where the network is: cpu, cuda:0, or auto."""
    num_envs: int = TABLE["num_envs"]
    """Games of a training."""
    num_steps: int = TABLE["num_steps"]
    """Steps of a rollout."""
    total_steps: int = TABLE["total_steps"]
    """Steps that end a training, over which the learning rate decreases to 0."""
    limit: float = 540.0
    """Seconds that end a training."""
    piece: float = 540.0
    """Seconds of this command, after which it saves the training under way; 0 for no limit."""
    every: float = 5.0
    """Seconds between two points of a curve."""
    plot: Path | None = None
    """A folder for a figure of each game: return over time."""
    out: Path | None = None
    """A file for the results as JSON, by which a command continues."""


@dataclass(frozen=True)
class Run:
    """One training."""

    game: str
    engine: Engine
    seed: int

    @property
    def key(self) -> str:
        return f"{self.game}/{self.engine}/{self.seed}"


def runs(settings: Settings) -> Iterator[Run]:
    for game in settings.games:
        for seed in settings.seeds:
            for engine in settings.engines:
                yield Run(game, engine, seed)


def is_complete(row: Row | None, settings: Settings) -> bool:
    return row is not None and (row["steps"] >= settings.total_steps or row["total_seconds"] >= settings.limit)


def train(run: Run, settings: Settings, results: Results, stop_at: float, console: Console) -> Row:
    """Train until a limit, from the checkpoint of the last piece where there is one."""
    device = resolve(settings.device)[0]
    torch.manual_seed(run.seed)
    ppo_settings = PpoSettings(settings.num_envs, settings.num_steps, settings.total_steps)
    games = Games(run.engine, run.game, settings.num_envs, run.seed)
    ppo = Ppo(games, ppo_settings, torch.device(str(device.alias)))
    checkpoints = Checkpoints(results.folder(run.key), keep=1)
    row, latest = results.rows.get(run.key), checkpoints.latest()
    earlier, curve = 0.0, []
    if row is not None and latest is not None:
        saved = checkpoints.load(latest)
        ppo.load_state(saved.tensors, saved.state)
        earlier, curve = row["total_seconds"], list(row["curve"])
    next_point, began = earlier, time.perf_counter()
    while True:
        ppo.iterate()
        now = time.perf_counter()
        seconds = earlier + now - began
        ended = seconds >= settings.limit or now >= stop_at or ppo.steps >= settings.total_steps
        if seconds >= next_point or ended:
            next_point = seconds + settings.every
            mean = float(np.mean(ppo.recent)) if ppo.recent else None
            curve.append([seconds, ppo.steps, mean])
            shown = "no game ended" if mean is None else f"return {mean:.1f}"
            rate = ppo.steps / seconds
            console.print(f"{run.key}: {seconds:.0f} s, {ppo.steps:,} steps, {rate:,.0f} steps/s, {shown}")
        if ended:
            break
    row = {**dataclasses.asdict(run), "steps": ppo.steps, "total_seconds": seconds, "seconds": dict(ppo.seconds)}
    row |= {"return": curve[-1][2], "games": len(ppo.recent), "curve": curve, "threads": torch.get_num_threads()}
    tensors, plain = ppo.state()
    checkpoints.save(tensors, plain, iteration=ppo.steps // (settings.num_steps * settings.num_envs), steps=ppo.steps)
    results.put(run.key, row, device)
    games.close()
    return row


def table_rows(settings: Settings, results: Results) -> Iterator[tuple[Any, ...]]:
    """One row per training: rates, shares of the time, the return."""
    for run in runs(settings):
        row = results.rows.get(run.key)
        if row is None:
            yield (run.game, run.engine, run.seed, *(None,) * 8)
            continue
        spent = sum(row["seconds"].values())
        shares = (row["seconds"][part] / spent for part in ("engine", "inference", "update"))
        engine_rate = row["steps"] / row["seconds"]["engine"]
        yield (
            *(run.game, run.engine, run.seed, row["steps"], row["total_seconds"], row["steps"] / row["total_seconds"]),
            *(engine_rate, *shares, row["return"]),
        )


def draw(settings: Settings, results: Results) -> Iterator[Path]:
    """A figure per game: the mean return of the seeds over time."""
    assert settings.plot is not None
    for game in settings.games:
        curves: dict[str, list[list[tuple[float, float]]]] = {}
        for run in runs(settings):
            row = results.rows.get(run.key)
            points = [(s, r) for s, _, r in row["curve"] if r is not None] if row else []
            if run.game == game and points:
                curves.setdefault(run.engine, []).append(points)
        bands = {engine: mean_band(found) for engine, found in curves.items()}
        if bands:
            name = f"envpool_figure7_{game.partition('-')[0].lower()}"
            yield from draw_bands(
                settings.plot / name, f"{game}, {settings.num_envs} games, PPO", "seconds", "return", bands
            )


def main(settings: Settings) -> None:
    console, device = make_console(), resolve(settings.device)[0]
    shared = {name: getattr(settings, name) for name in ("num_envs", "num_steps", "total_steps")}
    results = open_results(settings.out, "envpool_figure7", {**shared, "device": device.alias})
    stop_at = time.perf_counter() + settings.piece if settings.piece else math.inf
    for run in runs(settings):
        if is_complete(results.rows.get(run.key), settings):
            console.print(f"{run.key}: complete, not repeated")
        elif time.perf_counter() >= stop_at:
            console.print(f"{run.key}: left for the next piece, repeat the command to continue")
        else:
            train(run, settings, results, stop_at, console)
    heads = ("game", "engine", "seed", "steps", "seconds", "steps/s", "engine steps/s", "engine", "inference", "update")
    title = f"EnvPool, Figure 7: PPO of Table 3, network on {device.name}; the paper has curves, no figures"
    show_table(console, title, (*heads, "return"), list(table_rows(settings, results)))
    for file in draw(settings, results) if settings.plot is not None else ():
        console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
