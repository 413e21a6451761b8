"""``worldloom play``: a video of the policies of a run, or of random actions in a world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.atari.cartridges.roms import is_path
from worldloom.cli.run_command import PlayCommand
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import find
from worldloom.terminal import console
from worldloom.terminal.flags import Run, Switch, require_positive


@dataclass
class Play(PlayCommand):
    """Record a video of the policies of a run, or, with --random, of random actions."""

    run_dir: Run
    """The folder of a run of `worldloom train`, or a file of policies; with --random or --pretrained, a world."""
    video: str
    """Output file: .mp4 or .gif."""
    episodes: int = 1
    """Number of episodes."""
    max_frames: int = 3000
    """Maximum number of frames."""
    tiles: int = 1
    """Number of worlds, shown side by side. One whose episode has ended keeps its last frame until all have."""
    random: Switch = False
    """Take random actions in the world that is given instead of a run."""

    def run(self) -> int:
        require_positive(episodes=self.episodes, max_frames=self.max_frames, tiles=self.tiles)
        if self.random and self.pretrained:
            raise InputError("--random takes random actions, and not those of pretrained policies: omit one of both")
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

        if not self.pretrained and self._names_a_world:
            raise InputError(
                f"{self.run_dir} is a world and no folder of a run: add --random to record random actions in it, "
                "or name a run of `worldloom train`"
            )
        run = self.open(self.run_dir)
        return run.definition, record_video(run, Path(self.video), stochastic=self.stochastic, **self._limits())

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
        return definition, record_random_video(definition, Path(self.video), **self._limits())

    def _limits(self) -> dict[str, Any]:
        """The arguments that both kinds of recordings have."""
        return {name: getattr(self, name) for name in ("episodes", "seed", "max_frames", "tiles", "device")}
