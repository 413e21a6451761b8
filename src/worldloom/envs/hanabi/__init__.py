"""Hanabi: the cooperative card game of the Hanabi Learning Environment, for two to five players."""

from __future__ import annotations

from worldloom.core.model.families import add_family
from worldloom.envs.hanabi.family import HanabiFamily


def register_family() -> None:
    """Make the ids of all games known. The modules of the rules are imported when an id is first used."""
    add_family(HanabiFamily())
