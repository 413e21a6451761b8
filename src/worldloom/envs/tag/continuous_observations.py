"""Observations of continuous Tag: all other agents, or the nearest agents in the game.

Agents are numbered, taggers before runners. The :class:`Sign` with an agent's number holds the features that others
observe, so that one loop covers both kinds.
"""

from math import nan, sqrt
from typing import Any

import worldloom as wl
from worldloom import clamp

FEATURES = 7
"""Features per observed agent: x, y, speed, acceleration and direction (relative), type, and in-game flag."""
X, Y, SPEED, ACCELERATION, DIRECTION, TYPE, IN_GAME = range(FEATURES)
MAX_NEIGHBOURS = 63
"""A query returns up to 64 agents, the observer among them."""
NOWHERE = wl.vec2(nan, nan)
"""The position of agents that have left the game, for queries: no distance to it is finite."""
TURN = 6.283185307179586  # rad


class Sign(wl.Entity):
    """The observed features of one agent, before the tags of this step."""

    place: wl.vec2  # position, or NOWHERE if it has left the game
    x: float  # this and the following: features
    y: float
    speed: float
    acceleration: float
    direction: float
    in_game: float


def sign_system(kinds: tuple[Any, Any], counts: tuple[int, int], field: Any) -> Any:
    """Updates the signs."""
    first_kind, second_kind = kinds
    before, behind = counts

    @wl.system
    def show(sign: Sign, world: field):
        is_tagger = sign.id < before
        tagger = world.at(first_kind, clamp(sign.id, 0, before - 1))
        runner = world.at(second_kind, clamp(sign.id - before, 0, behind - 1))
        position = tagger.position if is_tagger else runner.position
        in_game = tagger.in_game if is_tagger else runner.in_game
        sign.x = position.x / (sqrt(2.0) * world.grid_length)
        sign.y = position.y / (sqrt(2.0) * world.grid_length)
        sign.speed = (tagger.speed if is_tagger else runner.speed) / (world.max_speed + 1.0e-10)
        sign.acceleration = (tagger.acceleration if is_tagger else runner.acceleration) / (world.max_speed + 1.0e-10)
        sign.direction = (tagger.direction if is_tagger else runner.direction) / TURN
        sign.in_game = float(in_game)
        sign.place = position if in_game else NOWHERE

    return show


def nearest_system(kind: Any, first: int, field: Any, neighbours: int) -> Any:
    """Finds the nearest agents of every entity of a kind, by distance, then by number.

    ``first`` is the number of the first entity of the kind.
    """
    asked, last = neighbours + 1, neighbours - 1  # the query includes the agent itself

    @wl.system
    def choose(player: kind, world: field):
        found = 0
        for sign in world.nearest(Sign, player.position, asked, by="place"):
            if sign.id != first + player.id and found < neighbours:
                player.nearest[clamp(found, 0, last)] = sign.id
                found += 1
        for i in range(neighbours):
            if i >= found:
                player.nearest[i] = -1

    return choose


@wl.function
def apart(seen: bool, other: float, own: float) -> float:
    """A feature relative to the observer; 0 where the agent is not observed."""
    return other - own if seen else 0.0


@wl.function
def time_of(there: bool, clock: int, limit: int) -> float:
    """The elapsed fraction of the episode; 0 without a step limit, and for agents that have left."""
    return float(clock) / float(limit) if there and limit > 0 else 0.0


def type_system(kind: Any, is_tagger: bool, counts: tuple[int, int]) -> Any:
    """Writes the types of all other agents, which are constant over an episode."""
    taggers, others = counts[0] - int(is_tagger), sum(counts) - 1

    @wl.system
    def introduce(player: kind):
        for who in range(taggers):
            player.sight[TYPE * others + who] = 1.0

    return introduce


def observe_all_system(kind: Any, first: int, others: int, field: Any) -> Any:
    """Writes the observations of a kind: feature by feature over all other agents, then the time.

    ``first`` is the number of the first entity of the kind. :func:`type_system` writes the types at a reset.
    """
    size = FEATURES * others + 1

    @wl.system(threads="auto")
    def look(player: kind, world: field):
        number = first + player.id
        own = world.at(Sign, number)
        there = own.in_game > 0.0
        own_x, own_y, own_speed = own.x, own.y, own.speed
        own_acceleration, own_direction = own.acceleration, own.direction
        for who in wl.share(others):
            sign = world.at(Sign, who + int(who >= number))
            x, y, speed = sign.x, sign.y, sign.speed  # all reads before the first store
            acceleration, direction, in_game = sign.acceleration, sign.direction, sign.in_game
            player.sight[X * others + who] = apart(there, x, own_x)
            player.sight[Y * others + who] = apart(there, y, own_y)
            player.sight[SPEED * others + who] = apart(there, speed, own_speed)
            player.sight[ACCELERATION * others + who] = apart(there, acceleration, own_acceleration)
            player.sight[DIRECTION * others + who] = apart(there, direction, own_direction)
            player.sight[IN_GAME * others + who] = in_game
        player.sight[size - 1] = time_of(there, world.clock, world.max_steps)

    return look


def observe_nearest_system(kind: Any, first: int, counts: tuple[int, int], field: Any, neighbours: int) -> Any:
    """Writes the observations of a kind: feature by feature over the nearest agents, then the time.

    Features of missing neighbours are 0.
    """
    before, agents = counts[0], sum(counts)
    size = FEATURES * neighbours + 1

    @wl.system(threads="auto")
    def look(player: kind, world: field):
        own = world.at(Sign, first + player.id)
        there = own.in_game > 0.0
        own_x, own_y, own_speed = own.x, own.y, own.speed
        own_acceleration, own_direction = own.acceleration, own.direction
        for i in wl.share(neighbours):
            number = player.nearest[i]
            seen = there and number >= 0
            sign = world.at(Sign, clamp(number, 0, agents - 1))
            x, y, speed = sign.x, sign.y, sign.speed
            acceleration, direction, in_game = sign.acceleration, sign.direction, sign.in_game
            player.sight[X * neighbours + i] = apart(seen, x, own_x)
            player.sight[Y * neighbours + i] = apart(seen, y, own_y)
            player.sight[SPEED * neighbours + i] = apart(seen, speed, own_speed)
            player.sight[ACCELERATION * neighbours + i] = apart(seen, acceleration, own_acceleration)
            player.sight[DIRECTION * neighbours + i] = apart(seen, direction, own_direction)
            player.sight[TYPE * neighbours + i] = float(seen and number < before)
            player.sight[IN_GAME * neighbours + i] = in_game if seen else 0.0
        player.sight[size - 1] = time_of(there, world.clock, world.max_steps)

    return look
