"""What agents of continuous Tag see: all others, or the nearest of those in the game.

Agents are numbered, taggers before runners. For each there is a :class:`Sign` with its number, which holds what the others see of it, so
that looking at many need not ask of which kind each is.
"""

from math import nan, sqrt
from typing import Any

import worldloom as wl
from worldloom import clamp

FEATURES = 7
"""What is seen of another agent: its x, y, speed, acceleration and direction, as differences to one's own, its type, and whether it is in the game."""
X, Y, SPEED, ACCELERATION, DIRECTION, TYPE, IN_GAME = range(FEATURES)
MAX_NEIGHBOURS = 63
"""A query gives up to 64, one of whom is the agent itself."""
MANY = 64
"""From so many taggers on the nearest is asked for with a query; fewer are looked at one after the other."""
LONG = 64
"""Observations that are longer are written by a warp each, whose threads write neighbouring numbers."""
NOWHERE = wl.vec2(nan, nan)
"""Where queries find those who have left: near to nobody."""
TURN = 6.283185307179586  # rad


class Sign(wl.Entity):
    """What the others see of an agent, as it was before the tags of this step."""

    place: wl.vec2  # where it is, if it is in the game
    x: float  # this and those below as features
    y: float
    speed: float
    acceleration: float
    direction: float
    in_game: float


def sign_system(kinds: tuple[Any, Any], counts: tuple[int, int], field: Any) -> Any:
    """The system that brings the signs up to date."""
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
    """The system by which every entity of a kind finds its nearest: by distance, then by number; ``first`` is the number of the first of the kind."""
    asked, last = neighbours + 1, neighbours - 1  # the agent itself is found, too

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
    """A feature of another agent as a difference to one's own; 0 where it is not seen."""
    return other - own if seen else 0.0


@wl.function
def time_of(there: bool, clock: int, limit: int) -> float:
    """The part of the episode that is over; 0 where it has no end, and for those who have left."""
    return float(clock) / float(limit) if there and limit > 0 else 0.0


def type_system(kind: Any, is_tagger: bool, counts: tuple[int, int]) -> Any:
    """The system that writes the types of all others, which stay the same all through an episode."""
    taggers, others = counts[0] - int(is_tagger), sum(counts) - 1

    @wl.system
    def introduce(player: kind):
        for who in range(taggers):
            player.sight[TYPE * others + who] = 1.0

    return introduce


def observe_all_system(kind: Any, first: int, others: int, field: Any) -> Any:
    """The system that writes the observations of a kind: feature by feature of the others by their number, then the time.

    ``first`` is the number of the first of the kind. What :func:`type_system` wrote stays.
    """
    size = FEATURES * others + 1
    turns = wl.share if size > LONG else range

    @wl.system(threads=32 if size > LONG else 1)
    def look(player: kind, world: field):
        number = first + player.id
        own = world.at(Sign, number)
        there = own.in_game > 0.0
        own_x, own_y, own_speed, own_acceleration, own_direction = (
            own.x,
            own.y,
            own.speed,
            own.acceleration,
            own.direction,
        )
        for who in turns(others):
            sign = world.at(Sign, who + int(who >= number))
            x, y, speed = sign.x, sign.y, sign.speed  # all are read before one is written, so that they come together
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
    """The system that writes the observations of a kind: feature by feature of the nearest, then the time; zeros where there is nobody."""
    before, agents = counts[0], sum(counts)
    size = FEATURES * neighbours + 1
    turns = wl.share if size > LONG else range

    @wl.system(threads=32 if size > LONG else 1)
    def look(player: kind, world: field):
        own = world.at(Sign, first + player.id)
        there = own.in_game > 0.0
        own_x, own_y, own_speed, own_acceleration, own_direction = (
            own.x,
            own.y,
            own.speed,
            own.acceleration,
            own.direction,
        )
        for i in turns(neighbours):
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
