"""``worldloom play``: a video of the policies of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.cli import console
from worldloom.cli.settings import Run, Switch, require_positive


@dataclass
class Play:
    """Film the policies of a run at play in one world."""

    run_dir: Run
    """The folder of a run, as `worldloom train` leaves it."""
    video: str
    """The file to write: .mp4 or .gif."""
    episodes: int = 1
    """Episodes to play."""
    max_frames: int = 3000
    """Pictures after which the video ends."""
    env: str = ""
    """The file that registers the run's world, as in pond.py; a registered world need not be named."""
    checkpoint: str = "last"
    """Which policies: last, best, or a checkpoint of the run by its name or path."""
    device: str = "cpu"
    """Where the world and the policies run: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Where the random numbers of the world start."""
    stochastic: Switch = False
    """Draw actions as in the training, instead of the likeliest ones."""

    def run(self) -> int:
        require_positive(episodes=self.episodes, max_frames=self.max_frames)
        from worldloom.cli.pictures import video
        from worldloom.learn.actors import open_run

        run = open_run(Path(self.run_dir), self.checkpoint, self.env)
        count = video(run, Path(self.video), episodes=self.episodes, seed=self.seed, stochastic=self.stochastic, most=self.max_frames, device=self.device)
        seconds = count / run.definition.frames_per_second
        console.out().print(f"wrote {self.video}: {count:,} pictures of {run.definition.id}, {seconds:.1f} s", soft_wrap=True, markup=False)
        return 0
