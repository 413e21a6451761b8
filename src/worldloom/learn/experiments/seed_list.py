"""Lists of seeds as text: ``0:5`` for 0 to 4, ``3,7`` for these two, ``0:3,10`` for both kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldloom.core.base.errors import InputError
from worldloom.core.runtime.seeds import MAX_SEED

MAX_SEEDS = 1000
"""Maximum number of seeds of one command."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds of ``text``, in its order; InputError where it is not a list of different seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,20})\s*(?::\s*(\d{1,20})\s*)?", part)
        if match is None:
            raise InputError(f"--seeds is a list such as 0:5, which is 0 to 4, or 3,7,11, not '{text}'")
        first, end = int(match[1]), int(match[2]) if match[2] else int(match[1]) + 1
        if end - 1 > MAX_SEED:
            raise InputError(f"--seeds {text}: seeds are at most 2**64 - 1, which is {MAX_SEED:,}")
        if end <= first:
            raise InputError(f"--seeds {text}: {part.strip()} holds no seed; the end must be greater than the start")
        if len(seeds) + end - first > MAX_SEEDS:
            raise InputError(f"--seeds {text} are more than {MAX_SEEDS:,}: use fewer")
        seeds += range(first, end)
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds {text} names a seed twice: name each once")
    return tuple(seeds)


def format_seeds(seeds: Sequence[int]) -> str:
    """The text of ``seeds``, which :func:`parse_seeds` reads; ranges are joined."""
    parts: list[list[int]] = []
    for seed in seeds:
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ",".join(f"{part[0]}:{part[-1] + 1}" if len(part) > 1 else str(part[0]) for part in parts)
