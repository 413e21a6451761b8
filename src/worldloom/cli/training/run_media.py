"""The media of a run: its learning curve, and a video of its policies."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.simulation import Simulation
from worldloom.terminal.progress_bar import ProgressBar
from worldloom.view import draw_curve, write_video

if TYPE_CHECKING:
    from worldloom.learn.runs.saved_run import SavedRun

SEED = 1_000_000
"""Random seed of worlds after training; it differs from the default seed of training."""


def draw_run_curve(run: SavedRun, target: Path) -> None:
    """Draw the run's return and episode length."""
    from worldloom.learn.runs.run_folder import read_metrics

    title = f"{run.definition.id} with {run.request.algorithm}, seed {run.request.config.seed}"
    draw_curve(read_metrics(run.folder), target, title, run.request.stop_at)


def record_video(
    run: SavedRun,
    target: Path,
    *,
    episodes: int = 1,
    seed: int = SEED,
    stochastic: bool = False,
    max_frames: int = 1000,
    min_frames: int | None = None,
    max_seconds: float = math.inf,
    max_frame_rate: float = math.inf,
    tiles: int = 1,
    device: str = "cpu",
    quiet: bool = False,
) -> int:
    """Record a video of a run's policies. Returns the number of frames.

    Args:
        run: The run.
        target: The file: .mp4 or .gif.
        episodes: Number of episodes.
        seed: Random seed of the world and the policies.
        stochastic: Whether actions are sampled instead of the most likely ones.
        max_frames: Maximum number of frames at the world's frame rate.
        min_frames: No further episode begins once there are this many frames at the world's frame rate.
        max_seconds: Wall time after which recording stops, where images take long.
        max_frame_rate: Steps are left out where the world has at least twice as many frames per second; the speed of
            the video is the same.
        tiles: Number of worlds, shown side by side.
        device: Device of the world and the policies.
        quiet: Whether to show no progress.
    """
    from worldloom.learn.play.frames import record_frames

    if run.definition.render is None:
        raise InputError(f"world '{run.definition.id}' has no renderer: register it with render=...")
    frame_rate = run.definition.frames_per_second
    every = max(1, int(frame_rate / max_frame_rate))
    max_frames, min_frames = -(-max_frames // every), None if min_frames is None else -(-min_frames // every)
    with (
        run.worlds(tiles, device, seed, reset=False) as worlds,
        ProgressBar(f"recording {run.definition.id}", max_frames, quiet) as bar,
    ):
        actors = run.actors(worlds, stochastic=stochastic, seed=seed)
        recorded = record_frames(worlds, actors, episodes, max_frames, min_frames, every)
        frames = _CountedFrames(recorded, bar, max_seconds)
        write_video(frames, target, frame_rate / every)
    return frames.count


def record_random_video(
    definition: Definition, target: Path, *, episodes: int, seed: int, max_frames: int, tiles: int, device: str
) -> int:
    """Record a video of random actions in a world. Returns the number of frames."""
    from worldloom.learn.play.frames import record_random_frames

    with (
        Simulation(definition, tiles, device, seed=seed, autoreset="disabled") as worlds,
        ProgressBar(f"recording {definition.id}", max_frames) as bar,
    ):
        frames = _CountedFrames(record_random_frames(worlds, episodes, max_frames, seed), bar)
        write_video(frames, target, definition.frames_per_second)
    return frames.count


class _CountedFrames:
    """Frames of a video, counted as they are read, until ``max_seconds`` have passed."""

    def __init__(self, frames: Iterator[Any], bar: ProgressBar, max_seconds: float = math.inf) -> None:
        self.frames, self.bar, self.count = frames, bar, 0
        self.deadline = time.monotonic() + max_seconds

    def __iter__(self) -> Iterator[Any]:
        for frame in self.frames:
            self.count += 1
            self.bar.show(self.count)
            yield frame
            if time.monotonic() > self.deadline:
                return
