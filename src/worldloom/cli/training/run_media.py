"""The pictures of a run: its curve and a video of its policies at play."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition
from worldloom.core.simulation import Simulation
from worldloom.terminal.progress_bar import ProgressBar
from worldloom.view.curve import draw_curve
from worldloom.view.video import write_video

if TYPE_CHECKING:
    from worldloom.learn.play.actors import SavedRun

SEED = 1_000_000
"""Where worlds start that are played in after a training; another place than trainings start from."""


def curve(run: SavedRun, target: Path) -> None:
    """Draw the run's return and episode length."""
    from worldloom.learn.runs.run_folder import read_metrics

    title = f"{run.definition.id} with {run.request.algorithm}, seed {run.request.config.seed}"
    draw_curve(read_metrics(run.folder), target, title, run.request.stop_at)


def video(
    run: SavedRun,
    target: Path,
    *,
    episodes: int = 1,
    seed: int = SEED,
    stochastic: bool = False,
    most: int = 1000,
    enough: int | None = None,
    device: str = "cpu",
) -> int:
    """Play and film; returns the number of pictures."""
    from worldloom.learn.play.frames import record_frames

    if run.definition.render is None:
        raise InputError(f"world '{run.definition.id}' has no renderer: register it with render=...")
    with run.worlds(1, device, seed, reset=False) as worlds, ProgressBar(f"filming {run.definition.id}", most) as bar:
        shown = _CountedFrames(
            record_frames(worlds, run.actors(worlds, stochastic=stochastic, seed=seed), episodes, most, enough), bar
        )
        write_video(shown, target, run.definition.frames_per_second)
    return shown.count


def record_random_video(made: Definition, target: Path, *, episodes: int, seed: int, most: int, device: str) -> int:
    """Film a world in which actions are drawn at random; returns the number of pictures."""
    from worldloom.learn.play.frames import record_random_frames

    with (
        Simulation(made, 1, device, seed=seed, autoreset="disabled") as worlds,
        ProgressBar(f"filming {made.id}", most) as bar,
    ):
        shown = _CountedFrames(record_random_frames(worlds, episodes, most, seed), bar)
        write_video(shown, target, made.frames_per_second)
    return shown.count


class _CountedFrames:
    """Frames on their way into a video, counted."""

    def __init__(self, frames: Iterator[Any], bar: ProgressBar) -> None:
        self.frames, self.bar, self.count = frames, bar, 0

    def __iter__(self) -> Iterator[Any]:
        for frame in self.frames:
            self.count += 1
            self.bar.show(self.count)
            yield frame
