"""The lossless encoding: 5 planes per player and 16 planes of terrain and objects."""

from typing import Any

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.overcooked.kinds import Kinds
from worldloom.envs.overcooked.recipes import MAX_COOK_TIME, MAX_INGREDIENTS
from worldloom.envs.overcooked.tables import COUNTER, DISH, EMPTY, OUTSIDE, POT, SERVING, SOUP, Size

MAP_PLANES = 16
"""Planes after those of the players, in the order of the constants below."""
POTS, COUNTERS, ONION_DISPENSERS, TOMATO_DISPENSERS, DISH_DISPENSERS, SERVING_COUNTERS = range(6)
ONIONS_IN_POT, TOMATOES_IN_POT, ONIONS_IN_SOUP, TOMATOES_IN_SOUP, TIME_LEFT, SOUP_DONE = range(6, 12)
DISHES, ONIONS, TOMATOES, URGENCY = range(12, MAP_PLANES)
URGENT_STEPS = 40
"""The plane of urgency is 1 while fewer steps are left."""
MAX_BYTE = 255
"""The largest time in planes of bytes."""


@wl.function
def object_plane(thing: int) -> int:
    """The plane of an onion, a tomato or a dish, counted from the first plane of terrain."""
    return DISHES if thing == DISH else DISHES + thing


def plane_count(players: int) -> int:
    """The number of planes: 26 for two players."""
    return 5 * players + MAP_PLANES


def planes_component(size: Size, dtype: Any, longest: int) -> Any:
    """The declaration of the observation, of shape (width, height, planes). ``longest`` is the longest cook time."""
    bounds = [1.0] * plane_count(size.players)
    first = 5 * size.players
    for plane in (ONIONS_IN_POT, TOMATOES_IN_POT, ONIONS_IN_SOUP, TOMATOES_IN_SOUP):
        bounds[first + plane] = float(MAX_INGREDIENTS)
    bounds[first + TIME_LEFT] = float(min(longest, MAX_BYTE) if dtype is wl.uint8 else longest)
    high = tuple(bounds) * size.cells
    return wl.Observation(size.width, size.height, len(bounds), dtype=dtype, low=0, high=high)


def planes_system(kinds: Kinds, size: Size, dtype: Any) -> System:
    """Every player observes itself first, then the others in the order of their ids, then terrain and objects."""
    width, height, players, planes = size.width, size.height, size.players, plane_count(size.players)
    first, latest = 5 * players, MAX_BYTE if dtype is wl.uint8 else MAX_COOK_TIME

    @wl.system
    def look(player: kinds.Player, world: kinds.Kitchen):
        urgent = world.max_steps > 0 and world.max_steps - world.clock < URGENT_STEPS
        for x in range(width):
            for y in range(height):
                for plane in range(planes):
                    player.sight[x, y, plane] = dtype(0)
        for x in range(width):
            for y in range(height):
                terrain = int(world.terrain[world.kitchen, x * height + y])
                if terrain >= POT:
                    player.sight[x, y, first + POTS] = dtype(1)
                    pot = terrain - POT
                    recipe, tick = int(world.soups[pot]), int(world.ticks[pot])
                    if tick < 0:
                        player.sight[x, y, first + ONIONS_IN_POT] = dtype(recipe >> 2)
                        player.sight[x, y, first + TOMATOES_IN_POT] = dtype(recipe & 3)
                    else:
                        left = int(world.cook_times[world.kitchen, recipe]) - tick
                        player.sight[x, y, first + ONIONS_IN_SOUP] = dtype(recipe >> 2)
                        player.sight[x, y, first + TOMATOES_IN_SOUP] = dtype(recipe & 3)
                        player.sight[x, y, first + TIME_LEFT] = dtype(min(max(left, 0), latest))
                        player.sight[x, y, first + SOUP_DONE] = dtype(1 if left <= 0 else 0)
                elif terrain == COUNTER:
                    player.sight[x, y, first + COUNTERS] = dtype(1)
                    thing = int(world.objects[x * height + y])
                    if thing >= SOUP:
                        player.sight[x, y, first + ONIONS_IN_SOUP] = dtype(thing - SOUP >> 2)
                        player.sight[x, y, first + TOMATOES_IN_SOUP] = dtype(thing & 3)
                        player.sight[x, y, first + SOUP_DONE] = dtype(1)
                    elif thing != EMPTY:
                        player.sight[x, y, first + object_plane(thing)] = dtype(1)
                elif terrain == SERVING:
                    player.sight[x, y, first + SERVING_COUNTERS] = dtype(1)
                elif OUTSIDE < terrain <= DISH:
                    player.sight[x, y, first + ONION_DISPENSERS - 1 + terrain] = dtype(1)
                if urgent and terrain != OUTSIDE:
                    player.sight[x, y, first + URGENCY] = dtype(1)
        for other in world.all(kinds.Player):
            x, y = int(other.cell) // height, int(other.cell) % height
            place = 0
            if other.id != player.id:
                place = other.id + 1 if other.id < player.id else other.id
            player.sight[x, y, place] = dtype(1)
            player.sight[x, y, players + 4 * place + int(other.facing)] = dtype(1)
            thing = int(other.held)
            if thing >= SOUP:
                player.sight[x, y, first + ONIONS_IN_SOUP] = dtype(thing - SOUP >> 2)
                player.sight[x, y, first + TOMATOES_IN_SOUP] = dtype(thing & 3)
                player.sight[x, y, first + SOUP_DONE] = dtype(1)
            elif thing != EMPTY:
                player.sight[x, y, first + object_plane(thing)] = dtype(1)

    return look
