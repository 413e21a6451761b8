"""The start of an episode that a layout prescribes: players, and objects on counters and in pots."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.envs.overcooked.recipes import MAX_INGREDIENTS

ORIENTATIONS = ((0, -1), (0, 1), (1, 0), (-1, 0))
"""North, south, east and west as steps in x and y; y points down."""
FACING_NORTH = 0
SIMPLE_OBJECTS = {"onion": "o", "tomato": "t", "dish": "d"}


@dataclasses.dataclass(frozen=True)
class StartState:
    """What stands where at the start.

    An object is ``o``, ``t`` or ``d`` for an onion, a tomato or a dish, or ``s`` and its ingredients, such as ``soot``;
    empty hands are an empty string.

    Attributes:
        facing: The orientation of each player, an index of ``ORIENTATIONS``.
        held: The object in the hands of each player.
        on_counters: The cells (x, y) of counters with their objects.
        in_pots: The cells (x, y) of pots with their ingredients and steps of cooking, -1 before it begins.
    """

    facing: tuple[int, ...]
    held: tuple[str, ...]
    on_counters: tuple[tuple[tuple[int, int], str], ...]
    in_pots: tuple[tuple[tuple[int, int], str, int], ...]


def read_start_state(
    where: str, state: Any, rows: tuple[str, ...], players: int
) -> tuple[tuple[tuple[int, int], ...], StartState, dict[str, Any]]:
    """The start of each player, the state, and the orders that the state replaces, from overcooked-ai's dictionary."""
    if not isinstance(state, Mapping) or not isinstance(state.get("players"), list):
        raise InputError(f"{where}: start_state must be a dictionary with a list of players")
    if len(state["players"]) != players:
        raise InputError(f"{where}: start_state has {len(state['players'])} players and the grid has {players}")
    starts, facing, held = [], [], []
    for player in state["players"]:
        x, y = _position(where, player, rows)
        if rows[y][x] != " " or (x, y) in starts:
            raise InputError(f"{where}: start_state has a player at {(x, y)}, which is no free floor")
        starts.append((x, y))
        orientation = tuple(player.get("orientation") or ())
        if orientation not in ORIENTATIONS:
            raise InputError(f"{where}: start_state has the unknown orientation {orientation}; use {ORIENTATIONS}")
        facing.append(ORIENTATIONS.index(orientation))
        held.append("" if player.get("held_object") is None else _object(where, player["held_object"]))
    on_counters, in_pots = [], []
    for thing in state.get("objects", []):
        x, y = _position(where, thing, rows)
        if rows[y][x] == "X":
            on_counters.append(((x, y), _object(where, thing)))
        elif rows[y][x] == "P" and thing.get("name") == "soup":
            in_pots.append(((x, y), _ingredients(where, thing), int(thing.get("cooking_tick", -1))))
        else:
            raise InputError(f"{where}: start_state has an object at {(x, y)}, where it cannot be")
    orders = {
        f"start_{key}": ["".join(name[0] for name in order["ingredients"]) for order in state[key]]
        for key in ("all_orders", "bonus_orders")
        if key in state
    }
    return tuple(starts), StartState(tuple(facing), tuple(held), tuple(on_counters), tuple(in_pots)), orders


def _position(where: str, thing: Any, rows: tuple[str, ...]) -> tuple[int, int]:
    position = thing.get("position") if isinstance(thing, Mapping) else None
    inside = (
        isinstance(position, list)
        and len(position) == 2
        and all(type(coordinate) is int for coordinate in position)
        and 0 <= position[0] < len(rows[0])
        and 0 <= position[1] < len(rows)
    )
    if not inside:
        raise InputError(f"{where}: start_state has the position {position!r}, which is no cell of the grid")
    return position[0], position[1]


def _object(where: str, thing: Mapping[str, Any]) -> str:
    name = thing.get("name")
    if name == "soup":
        return "s" + _ingredients(where, thing)
    if name not in SIMPLE_OBJECTS:
        raise InputError(f"{where}: start_state has the unknown object {name!r}; use onion, tomato, dish or soup")
    return SIMPLE_OBJECTS[name]


def _ingredients(where: str, soup: Mapping[str, Any]) -> str:
    names = [part.get("name") for part in soup.get("_ingredients", [])]
    if not 1 <= len(names) <= MAX_INGREDIENTS or not set(names) <= {"onion", "tomato"}:
        raise InputError(f"{where}: start_state has a soup of {names}; a soup has 1 to 3 onions and tomatoes")
    return "".join(sorted(name[0] for name in names))
