"""The layouts of overcooked-ai 1.1.0 by name, and layouts in files of the user's own."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.envs.overcooked.layout import Layout, make_layout, parse_layout

CLASSIC = (
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit_o_1order",
)
"""The five layouts of Carroll et al., 2019."""


@functools.cache
def _parameters() -> Mapping[str, Mapping[str, Any]]:
    """The parameters of every layout, from data that states the facts of overcooked-ai's files (MIT licence)."""
    content: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("layouts.json").read_text())
    return content


def layout_names() -> tuple[str, ...]:
    """The names of all layouts."""
    return tuple(_parameters())


@functools.cache
def named_layout(name: str) -> Layout:
    """The layout with a name of overcooked-ai."""
    if name not in _parameters():
        near = difflib.get_close_matches(name, layout_names(), n=3)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else f"layouts of overcooked-ai are {', '.join(CLASSIC)} etc."
        )
        raise InputError(f"there is no layout '{name}', neither by that name nor as a file; {hint}")
    return make_layout(name, _parameters()[name])


def find_layout(text: str) -> Layout:
    """The layout that a name, a path of a layout file, or rows of cells separated by ``|`` or line breaks describe."""
    if text in _parameters():
        return named_layout(text)
    if "|" in text or "\n" in text:
        return parse_layout(text)
    path = Path(text).expanduser()
    if not path.is_file():
        return named_layout(text)
    try:
        return parse_layout(path.read_text(encoding="utf-8"), path.stem)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the layout file {path} cannot be read: {error}") from None
