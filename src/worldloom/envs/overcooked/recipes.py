"""Recipes: their numbering, and the reward and the cook time of each."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from worldloom.core.base.errors import InputError

MAX_INGREDIENTS = 3
"""Ingredients of a full pot."""
RECIPES = 16
"""Numbers of recipes: 4 * onions + tomatoes, of which those with 1 to 3 ingredients are recipes."""
DEFAULT_VALUE = 20
DEFAULT_TIME = 20
MAX_COOK_TIME = 32_767
"""Cook times are stored as 16-bit integers."""
INFINITE_BONUS = 1000.0
"""The factor that stands for an infinite ``order_bonus``: rewards are finite."""
LETTERS = {"onion": "o", "tomato": "t"}

ALL_ORDERS = tuple(
    "".join(order)
    for length in range(1, MAX_INGREDIENTS + 1)
    for order in itertools.combinations_with_replacement("ot", length)
)
"""Every recipe as its ingredients in alphabetical order: ``o``, ``t``, ``oo``, ``ot``, ..., ``ttt``."""


def recipe_index(order: str) -> int:
    """The number of a recipe, 4 * onions + tomatoes."""
    return 4 * order.count("o") + order.count("t")


@dataclasses.dataclass(frozen=True)
class Menu:
    """What deliveries are worth and how long soups cook.

    Attributes:
        orders: The orders, each its ingredients in alphabetical order, such as ``oot``.
        rewards: The reward for the delivery of each recipe, by its number; 0 for soups that nobody ordered.
        times: The cook time of each recipe in steps, by its number.
    """

    orders: tuple[str, ...]
    rewards: tuple[float, ...]
    times: tuple[int, ...]


def make_menu(where: str, parameters: Mapping[str, Any], start_orders: Mapping[str, Any]) -> Menu:
    """The menu of a layout.

    Args:
        where: The layout, for errors.
        parameters: ``start_all_orders`` and ``start_bonus_orders``, lists of ingredients such as ``oot``, and the
            values and times under the names of overcooked-ai.
        start_orders: Lists of orders of a start state, which replace those of the parameters under the same names.
            ``recipe_values`` and ``recipe_times`` belong to the orders of the parameters.
    """
    listed = read_orders(where, "start_all_orders", parameters.get("start_all_orders", ()))
    current = {**parameters, **start_orders}
    bonus = read_orders(where, "start_bonus_orders", current.get("start_bonus_orders", ()))
    orders = read_orders(where, "start_all_orders", current.get("start_all_orders", ())) or ALL_ORDERS
    for order in bonus:
        if order not in orders:
            raise InputError(f"{where}: the bonus order '{order}' is not among start_all_orders: add it there")
    _refuse_contradictions(where, parameters, listed)
    factor = _number(where, "order_bonus", parameters.get("order_bonus", 2))
    factor = INFINITE_BONUS if math.isinf(factor) else factor
    values = _per_recipe(where, parameters, listed, ("delivery_reward", "recipe_values", "value"), DEFAULT_VALUE)
    times = _per_recipe(where, parameters, listed, ("cook_time", "recipe_times", "time"), DEFAULT_TIME)
    for order, time in times.items():
        if time != int(time) or not 1 <= time <= MAX_COOK_TIME:
            raise InputError(
                f"{where}: the cook time of '{order}' must be a whole number from 1 to {MAX_COOK_TIME:,}, not {time:g}"
            )
    rewards, cook_times = [0.0] * RECIPES, [0] * RECIPES
    for order in ALL_ORDERS:
        cook_times[recipe_index(order)] = int(times[order])
        if order in orders:
            rewards[recipe_index(order)] = values[order] * (factor if order in bonus else 1.0)
    return Menu(tuple(order for order in ALL_ORDERS if order in orders), tuple(rewards), tuple(cook_times))


def read_orders(where: str, name: str, orders: Any) -> tuple[str, ...]:
    """Orders in alphabetical spelling, checked."""
    if not isinstance(orders, Sequence) or isinstance(orders, str):
        raise InputError(f"{where}: {name} must be a list of orders, not {orders!r}")
    spelled = []
    for order in orders:
        if not isinstance(order, str) or "".join(sorted(order)) not in ALL_ORDERS:
            raise InputError(f"{where}: {name} has the order {order!r}; an order has 1 to 3 onions and tomatoes")
        spelled.append("".join(sorted(order)))
        if spelled.count(spelled[-1]) > 1:
            raise InputError(f"{where}: {name} has the order '{spelled[-1]}' twice: list it once")
    return tuple(spelled)


def _refuse_contradictions(where: str, parameters: Mapping[str, Any], orders: tuple[str, ...]) -> None:
    for total, listed, single in (("delivery_reward", "recipe_values", "value"), ("cook_time", "recipe_times", "time")):
        parts = [f"{ingredient}_{single}" for ingredient in LETTERS]
        if (parts[0] in parameters) != (parts[1] in parameters):
            raise InputError(f"{where}: give both {parts[0]} and {parts[1]}, or neither")
        given = [name for name in (total, listed, parts[0]) if name in parameters]
        if len(given) > 1:
            raise InputError(f"{where}: give either {given[0]} or {given[1]}, not both")
        if listed in parameters and (
            not isinstance(parameters[listed], Sequence) or len(parameters[listed]) != len(orders)
        ):
            raise InputError(f"{where}: {listed} must have one number for each of the {len(orders)} start_all_orders")


def _per_recipe(
    where: str, parameters: Mapping[str, Any], orders: tuple[str, ...], names: tuple[str, str, str], default: float
) -> dict[str, float]:
    """A number for every recipe. As in overcooked-ai, a total of 0 counts as none, and so do ingredients of 0."""
    total, listed, single = names
    values = dict.fromkeys(ALL_ORDERS, float(default))
    onion, tomato = (_number(where, f"{name}_{single}", parameters.get(f"{name}_{single}", 0)) for name in LETTERS)
    if onion and tomato:
        values = {order: onion * order.count("o") + tomato * order.count("t") for order in ALL_ORDERS}
    for order, value in zip(orders, parameters.get(listed, ()), strict=False):
        values[order] = _number(where, listed, value)
    if _number(where, total, parameters.get(total, 0)):
        values = dict.fromkeys(ALL_ORDERS, float(parameters[total]))
    return values


def _number(where: str, name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise InputError(f"{where}: {name} must be a number, not {value!r}")
    if math.isinf(value) and not (name == "order_bonus" and value > 0):
        raise InputError(f"{where}: {name} must be finite")
    return float(value)
