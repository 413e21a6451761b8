"""Settings that several commands share."""

from __future__ import annotations

from typing import Annotated

import tyro

from worldloom.core.base.errors import InputError

Env = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
"""A world: its registered id, or a file that registers it."""

Run = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
"""The folder of a run."""

Switch = tyro.conf.FlagCreatePairsOff[bool]
"""Off, unless its flag is given."""

Json = Switch
"""A switch that turns the output into JSON."""


def names(text: str) -> list[str]:
    """``python,cpu`` as a list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def require_positive(**numbers: float) -> None:
    """InputError where one of ``numbers``, named like its flag, is not above 0."""
    for name, number in numbers.items():
        if not number > 0:
            raise InputError(f"--{name.replace('_', '-')} must be more than 0, not {number}")
