"""The flags of commands that play the policies of a run."""

from __future__ import annotations

from dataclasses import dataclass

from worldloom.terminal.flags import Switch


@dataclass(kw_only=True)
class RunCommand:
    """A command for the policies of a run. Subclasses declare the run."""

    env: str = ""
    """The file that registers the run's world, such as pond.py; not needed for a registered world."""
    checkpoint: str = "last"
    """Checkpoint: last, best, or the name or path of a checkpoint of the run."""
    allow_changed_world: Switch = False
    """Go on although the rules of the world have changed since the checkpoint was saved."""
    device: str = "cpu"
    """Device of worlds and policies: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Random seed of the worlds."""
    stochastic: Switch = False
    """Sample actions from the policy, as in training, instead of taking the most likely ones."""
