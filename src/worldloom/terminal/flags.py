"""Flag types and checks that several commands share."""

from __future__ import annotations

from typing import Annotated

import tyro

from worldloom.core.base.errors import InputError

Env = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
"""A world: its registered id, or a file that registers it."""

Run = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
"""The folder of a run."""

Switch = tyro.conf.FlagCreatePairsOff[bool]
"""A flag without a value, off by default."""

Json = Switch
"""The flag for JSON output."""


def names(text: str) -> list[str]:
    """A comma-separated list such as ``python,cpu``, split."""
    return [name.strip() for name in text.split(",") if name.strip()]


def require_positive(**numbers: float) -> None:
    """Raise InputError if one of ``numbers``, named like its flag, is not above 0."""
    for name, number in numbers.items():
        if not number > 0:
            raise InputError(f"--{name.replace('_', '-')} must be more than 0, not {number}")
