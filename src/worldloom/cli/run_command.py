"""The flags of commands that read the policies of a run, and the run that they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from worldloom.core.base.errors import InputError
from worldloom.terminal.flags import Switch

if TYPE_CHECKING:
    from worldloom.learn.runs.saved_run import SavedRun


@dataclass(kw_only=True)
class RunCommand:
    """A command for the policies of a run. Subclasses declare the run."""

    pretrained: Switch = False
    """Use the policies that come with worldloom for a world: the id of the world stands in the place of the run."""
    env: str = ""
    """The file that registers the run's world, such as pond.py; not needed for a registered world."""
    checkpoint: str = "last"
    """Checkpoint: last, best, or the name or path of a checkpoint of the run."""
    allow_changed_world: Switch = False
    """Go on although the rules of the world have changed since the checkpoint was saved."""

    def source(self, run: str) -> Path:
        """The folder or file that ``run`` names."""
        from worldloom.learn.runs.pretrained import pretrained, pretrained_worlds

        if not self.pretrained:
            if run in pretrained_worlds() and not Path(run).exists():
                raise InputError(
                    f"{run} is a world and no folder of a run: add --pretrained for the policies that come with "
                    "worldloom, or name a run of `worldloom train`"
                )
            return Path(run)
        if Path(run).exists():
            raise InputError(f"{run} is a run, and --pretrained takes the id of a world: omit --pretrained")
        given = "--checkpoint" if self.checkpoint != "last" else "--env" if self.env else ""
        if given:
            raise InputError(f"--pretrained names one file of policies of a registered world: omit {given}")
        return pretrained(run)

    def open(self, run: str) -> SavedRun:
        """The run that ``run`` names."""
        from worldloom.learn.runs.saved_run import open_run

        return open_run(self.source(run), self.checkpoint, self.env, allow_changed_world=self.allow_changed_world)


@dataclass(kw_only=True)
class PlayCommand(RunCommand):
    """A command that plays the policies of a run."""

    device: str = "cpu"
    """Device of worlds and policies: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Random seed of the worlds."""
    stochastic: Switch = False
    """Sample actions from the policy, as in training, instead of taking the most likely ones."""
