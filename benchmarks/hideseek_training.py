"""HideSeek learned by both teams: returns, world steps per second and the statistics that show the stages of play.

python benchmarks/hideseek_training.py --device cuda:0 --seconds 480 --run-dir runs/hideseek    # once for each part
python benchmarks/hideseek_training.py --device cuda:0 --seconds 0 --run-dir runs/hideseek --video

Trains with the default settings of ``worldloom train``, changed by ``--set``, against a pool of past selves where
``--pool`` is positive. A command whose folder holds a run continues it bit for bit. ``metrics.jsonl`` of the folder
holds the means of the last episodes of all worlds as ``episode/boxes_moved_before`` and so on: distances that boxes and
ramps moved before and after the preparation, locks of each team, the fraction of steps in which a hider was seen, and
passages through doors. Every part draws returns (``curve.png``) and these statistics (``stages.png``); ``--video``
records the policies. `worldloom eval` and `worldloom play` take the folder, too.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from worldloom.cli.training.run_media import draw_run_curve, record_video
from worldloom.learn import OpponentPool, PPOConfig, StopAfter
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.saved_run import open_run
from worldloom.learn.runs.training_run import TrainingRequest, run_training

ID = "HideSeek-v0"
KINDS = ("Hider", "Seeker")
STAGES = {
    "boxes moved, m": ("boxes_moved_before", "boxes_moved_after"),
    "ramps moved, m": ("ramps_moved_before", "ramps_moved_after"),
    "locks": ("hider_locks", "seeker_locks"),
    "passages through doors": ("hider_entries", "seeker_entries"),
    "fraction of steps in which a hider is seen": ("spotted_fraction",),
    "return": ("return/Hider", "return/Seeker"),
}
"""Metrics of each panel of the picture, without ``episode/``."""


@dataclass
class Settings:
    """Train HideSeek, and record the stages of play."""

    run_dir: Path = Path("runs/hideseek")
    """The folder of the run; the same command continues the run that it holds."""
    device: str = "auto"
    """cpu or cuda:0."""
    seconds: float = 480.0
    """Time of this part of the training; 0 for none, only its pictures."""
    seed: int = 0
    """Random seed."""
    pool: float = 0.1
    """Share of the worlds in which past selves act, for each team; 0 for the current policies alone."""
    set: tuple[str, ...] = ()
    """Settings of the training, as in num_envs=512 or policy.memory="lstm"."""
    config: tuple[str, ...] = ()
    """Configuration of the worlds, as in hiders=2."""
    video: bool = False
    """Whether to record a video of four worlds at the end, video.mp4."""


def assignments(texts: tuple[str, ...]) -> dict[str, Any]:
    """Values by name, of texts such as num_envs=512."""
    return {name: ast.literal_eval(text) for name, _, text in (change.partition("=") for change in texts)}


def training_config(settings: Settings) -> PPOConfig:
    """The default settings with those of the command line."""
    config = replace(tuned_config(ID, "ppo", PPOConfig, settings.device), device=settings.device, seed=settings.seed)
    assert isinstance(config, PPOConfig)
    for name, value in assignments(settings.set).items():
        if name.startswith("policy."):
            config = replace(config, policy=replace(config.policy, **{name.removeprefix("policy."): value}))
        else:
            config = replace(config, **{name: value})
    return config


def draw_stages(rows: Sequence[dict[str, float]], target: Path) -> None:
    """Draw the metrics of ``STAGES`` over world steps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 9.0), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, names) in zip(figure.subplots(3, 2, sharex=True).flat, STAGES.items(), strict=True):
        for name in names:
            key = f"episode/{name}"
            known = [row for row in rows if math.isfinite(row.get(key, math.nan))]
            axes.plot([row["steps"] for row in known], [row[key] for row in known], label=name)
        axes.set(title=title, xlabel="world steps")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(target)


def main(settings: Settings) -> None:
    if settings.seconds > 0.0:
        request = TrainingRequest(
            ID,
            "ppo",
            training_config(settings),
            assignments(settings.config),
            run_dir=settings.run_dir,
            resume="auto",
            self_play=KINDS if settings.pool > 0.0 else (),
            pool=OpponentPool(share=settings.pool) if settings.pool > 0.0 else OpponentPool(),
        )
        result = run_training(request, [StopAfter(settings.seconds)])
        print(f"{result.steps:,} world steps in all, {result.steps_per_second:.3g} per second")
    run = open_run(settings.run_dir)
    rows = read_metrics(settings.run_dir)
    draw_run_curve(run, settings.run_dir / "curve.png")
    draw_stages(rows, settings.run_dir / "stages.png")
    if settings.video:
        record_video(run, settings.run_dir / "video.mp4", episodes=2, stochastic=True, tiles=4, quiet=True)
    print(json.dumps(rows[-1], indent=2))


if __name__ == "__main__":
    main(tyro.cli(Settings))
