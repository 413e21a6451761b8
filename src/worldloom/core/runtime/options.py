"""The options of a world's alternatives: given, measured before on the same model of GPU, or named by the world."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_error, write_file
from worldloom.core.registry.alternatives import Alternatives
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime import tune_cache

FORMAT = 1
MAX_WORLDS_RATIO = 2
"""A result is valid for the number of worlds it was measured with, and for up to this factor more or fewer."""


def choose_options(
    definition: Definition, device: wp.Device, num_worlds: int, given: Mapping[str, str] | None, tuned: bool
) -> Definition:
    """The world with an option for each of its alternatives; those that the definition has already are kept.

    Raises:
        InputError: For names of alternatives or options that the world does not have.
    """
    known = definition.alternatives
    for name, option in (given or {}).items():
        if name not in known:
            have = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"world '{definition.id}' has no alternatives '{name}': {have}")
        if option not in known[name].options:
            have = ", ".join(known[name].options)
            raise InputError(f"the alternatives '{name}' of '{definition.id}' have no option '{option}': give {have}")
    options = {**definition.options, **(given or {})}
    for name, alternatives in known.items():
        if name not in options:
            measured = find(definition, alternatives, device, num_worlds) if tuned and device.is_cuda else None
            options[name] = measured or alternatives.chosen(device.is_cuda, num_worlds)
            if options[name] not in alternatives.options:
                have = ", ".join(alternatives.options)
                raise InputError(
                    f"'choose' of the alternatives '{name}' of '{definition.id}' names {options[name]!r}, which is no "
                    f"option of them: let it return one of {have}"
                )
    return definition.with_options(options)


def _path(definition: Definition, alternatives: Alternatives, device: wp.Device) -> Path:
    parts = (definition.hash, alternatives.name, *alternatives.options, device.name, wp.config.version)
    return tune_cache.folder() / f"options_{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:32]}.json"


def find(definition: Definition, alternatives: Alternatives, device: wp.Device, num_worlds: int) -> str | None:
    """The fastest option for about this number of worlds; None where none was measured."""
    near = {
        worlds: seconds
        for worlds, seconds in _load(_path(definition, alternatives, device), alternatives).items()
        if num_worlds / MAX_WORLDS_RATIO <= worlds <= num_worlds * MAX_WORLDS_RATIO
    }
    if not near:
        return None
    seconds = near[min(near, key=lambda worlds: abs(math.log(worlds / num_worlds)))]
    return min(seconds, key=seconds.__getitem__)


def store(
    definition: Definition,
    alternatives: Alternatives,
    device: wp.Device,
    num_worlds: int,
    seconds: Mapping[str, float],
) -> None:
    """Store the seconds of a step with each option; they replace older ones for the same number of worlds."""
    path = _path(definition, alternatives, device)
    known = {**_load(path, alternatives), num_worlds: dict(seconds)}
    measured = [{"num_worlds": worlds, "seconds": times} for worlds, times in sorted(known.items())]
    about = {"env": definition.id, "alternatives": alternatives.name, "gpu": device.name, "warp": wp.config.version}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    write_file(path, json.dumps({"format": FORMAT, **about, "measured": measured}, indent=1))


def _load(path: Path, alternatives: Alternatives) -> dict[int, dict[str, float]]:
    """Seconds of each option by number of worlds. A damaged file is ignored with a warning."""
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            raise ValueError
        return dict(_entry(item, alternatives) for item in data["measured"])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        warnings.warn(
            f"the tuning kept in {path} is ignored: it cannot be read; `worldloom tune` replaces it", stacklevel=5
        )
        return {}


def _entry(item: Any, alternatives: Alternatives) -> tuple[int, dict[str, float]]:
    """One measurement. Raises ValueError where it holds what tuning never writes."""
    worlds, seconds = item["num_worlds"], item["seconds"]
    numbers = isinstance(worlds, int) and not isinstance(worlds, bool) and worlds > 0
    times = isinstance(seconds, dict) and set(seconds) == set(alternatives.options)
    if not numbers or not times or not all(isinstance(t, float) and 0.0 < t < math.inf for t in seconds.values()):
        raise ValueError
    return worlds, seconds
