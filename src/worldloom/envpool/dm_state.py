"""States as nested named tuples, the form of ``TimeStep.observation``."""

from __future__ import annotations

import functools
import keyword
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from typing import Any

PLAYERS = "info:players.env_id"


def nesting_of(keys: Iterable[str]) -> Callable[[Mapping[str, Any]], Any]:
    """A function that nests the observations and infos of a state: ``State(env_id, players, obs, ...)``.

    ``players`` is a named tuple with the field ``env_id``. Observations of several components are fields themselves.
    """
    return _nesting(tuple(key for key in keys if key.startswith(("obs", "info:"))))


@functools.cache
def _nesting(keys: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Any]:
    """The same function for the same keys, so that all its results have one type."""
    players = namedtuple("players", ["env_id"])
    kind = namedtuple("State", [_field_name(key) for key in keys])  # type: ignore[misc]

    def nest(state: Mapping[str, Any]) -> Any:
        return kind(*[players(state[key]) if key == PLAYERS else state[key] for key in keys])

    return nest


def _field_name(key: str) -> str:
    """The name of a key's field: an identifier."""
    if key == PLAYERS:
        return "players"
    name = re.sub(r"\W", "_", key.removeprefix("info:").removeprefix("obs:"))
    return f"f_{name}" if not name or name[0] in "_0123456789" or keyword.iskeyword(name) else name
