"""WarpDrive's Figure 10: the same A2C in continuous Tag on a CPU and on a GPU, episode reward against the clock.

python benchmarks/papers/warpdrive_figure10.py --devices cpu cuda:0 --seeds 0 1 2 --limit 90 15 --out figure10.json
python benchmarks/papers/warpdrive_figure10.py --devices cpu --num-envs 4 --num-steps 8 --episode-length 8 \
    --total-steps 96

As published: 2 taggers, 10 runners and 60 worlds, the same settings on both devices. The paper does not state the rest:
square, rewards, episodes of 500 steps, discount, network and weights are those of WarpDrive's tag_continuous.yaml, and
rollouts have 100 steps. The clock starts with the first iteration. The level is 90 % of the way from the lowest first
return of a tagger to the lowest best one, over all trainings; the time to it is that of the first mean above it. A
training that --out has is not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import benchmarks_path  # noqa: F401
from figures import draw_bands, mean_band
from published import published
from results import Results, Row, open_results, run_command, show_table
from rich.console import Console
from run import make_console
from tag import PUBLISHED_FIELD

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.base.errors import InputError
from worldloom.envs.tag.continuous import continuous_tag
from worldloom.learn import A2C, A2CConfig, Callback, PolicyConfig, PolicyGroup, Progress
from worldloom.learn.training.trainer import Trainer

FIGURE = published("warpdrive")["figure10"]
LEVEL = 0.9
"""Share of the improvement that the level stands for."""


@dataclass
class Settings:
    """Train the same A2C on several devices."""

    devices: tuple[str, ...] = ("cpu",)
    """Devices: cpu, cuda:0 or both."""
    seeds: tuple[int, ...] = (0,)
    """Random seeds, one training per device each."""
    num_envs: int = FIGURE["worlds"]
    """Worlds."""
    num_steps: int = 100
    """Steps of a rollout."""
    episode_length: int = 500
    """Steps of an episode."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each layer of both networks."""
    total_steps: int = 30_000_000
    """World steps that end a training."""
    limit: tuple[float, ...] = (60.0,)
    """Seconds that end a training: one number for all devices, or one for each."""
    plot: Path | None = None
    """A folder for the figure: return of the taggers over time."""
    out: Path | None = None
    """A file for the results as JSON; a training that it has is not repeated."""


def tag_world(episode_length: int) -> wl.Definition:
    """Continuous Tag with the published players, all of whom observe each other."""
    game: dict[str, Any] = {
        **PUBLISHED_FIELD,
        "taggers": FIGURE["taggers"],
        "runners": FIGURE["runners"],
        "acceleration_levels": 20,
        "turn_levels": 20,
        "tag_reward_for_tagger": 10.0,
        "tag_penalty_for_runner": -10.0,
        "end_of_game_reward_for_runner": 1.0,
    }
    return continuous_tag("PaperTag-v0", episode_length=episode_length, replace=True, **game)


def make_trainer(settings: Settings, device: str, seed: int) -> A2C:
    """A2C with a policy for each kind."""
    config = A2CConfig(
        num_envs=settings.num_envs,
        num_steps=settings.num_steps,
        total_steps=settings.total_steps,
        device=device,
        seed=seed,
        gamma=0.98,
        learning_rate=1e-3,
        value_weight=1.0,
        entropy_weight=0.05,
        policy=PolicyConfig(hidden=settings.hidden, activation="relu"),
    )
    groups = {"tagger": PolicyGroup("Tagger"), "runner": PolicyGroup("Runner")}
    return A2C(tag_world(settings.episode_length), config, policy_groups=groups)


@dataclass
class Curve(Callback):
    """Notes the mean returns of recent episodes, and stops at the limit."""

    limit: float
    points: list[list[float | None]] = field(default_factory=list)

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        returns = (progress.metrics[f"episode/return/{policy}"] for policy in ("tagger", "runner"))
        known = [value if math.isfinite(value) else None for value in returns]
        self.points.append([progress.seconds, progress.steps, *known])
        if progress.seconds >= self.limit:
            trainer.stop()


def train(settings: Settings, device: str, seed: int) -> Row:
    """One training: its curve, (seconds, steps, return of a tagger, return of a runner) per iteration."""
    limits = dict(zip(settings.devices, settings.limit * len(settings.devices), strict=False))
    trainer, curve = make_trainer(settings, device, seed), Curve(limits[device])
    trainer.learn(settings.total_steps, callbacks=curve)
    seconds, steps = trainer.seconds, trainer.steps
    trainer.simulation.close()
    return {"device": device, "seed": seed, "seconds": seconds, "steps": steps, "curve": curve.points}


def taggers(row: Row) -> list[tuple[float, float]]:
    """Seconds and mean return of a tagger, where episodes have ended."""
    return [(seconds, value) for seconds, _, value, _ in row["curve"] if value is not None]


def common_level(curves: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """A return that all curves reach: ``LEVEL`` of the way from the lowest first return to the lowest best one."""
    if not curves or not all(curves):
        return None
    first = min(curve[0][1] for curve in curves)
    lowest = min(max(value for _, value in curve) for curve in curves)
    return first + LEVEL * (lowest - first)


def seconds_to(curve: Sequence[tuple[float, float]], level: float) -> float | None:
    """Seconds of the first point at or above ``level``."""
    return next((seconds for seconds, value in curve if value >= level), None)


def table_rows(settings: Settings, results: Results) -> Iterator[tuple[Any, ...]]:
    """One row per training, with the times that the first device takes longer for the same seed."""
    found = {key: taggers(row) for key, row in results.rows.items()}
    shown = {f"{device}/{seed}" for device in settings.devices for seed in settings.seeds} & set(found)
    level = common_level([found[key] for key in shown])
    for seed in settings.seeds:
        base = None
        for device in settings.devices:
            row, curve = results.rows.get(f"{device}/{seed}"), found.get(f"{device}/{seed}", [])
            reached = seconds_to(curve, level) if level is not None else None
            base = base or reached
            times = base / reached if base and reached and device != settings.devices[0] else None
            rate = row["steps"] / row["seconds"] if row else None
            best = max((value for _, value in curve), default=None)
            published_times = float(FIGURE["times_faster"]) if resolve(device)[0].is_cuda else None
            yield (device, seed, row and row["steps"], rate, best, level, reached, times, published_times)


def draw(settings: Settings, results: Results) -> list[Path]:
    """The mean return of a tagger over time on each device."""
    assert settings.plot is not None
    bands = {}
    for device in settings.devices:
        rows = [results.rows[key] for seed in settings.seeds if (key := f"{device}/{seed}") in results.rows]
        curves = [curve for row in rows if (curve := taggers(row))]
        if curves:
            bands[resolve(device)[0].name] = mean_band(curves)
    title = f"Continuous Tag, {FIGURE['taggers']} taggers, {FIGURE['runners']} runners, {settings.num_envs} worlds"
    return draw_bands(settings.plot / "warpdrive_figure10", title, "seconds", "return of a tagger", bands)


def main(settings: Settings) -> None:
    console: Console = make_console()
    if len(settings.limit) not in (1, len(settings.devices)):
        raise InputError(
            f"--limit has {len(settings.limit)} numbers for {len(settings.devices)} devices: give one for each"
        )
    ignored = ("devices", "seeds", "limit", "plot", "out")
    shared = {name: value for name, value in asdict(settings).items() if name not in ignored}
    results = open_results(settings.out, "warpdrive_figure10", shared)
    for seed in settings.seeds:
        for device in settings.devices:
            key = f"{device}/{seed}"
            if key in results.rows:
                console.print(f"{key}: complete, not repeated")
                continue
            row = train(settings, device, seed)
            results.put(key, row, resolve(device)[0])
            best = max((value for _, value in taggers(row)), default=None)
            console.print(f"{key}: {row['steps']:,} world steps in {row['seconds']:.1f} s, best return {best}")
    heads = ("device", "seed", "steps", "steps/s", "best", "level", "seconds to it", "times faster", "published")
    title = "WarpDrive, Figure 10: published on a 16-CPU node and an A100"
    show_table(console, title, heads, list(table_rows(settings, results)))
    for file in draw(settings, results) if settings.plot is not None else ():
        console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
