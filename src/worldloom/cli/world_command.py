"""The flags that commands for one world share."""

from __future__ import annotations

from dataclasses import dataclass

from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import find
from worldloom.terminal.flags import Env


@dataclass
class WorldCommand:
    """A command for one world. Subclasses declare ``--json`` last, so that it ends the list of flags."""

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""

    def definition(self) -> Definition:
        """The world that ``env`` names."""
        return find(self.env)


@dataclass
class BatchCommand(WorldCommand):
    """A command for a batch of one world."""

    num_worlds: int = 8192
    """Number of worlds."""
    device: str = "cpu"
    """Device: cpu, cuda:N or auto."""
