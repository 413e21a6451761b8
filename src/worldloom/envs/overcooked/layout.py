"""Layouts: a grid of terrain, the start of an episode, orders and rewards; from text, which is never evaluated."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.envs.overcooked.recipes import Menu, make_menu
from worldloom.envs.overcooked.start_state import FACING_NORTH, StartState, read_start_state

MAX_CELLS = 255
MAX_TEXT = 100_000
"""Characters of a layout's text."""
TERRAIN = "XOTDSP "
"""Counter, dispensers of onions, tomatoes and dishes, serving counter, pot and floor."""
DIGITS = "123456789"
SHAPED_REWARDS = {"PLACEMENT_IN_POT_REW": 3.0, "DISH_PICKUP_REWARD": 3.0, "SOUP_PICKUP_REWARD": 5.0}
"""The shaped rewards of overcooked-ai by name, with their defaults."""
UNUSED_REWARDS = ("DISH_DISP_DISTANCE_REW", "POT_DISTANCE_REW", "SOUP_DISTANCE_REW")
"""Names that overcooked-ai accepts and does not use."""
PARAMETERS = (
    *("grid", "start_state", "start_all_orders", "start_bonus_orders", "order_bonus", "rew_shaping_params"),
    *("delivery_reward", "recipe_values", "onion_value", "tomato_value"),
    *("cook_time", "recipe_times", "onion_time", "tomato_time"),
)
"""The entries of a layout's dictionary."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """One kitchen.

    Attributes:
        name: Its name.
        rows: The terrain, one string per row, of the letters of ``TERRAIN``.
        starts: The start (x, y) of each player.
        menu: Orders, rewards and cook times.
        shaped_rewards: For an ingredient in a pot, a useful dish and a soup taken from a pot.
        start_state: Orientations and objects at the start.
    """

    name: str
    rows: tuple[str, ...]
    starts: tuple[tuple[int, int], ...]
    menu: Menu
    shaped_rewards: tuple[float, float, float]
    start_state: StartState

    @property
    def width(self) -> int:
        return len(self.rows[0])

    @property
    def height(self) -> int:
        return len(self.rows)

    def cells(self, letter: str) -> list[tuple[int, int]]:
        """The (x, y) of all cells with this terrain, row by row."""
        return [(x, y) for y, row in enumerate(self.rows) for x, cell in enumerate(row) if cell == letter]


def parse_layout(text: str, name: str = "unnamed") -> Layout:
    """The layout in a text: rows of cells, or a dictionary in the format of overcooked-ai's layout files.

    Raises:
        InputError: With what is wrong in the text.
    """
    where = f"layout '{name}'"
    if len(text) > MAX_TEXT:
        raise InputError(f"{where}: its text has {len(text):,} characters; at most {MAX_TEXT:,} are read")
    if not text.lstrip().startswith("{"):
        return make_layout(name, {"grid": text})
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", "") or "it cannot be parsed"
        raise InputError(f"{where}: its text is no dictionary of literals: {reason}") from None
    parameters = _literal(where, tree.body)
    for key in ("start_all_orders", "start_bonus_orders"):
        if key in parameters:
            parameters[key] = [_spell_order(where, order) for order in _as_list(where, key, parameters[key])]
    return make_layout(name, parameters)


def make_layout(name: str, parameters: Mapping[str, Any]) -> Layout:
    """The layout with these parameters of overcooked-ai; orders are strings such as ``oot``."""
    where = f"layout '{name}'"
    for key in parameters:
        if key not in PARAMETERS:
            raise InputError(f"{where}: it has the unknown entry {key!r}; known are {', '.join(PARAMETERS)}")
    if not isinstance(parameters.get("grid"), str):
        raise InputError(f"{where}: it has no grid: add 'grid' with one line per row")
    grid = tuple(row.strip() for row in parameters["grid"].strip().replace("|", "\n").split("\n"))
    _check_grid(where, grid)
    starts = tuple(
        next((row.index(digit), y) for y, row in enumerate(grid) if digit in row)
        for digit in DIGITS
        if any(digit in row for row in grid)
    )
    rows = tuple("".join(" " if cell in DIGITS else cell for cell in row) for row in grid)
    start_orders: dict[str, Any] = {}
    state = StartState((FACING_NORTH,) * len(starts), ("",) * len(starts), (), ())
    if parameters.get("start_state") is not None:
        starts, state, start_orders = read_start_state(where, parameters["start_state"], rows, len(starts))
    menu = make_menu(where, parameters, start_orders)
    return Layout(name, rows, starts, menu, _shaped_rewards(where, parameters.get("rew_shaping_params")), state)


def _check_grid(where: str, grid: tuple[str, ...]) -> None:
    if not any(grid):
        raise InputError(f"{where}: its grid is empty: give it one line per row")
    for y, row in enumerate(grid):
        if len(row) != len(grid[0]) or not row:
            raise InputError(
                f"{where}: row {y + 1} has {len(row)} cells and row 1 has {len(grid[0])}: give all rows one length"
            )
        for x, cell in enumerate(row):
            if cell not in TERRAIN + DIGITS:
                raise InputError(
                    f"{where}: row {y + 1} has the unknown cell {cell!r}; cells are X, O, T, D, S, P, digits and spaces"
                )
            edge = x in (0, len(row) - 1) or y in (0, len(grid) - 1)
            if edge and cell in " " + DIGITS:
                raise InputError(f"{where}: row {y + 1}, column {x + 1} is floor at the edge: close it with a counter")
    if len(grid) * len(grid[0]) > MAX_CELLS:
        raise InputError(f"{where}: it has {len(grid[0])} x {len(grid)} cells; at most {MAX_CELLS} cells are supported")
    text = "".join(grid)
    players = sorted(cell for cell in text if cell in DIGITS)
    if not players or players != list(DIGITS[: len(players)]):
        raise InputError(
            f"{where}: its players are {', '.join(players) or 'none'}: number them from 1, each digit once"
        )
    for letters, what in (("D", "dish dispenser D"), ("S", "serving counter S"), ("P", "pot P"), ("OT", "O or T")):
        if not any(letter in text for letter in letters):
            raise InputError(f"{where}: it has no {what}: add at least one")


def _shaped_rewards(where: str, given: Any) -> tuple[float, float, float]:
    if given is None:
        return tuple(SHAPED_REWARDS.values())
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: rew_shaping_params must be a dictionary or None, not {given!r}")
    for key, value in given.items():
        if key not in SHAPED_REWARDS and key not in UNUSED_REWARDS:
            raise InputError(f"{where}: rew_shaping_params has no {key!r}; it has {', '.join(SHAPED_REWARDS)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InputError(f"{where}: {key} must be a finite number, not {value!r}")
    for key in SHAPED_REWARDS:
        if key not in given:
            raise InputError(f"{where}: rew_shaping_params lacks {key}: give all of {', '.join(SHAPED_REWARDS)}")
    return tuple(float(given[key]) for key in SHAPED_REWARDS)


def _spell_order(where: str, order: Any) -> Any:
    """``{"ingredients": ["onion", "tomato"]}`` as ``ot``; anything else as it is, for the check of orders."""
    if not isinstance(order, Mapping) or list(order) != ["ingredients"]:
        raise InputError(f"{where}: an order is written as {{'ingredients': ['onion', ...]}}, not as {order!r}")
    names = _as_list(where, "ingredients", order["ingredients"])
    for name in names:
        if name not in ("onion", "tomato"):
            raise InputError(f"{where}: the ingredient {name!r} is unknown; ingredients are onion and tomato")
    return "".join(name[0] for name in names)


def _as_list(where: str, name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: {name} must be a list, not {value!r}")
    return value


def _literal(where: str, node: ast.expr) -> Any:
    """The value of a literal: numbers, strings, lists, dictionaries, None and ``float('inf')``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(where, element) for element in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [_literal(where, key) for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, (_literal(where, value) for value in node.values), strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(where, node.operand)
        if isinstance(value, (int, float)):
            return -value
    if ast.unparse(node) in ("float('inf')", "float('infinity')"):
        return math.inf
    raise InputError(
        f"{where}: line {node.lineno} has '{ast.unparse(node)[:40]}'; a layout is a dictionary of numbers, strings, "
        "lists, None and float('inf')"
    )
