"""Trained policies that come with worldloom, a file for each world: ``worldloom play CartPole-v1 --pretrained``.

The files beside this one are files of policies, see :mod:`worldloom.learn.runs.policy_file`, named after their worlds.
``docs/zoo.md`` lists them. ``benchmarks/zoo.py`` writes both.
"""

from __future__ import annotations

from pathlib import Path

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import definition

FOLDER = Path(__file__).parent
SUFFIX = ".policies"
"""The end of the name of a file of policies."""
PRETRAINED = "pretrained"
"""What stands for the pretrained policies of the world of a training in ``--start-from`` and ``--opponent``."""


def pretrained_worlds() -> tuple[str, ...]:
    """The ids of the worlds with pretrained policies, sorted."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}")))


def pretrained(world: str) -> Path:
    """The file with the pretrained policies of a world, which :func:`~worldloom.learn.open_run` opens.

    Args:
        world: The world's id.
    """
    worlds = pretrained_worlds()
    if world not in worlds:
        definition(world)  # names a misspelt id
        raise InputError(
            f"there are no pretrained policies for {world}: train some with `worldloom train {world}`; "
            f"there are policies for {', '.join(worlds)}"
        )
    return FOLDER / f"{world}{SUFFIX}"
