# Annotations are evaluated: the types of settings are read from them.
"""Ids of Overcooked, such as ``Overcooked-v0:layout=coordination_ring,horizon=200``, and their definitions."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.envs.id_settings import make_settings, parse_settings, with_settings

ID = "Overcooked-v0"
SEPARATOR = "+"
"""Between the layouts of one world."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a kitchen is built with.

    Attributes:
        layout: A name of overcooked-ai, the path of a layout file, or rows separated by ``|``; several joined by ``+``.
        players: Players, 1 to 64; by default as many as the first layout has.
        size: The largest grid, such as ``9x5``; by default that of the layouts.
        pots: The largest number of pots; by default that of the layouts.
        observation: ``planes``, the lossless encoding, or ``features``.
        dtype: Type of the planes: ``uint8`` or ``float32``.
        old_dynamics: Whether full pots cook by themselves.
        horizon: Steps of an episode.
    """

    layout: str = "cramped_room"
    players: int = 0
    size: str = ""
    pots: int = 0
    observation: str = "planes"
    dtype: str = "auto"
    old_dynamics: bool = False
    horizon: int = 400


def layouts_summary() -> str:
    """One sentence for the list of all worlds."""
    return f"Overcooked: {ID}, with layouts of overcooked-ai such as {ID}:layout=coordination_ring."


class OvercookedFamily:
    """Overcooked in all layouts."""

    name = "Overcooked"
    settings = frozenset(field.name for field in dataclasses.fields(Settings))
    per_world_settings: Mapping[str, str] = {
        "horizon": "max_steps",
        **{name: name for name in ("old_dynamics", "layout_index", "shaping", "shaping_episodes")},
    }

    def ids(self) -> Sequence[str]:
        return (ID,)

    def owns(self, id: str) -> bool:
        return id.partition(":")[0] == ID

    def given(self, id: str) -> Sequence[str]:
        written = id.partition(":")[2]
        return list(parse_settings(Settings, written)) if written else []

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        written = id.partition(":")[2]
        parsed = parse_settings(Settings, written) if written else {}
        for given in parsed.keys() & settings.keys():
            raise InputError(f"the setting '{given}' is both in the id and an argument: give it once")
        resolved = make_settings(Settings, {**parsed, **settings})
        return _define(resolved, tuple(map(_modified, resolved.layout.split(SEPARATOR))))


def _modified(layout: str) -> int:
    """Time of modification of a layout file in ns; 0 for a name and for rows."""
    path = Path(layout).expanduser()
    return path.stat().st_mtime_ns if "|" not in layout and "\n" not in layout and path.is_file() else 0


def _read_size(text: str) -> tuple[int, int]:
    if not text:
        return 0, 0
    match = re.fullmatch(r"([1-9]\d{0,2})x([1-9]\d{0,2})", text)
    if match is None:
        raise InputError(f"the setting 'size' must be width x height in cells, such as 9x5, not '{text}'")
    return int(match[1]), int(match[2])


@functools.lru_cache(maxsize=64)
def _define(settings: Settings, modified: tuple[int, ...]) -> Definition:
    """The definition of a kitchen; the same as long as its layout files have the same time of modification."""
    from worldloom.envs.overcooked.catalogue import find_layout
    from worldloom.envs.overcooked.world import define_kitchen

    values = dataclasses.asdict(settings)
    layouts = [find_layout(text) for text in values.pop("layout").split(SEPARATOR)]
    values["size"] = _read_size(values["size"])
    return define_kitchen(with_settings(ID, settings), layouts, **values)
