"""Tasks of the DeepMind Control Suite on :mod:`worldloom.robots`, and the family of their ids."""

from __future__ import annotations

from worldloom.core.model.families import add_family
from worldloom.envs.dm_suite.family import SuiteFamily


def register_family() -> None:
    """Register the ids of all tasks; a task is built on first use."""
    add_family(SuiteFamily())
