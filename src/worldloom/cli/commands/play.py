"""``worldloom play``: a video of the policies of a run, or of random actions in a world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.atari.cartridges.roms import is_path
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.registry import Definition
from worldloom.core.registry.world_files import find
from worldloom.terminal import console
from worldloom.terminal.flags import Run, Switch, require_positive


@dataclass
class Play:
    """Film the policies of a run at play in one world, or with --random a world in which actions are drawn."""

    run_dir: Run
    """The folder of a run, as `worldloom train` leaves it; with --random a world."""
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
    random: Switch = False
    """Draw actions at random, in the world that is named in the place of a run."""

    def run(self) -> int:
        require_positive(episodes=self.episodes, max_frames=self.max_frames)
        made, count = self._film_random() if self.random else self._film()
        seconds = count / made.frames_per_second
        limit = "; as many as --max-frames allows" if count == self.max_frames else ""
        console.out().print(
            f"wrote {self.video}: {count:,} pictures of {made.id}, {seconds:.1f} s{limit}", soft_wrap=True, markup=False
        )
        return 0

    def _film(self) -> tuple[Definition, int]:
        from worldloom.cli.training.run_media import video
        from worldloom.learn.play.actors import open_run

        if self._names_a_world:
            raise InputError(
                f"{self.run_dir} is a world and no folder of a run: add --random to film random actions in it, or name a run of `worldloom train`"
            )
        run = open_run(Path(self.run_dir), self.checkpoint, self.env)
        count = video(
            run,
            Path(self.video),
            episodes=self.episodes,
            seed=self.seed,
            stochastic=self.stochastic,
            most=self.max_frames,
            device=self.device,
        )
        return run.definition, count

    @property
    def _names_a_world(self) -> bool:
        """Whether a world of a family stands in the place of a run: its id, or the file of a ROM."""
        place = Path(self.run_dir).expanduser()
        return family_of(self.run_dir) is not None and (
            place.is_file() or not (place.exists() or is_path(self.run_dir))
        )

    def _film_random(self) -> tuple[Definition, int]:
        from worldloom.cli.training.run_media import record_random_video

        made = find(self.run_dir)
        if made.notice:
            console.err().print(made.notice, soft_wrap=True, markup=False)
        return made, record_random_video(
            made, Path(self.video), episodes=self.episodes, seed=self.seed, most=self.max_frames, device=self.device
        )
