"""Tag trained against past selves and against the current self at equal steps, and the cross-play of all results.

python benchmarks/opponent_pool.py --device cuda:0 --out opponent_pool
python benchmarks/opponent_pool.py --device cpu --env TagContinuous-v0 --num-envs 8 --num-steps 10 --total-steps 1600
    --seeds 0 --episodes 4 --margin 5 --out opponent_pool

Both trainings have the same settings and take the same steps. In one all worlds are played by the current policies. In
the other, taggers and runners each have a pool: in a share of the worlds past taggers meet the current runners, in an
equal share past runners meet the current taggers. Then every run's taggers meet every run's runners.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import tyro
from rich.console import Console

from worldloom.cli.commands.eval_cross_play import draw_matrix, matrix_table
from worldloom.learn import (
    OpponentPool,
    PPOConfig,
    TrainingRequest,
    cross_play,
    open_run,
    read_metrics,
    run_training,
    tuned_config,
)
from worldloom.learn.config.opponent_pool import PoolSampling
from worldloom.learn.runs.cross_play import CrossPlay

KINDS = ("Tagger", "Runner")
MODES = ("current", "past")
EVALUATION_SEED = 10_000
console = Console(width=160, highlight=False)


@dataclass
class Settings:
    """Compare training against past selves with training against the current self."""

    env: str = "TagContinuousDemo-v0"
    """The world."""
    device: str = "auto"
    """Device of training and evaluation."""
    num_envs: int = 2000
    """Number of worlds."""
    num_steps: int = 50
    """Rollout length."""
    minibatches: int = 10
    """Minibatches of an update."""
    epochs: int = 2
    """Epochs of an update."""
    total_steps: int = 20_000_000
    """World steps of each training."""
    hidden: tuple[int, ...] = (128, 128)
    """Units of each layer."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the trainings."""
    share: float = 0.25
    """Fraction of the worlds of each pool."""
    every: int = 10
    """Iterations between two snapshots."""
    size: int = 16
    """Snapshots of each pool."""
    simultaneous: int = 4
    """Past selves of each pool that act at the same time."""
    swap_every: int = 20
    """Iterations between two draws."""
    sampling: PoolSampling = "recency"
    """How past selves are drawn."""
    margin: float = 104.5
    """Taggers win where their mean return exceeds that of runners by more than this: half of the runners are tagged."""
    episodes: int = 200
    """Episodes of each pair."""
    out: Path = Path("opponent_pool")
    """Folder of the runs, of opponent_pool.json and of opponent_pool.png; runs in it are replaced."""


def train(mode: str, seed: int, settings: Settings) -> Path:
    """One training; returns its folder."""
    folder = settings.out / f"{mode}-s{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    tuned = tuned_config(settings.env, "ppo", PPOConfig, settings.device)
    config = replace(
        tuned,
        num_envs=settings.num_envs,
        num_steps=settings.num_steps,
        minibatches=settings.minibatches,
        epochs=settings.epochs,
        total_steps=settings.total_steps,
        device=settings.device,
        seed=seed,
        policy=replace(tuned.policy, hidden=settings.hidden),
    )
    pool = OpponentPool(
        every=settings.every,
        size=settings.size,
        share=settings.share,
        simultaneous=settings.simultaneous,
        swap_every=settings.swap_every,
        sampling=settings.sampling,
        margin=settings.margin,
    )
    request = TrainingRequest(settings.env, "ppo", config, checkpoint_every=0.0, run_dir=folder)
    if mode == "past":
        runner = {"Runner": {"pool.margin": -settings.margin}}
        request = replace(request, self_play=KINDS, pool=pool, policy_settings=runner)
    result = run_training(request)
    console.print(
        f"{folder.name}: {result.steps:,} steps in {result.seconds:.0f} s, {result.steps_per_second:,.0f} steps/s"
    )
    return folder


def mean_by_mode(result: CrossPlay, names: list[str]) -> dict[str, dict[str, float]]:
    """Mean return of each mode's taggers against all runners, and of its runners against all taggers."""
    means: dict[str, dict[str, float]] = {}
    for mode in MODES:
        own = [i for i, name in enumerate(names) if name.startswith(mode)]
        means[mode] = {
            "Tagger": mean(cell.mean for i in own for cell in result.rows[i]),
            "Runner": mean(row[i].mean for i in own for row in result.columns),
        }
    return means


def main(settings: Settings) -> dict[str, Any]:
    """Train, evaluate and print."""
    settings.out.mkdir(parents=True, exist_ok=True)
    folders = [train(mode, seed, settings) for seed in settings.seeds for mode in MODES]
    names = [folder.name for folder in folders]
    runs = [open_run(folder) for folder in folders]
    result = cross_play(
        runs, settings.episodes, side="Tagger", device=settings.device, seed=EVALUATION_SEED, stochastic=True
    )
    means = mean_by_mode(result, names)
    elo = {
        folder.name: {kind: read_metrics(folder)[-1][f"elo/rating/{kind}"] for kind in KINDS}
        for folder in folders
        if folder.name.startswith("past")
    }
    report = {
        "settings": {**asdict(settings), "out": str(settings.out)},
        "runs": names,
        "mean_return_by_mode": means,
        "elo": elo,
        "rows": [[asdict(cell) for cell in row] for row in result.rows],
        "columns": [[asdict(cell) for cell in row] for row in result.columns],
    }
    (settings.out / "opponent_pool.json").write_text(json.dumps(report, indent=2))
    draw_matrix(result, names, settings.env, settings.out / "opponent_pool.png")
    console.print(f"{settings.env}: mean return ± standard error over {settings.episodes} episodes, taggers of the row")
    console.print(matrix_table(result, names))
    for kind in KINDS:
        past, current = (means[mode][kind] for mode in ("past", "current"))
        console.print(f"{kind}: trained against past selves {past:.4g}, against the current self {current:.4g}")
    return report


if __name__ == "__main__":
    main(tyro.cli(Settings))
