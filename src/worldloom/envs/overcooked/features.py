"""The features of overcooked-ai: 46 numbers that describe a player, and positions."""

from typing import Any

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.overcooked.kinds import Kinds
from worldloom.envs.overcooked.nearest import NEAREST, NO_CELL
from worldloom.envs.overcooked.recipes import MAX_INGREDIENTS
from worldloom.envs.overcooked.rules import cell_ahead, ingredients
from worldloom.envs.overcooked.tables import DISH, EMPTY, FLOOR, POT, SOUP, TOMATO, Size

HELD, CLOSEST = 4, 8
"""First features of the held object (onion, soup, dish, tomato) and of the nearest onion, tomato and dish."""
CLOSEST_SOUP = 14
"""Differences to the nearest soup on a counter, and its onions and tomatoes."""
CLOSEST_SERVING = 18
CLOSEST_POTS = 22
"""First features of the two nearest pots, after those of the nearest empty counter."""
POT_FEATURES = 10
WALLS = 42
PLAYER_FEATURES = 46


def feature_count(players: int) -> int:
    """Numbers of an observation: 48 per player."""
    return (PLAYER_FEATURES + 2) * players


def features_component(size: Size) -> Any:
    """The declaration of the observation."""
    return wl.Observation(feature_count(size.players))


def feature_systems(kinds: Kinds, size: Size) -> list[System]:
    """The systems that describe all players and write their observations, in order."""
    return [_describe_system(kinds, size), _look_system(kinds, size)]


def _describe_system(kinds: Kinds, size: Size) -> System:
    """Describes every player.

    Counters are no targets of overcooked-ai's motion planner as its environment creates it. Features of the nearest
    soup and empty counter are therefore 0, except for a soup in the player's own hands.
    """
    height, kind_count = size.height, len(NEAREST)

    @wl.system
    def describe(player: kinds.Player, world: kinds.Kitchen):
        cell, facing, held = int(player.cell), int(player.facing), int(player.held)
        x, y, pose = cell // height, cell % height, 4 * cell + facing
        for number in range(PLAYER_FEATURES):
            player.features[number] = 0.0
        player.features[facing] = 1.0
        if held >= SOUP:
            player.features[HELD + 1] = 1.0
            player.features[CLOSEST_SOUP + 2] = float(held - SOUP >> 2)
            player.features[CLOSEST_SOUP + 3] = float(held & 3)
        elif held == DISH:
            player.features[HELD + 2] = 1.0
        elif held == TOMATO:
            player.features[HELD + 3] = 1.0
        elif held != EMPTY:
            player.features[HELD] = 1.0
        for number in range(kind_count):
            target = int(world.nearest_cells[world.kitchen, pose, number])
            if target != NO_CELL and (number == kind_count - 1 or held != number + 1):
                place = CLOSEST_SERVING if number == kind_count - 1 else CLOSEST + 2 * number
                player.features[place] = float(target // height - x)
                player.features[place + 1] = float(target % height - y)
        for number in range(2):
            target = int(world.nearest_cells[world.kitchen, pose, kind_count + number])
            if target != NO_CELL:
                place = CLOSEST_POTS + POT_FEATURES * number
                pot = int(world.terrain[world.kitchen, target]) - POT
                recipe, tick = int(world.soups[pot]), int(world.ticks[pot])
                left = int(world.cook_times[world.kitchen, recipe]) - tick
                player.features[place] = 1.0
                player.features[place + 1] = 1.0 if recipe == 0 else 0.0
                player.features[place + 2] = 1.0 if tick >= 0 or ingredients(recipe) == MAX_INGREDIENTS else 0.0
                player.features[place + 3] = 1.0 if tick >= 0 and left > 0 else 0.0
                player.features[place + 4] = 1.0 if tick >= 0 and left <= 0 else 0.0
                player.features[place + 5] = float(recipe >> 2)
                player.features[place + 6] = float(recipe & 3)
                player.features[place + 7] = float(max(left, 0)) if tick >= 0 else 0.0
                player.features[place + 8] = float(target // height - x)
                player.features[place + 9] = float(target % height - y)
        for side in range(4):
            wall = world.terrain[world.kitchen, cell_ahead(cell, side, height)] != FLOOR
            player.features[WALLS + side] = 1.0 if wall else 0.0

    return describe


def _look_system(kinds: Kinds, size: Size) -> System:
    """A player observes its own description, those of the others, their relative positions and its own position."""
    height, players = size.height, size.players
    positions = PLAYER_FEATURES * players

    @wl.system
    def look(player: kinds.Player, world: kinds.Kitchen):
        x, y = int(player.cell) // height, int(player.cell) % height
        for other in world.all(kinds.Player):
            place = 0
            if other.id != player.id:
                place = other.id + 1 if other.id < player.id else other.id
                player.sight[positions + 2 * place - 2] = float(int(other.cell) // height - x)
                player.sight[positions + 2 * place - 1] = float(int(other.cell) % height - y)
            for number in range(PLAYER_FEATURES):
                player.sight[place * PLAYER_FEATURES + number] = other.features[number]
        player.sight[positions + 2 * players - 2] = float(x)
        player.sight[positions + 2 * players - 1] = float(y)

    return look
