"""``worldloom play``: a video of the policies of a run, or of random actions in a world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.atari.cartridges.roms import is_path
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import find
from worldloom.terminal import console
from worldloom.terminal.flags import Run, Switch, require_positive


@dataclass
class Play:
    """Record a video of the policies of a run in one world, or, with --random, of random actions."""

    run_dir: Run
    """The folder of a run of `worldloom train`; with --random, a world."""
    video: str
    """Output file: .mp4 or .gif."""
    episodes: int = 1
    """Number of episodes."""
    max_frames: int = 3000
    """Maximum number of frames."""
    env: str = ""
    """The file that registers the run's world, such as pond.py; not needed for a registered world."""
    checkpoint: str = "last"
    """Checkpoint: last, best, or the name or path of a checkpoint of the run."""
    device: str = "cpu"
    """Device of the world and the policies: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Random seed of the world."""
    stochastic: Switch = False
    """Sample actions from the policy, as in training, instead of taking the most likely ones."""
    random: Switch = False
    """Take random actions in the world that is given instead of a run."""

    def run(self) -> int:
        require_positive(episodes=self.episodes, max_frames=self.max_frames)
        definition, count = self._record_random() if self.random else self._record()
        seconds = count / definition.frames_per_second
        limit = "; the maximum of --max-frames" if count == self.max_frames else ""
        console.out().print(
            f"wrote {self.video}: {count:,} frames of {definition.id}, {seconds:.1f} s{limit}",
            soft_wrap=True,
            markup=False,
        )
        return 0

    def _record(self) -> tuple[Definition, int]:
        from worldloom.cli.training.run_media import record_video
        from worldloom.learn.play.saved_run import open_run

        if self._names_a_world:
            raise InputError(
                f"{self.run_dir} is a world and no folder of a run: add --random to record random actions in it, "
                "or name a run of `worldloom train`"
            )
        run = open_run(Path(self.run_dir), self.checkpoint, self.env)
        count = record_video(
            run,
            Path(self.video),
            episodes=self.episodes,
            seed=self.seed,
            stochastic=self.stochastic,
            max_frames=self.max_frames,
            device=self.device,
        )
        return run.definition, count

    @property
    def _names_a_world(self) -> bool:
        """Whether a world of a family is given instead of a run: its id, or the file of a ROM."""
        path = Path(self.run_dir).expanduser()
        return family_of(self.run_dir) is not None and (path.is_file() or not (path.exists() or is_path(self.run_dir)))

    def _record_random(self) -> tuple[Definition, int]:
        from worldloom.cli.training.run_media import record_random_video

        definition = find(self.run_dir)
        if definition.notice:
            console.err().print(definition.notice, soft_wrap=True, markup=False)
        count = record_random_video(
            definition,
            Path(self.video),
            episodes=self.episodes,
            seed=self.seed,
            max_frames=self.max_frames,
            device=self.device,
        )
        return definition, count
