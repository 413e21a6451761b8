"""Overcooked: cooperative cooking with the rules, layouts and encodings of overcooked-ai 1.1.0."""

from __future__ import annotations

from worldloom.core.model.families import add_family
from worldloom.envs.overcooked.family import OvercookedFamily


def register_family() -> None:
    """Make the ids of Overcooked known. Its world is built when an id is first used."""
    add_family(OvercookedFamily())
