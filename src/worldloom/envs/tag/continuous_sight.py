"""What agents of continuous Tag see: all others, or the nearest of those in the game."""

import functools
from math import nan, sqrt
from typing import Any

import worldloom as wl
from worldloom import clamp, length_sq

FEATURES = 7
"""What is seen of another agent: its x, y, speed, acceleration and direction, as differences to one's own, its type, and whether it is in the game."""
X, Y, SPEED, ACCELERATION, DIRECTION, TYPE, IN_GAME = range(FEATURES)
MOST_NEIGHBOURS = 63
"""A query gives up to 64, one of whom is the agent itself."""
MANY = 64
"""From so many agents on the nearest are asked for with a query; fewer are looked at one after the other."""
LONG = 64
"""Observations that are longer are written by a warp each, whose threads write neighbouring numbers."""
FAR = 1.0e30
NOWHERE = wl.vec2(nan, nan)
"""Where queries find those who have left: near to nobody."""
TURN = 6.283185307179586  # rad


def show_of(kind: Any, field: Any) -> Any:
    """The system by which every entity of a kind puts down what the others see of it."""

    @wl.system
    def show(player: kind, world: field):
        player.shown_x = player.position.x / (sqrt(2.0) * world.grid_length)
        player.shown_y = player.position.y / (sqrt(2.0) * world.grid_length)
        player.shown_speed = player.speed / (world.max_speed + 1.0e-10)
        player.shown_acceleration = player.acceleration / (world.max_speed + 1.0e-10)
        player.shown_direction = player.direction / TURN
        player.shown_in_game = float(player.in_game)
        player.place = player.position if player.in_game else NOWHERE

    return show


@functools.cache
def _list_of(length: int) -> tuple[Any, Any, Any]:
    """The types of a list of the nearest, their distances and their numbers, and the function that inserts one more into it."""
    Distances, Numbers = wl.vec(length), wl.vec(length, int)  # noqa: N806 - types

    @wl.function
    def inserted(distances: Distances, numbers: Numbers, distance: float, number: int):
        """The list with an agent more, if that is near enough. One that is nowhere has no distance, and is not."""
        for i in range(length):
            if distance < distances[i] or (distance == distances[i] and number < numbers[i]):
                distances[i], distance = distance, distances[i]
                numbers[i], number = number, numbers[i]
        return distances, numbers

    return Distances, Numbers, inserted


def choose_of(kind: Any, first: int, kinds: tuple[Any, Any], counts: tuple[int, int], field: Any, neighbours: int) -> Any:
    """The system by which every entity of a kind finds its nearest: by distance, then taggers before runners, then by id.

    Agents are numbered, ``kinds`` one after the other; ``first`` is the number of the first of ``kind``.
    """
    first_kind, second_kind = kinds
    before, last = counts[0], neighbours - 1
    of_first, of_second = (neighbours + int(kind is one) for one in kinds)  # the agent itself is found, too
    Distances, Numbers, inserted = _list_of(neighbours)  # noqa: N806 - types

    @wl.system
    def choose(player: kind, world: field):
        distances, numbers = Distances(FAR), Numbers(-1)
        for tagger in world.all(first_kind):
            if tagger.id != first + player.id:
                distances, numbers = inserted(distances, numbers, length_sq(tagger.place - player.position), tagger.id)
        for runner in world.all(second_kind):
            if before + runner.id != first + player.id:
                distances, numbers = inserted(distances, numbers, length_sq(runner.place - player.position), before + runner.id)
        for i in range(neighbours):
            player.nearest[i] = numbers[i]

    @wl.system
    def ask(player: kind, world: field):
        """Both kinds come in order, so that it is enough to take the nearer of the two that are next, again and again."""
        tagger_distances, tagger_numbers, taggers = Distances(FAR), Numbers(-1), 0
        for tagger in world.nearest(first_kind, player.position, of_first, by="place"):
            if tagger.id != first + player.id and taggers < neighbours:
                tagger_distances[clamp(taggers, 0, last)] = length_sq(tagger.place - player.position)
                tagger_numbers[clamp(taggers, 0, last)] = tagger.id
                taggers += 1
        runner_distances, runner_numbers, runners = Distances(FAR), Numbers(-1), 0
        for runner in world.nearest(second_kind, player.position, of_second, by="place"):
            if before + runner.id != first + player.id and runners < neighbours:
                runner_distances[clamp(runners, 0, last)] = length_sq(runner.place - player.position)
                runner_numbers[clamp(runners, 0, last)] = before + runner.id
                runners += 1
        taggers, runners = 0, 0
        for i in range(neighbours):
            is_tagger = tagger_distances[clamp(taggers, 0, last)] <= runner_distances[clamp(runners, 0, last)]
            player.nearest[i] = tagger_numbers[clamp(taggers, 0, last)] if is_tagger else runner_numbers[clamp(runners, 0, last)]
            taggers += int(is_tagger)
            runners += int(not is_tagger)

    return ask if sum(counts) >= MANY else choose


@wl.function
def apart(seen: bool, other: float, own: float) -> float:
    """A feature of another agent as a difference to one's own; 0 where it is not seen."""
    return other - own if seen else 0.0


@wl.function
def time_of(there: bool, clock: int, limit: int) -> float:
    """The part of the episode that is over; 0 where it has no end, and for those who have left."""
    return float(clock) / float(limit) if there and limit > 0 else 0.0


def introduce_of(kind: Any, is_tagger: bool, counts: tuple[int, int]) -> Any:
    """The system that writes the types of all others, which stay the same all through an episode."""
    taggers, others = counts[0] - int(is_tagger), sum(counts) - 1

    @wl.system
    def introduce(player: kind):
        for who in range(taggers):
            player.sight[TYPE * others + who] = 1.0

    return introduce


def look_at_all_of(kind: Any, rival: Any, is_tagger: bool, counts: tuple[int, int], field: Any) -> Any:
    """The system that writes the observations of a kind: feature by feature of the others, taggers first, each kind by id, then the time.

    ``rival`` is the other kind. What :func:`introduce_of` wrote stays.
    """
    mates, rivals = counts[int(not is_tagger)] - 1, counts[int(is_tagger)]
    others = mates + rivals
    own_side, other_side = (0, mates) if is_tagger else (rivals, 0)  # where the first of either kind stands
    size = FEATURES * others + 1
    turns = wl.share if size > LONG else range

    @wl.system(threads=32 if size > LONG else 1)
    def look(player: kind, world: field):
        there = player.shown_in_game > 0.0
        for who in turns(mates):
            mate = world.at(kind, who + int(who >= player.id))
            x, y, speed = mate.shown_x, mate.shown_y, mate.shown_speed  # all are read before one is written, so that they come together
            acceleration, direction, in_game = mate.shown_acceleration, mate.shown_direction, mate.shown_in_game
            player.sight[X * others + own_side + who] = apart(there, x, player.shown_x)
            player.sight[Y * others + own_side + who] = apart(there, y, player.shown_y)
            player.sight[SPEED * others + own_side + who] = apart(there, speed, player.shown_speed)
            player.sight[ACCELERATION * others + own_side + who] = apart(there, acceleration, player.shown_acceleration)
            player.sight[DIRECTION * others + own_side + who] = apart(there, direction, player.shown_direction)
            player.sight[IN_GAME * others + own_side + who] = in_game
        for who in turns(rivals):
            foe = world.at(rival, who)
            x, y, speed = foe.shown_x, foe.shown_y, foe.shown_speed
            acceleration, direction, in_game = foe.shown_acceleration, foe.shown_direction, foe.shown_in_game
            player.sight[X * others + other_side + who] = apart(there, x, player.shown_x)
            player.sight[Y * others + other_side + who] = apart(there, y, player.shown_y)
            player.sight[SPEED * others + other_side + who] = apart(there, speed, player.shown_speed)
            player.sight[ACCELERATION * others + other_side + who] = apart(there, acceleration, player.shown_acceleration)
            player.sight[DIRECTION * others + other_side + who] = apart(there, direction, player.shown_direction)
            player.sight[IN_GAME * others + other_side + who] = in_game
        player.sight[size - 1] = time_of(there, world.clock, world.max_steps)

    return look


def look_at_nearest_of(kind: Any, kinds: tuple[Any, Any], counts: tuple[int, int], field: Any, neighbours: int) -> Any:
    """The system that writes the observations of a kind: feature by feature of the nearest, then the time; zeros where there is nobody."""
    first_kind, second_kind = kinds
    before, behind = counts
    size = FEATURES * neighbours + 1
    turns = wl.share if size > LONG else range

    @wl.system(threads=32 if size > LONG else 1)
    def look(player: kind, world: field):
        there = player.shown_in_game > 0.0
        for i in turns(neighbours):
            number = player.nearest[i]
            seen, is_tagger = there and number >= 0, number < before
            tagger = world.at(first_kind, clamp(number, 0, before - 1))
            runner = world.at(second_kind, clamp(number - before, 0, behind - 1))
            x = tagger.shown_x if is_tagger else runner.shown_x
            y = tagger.shown_y if is_tagger else runner.shown_y
            speed = tagger.shown_speed if is_tagger else runner.shown_speed
            acceleration = tagger.shown_acceleration if is_tagger else runner.shown_acceleration
            direction = tagger.shown_direction if is_tagger else runner.shown_direction
            in_game = tagger.shown_in_game if is_tagger else runner.shown_in_game
            player.sight[X * neighbours + i] = apart(seen, x, player.shown_x)
            player.sight[Y * neighbours + i] = apart(seen, y, player.shown_y)
            player.sight[SPEED * neighbours + i] = apart(seen, speed, player.shown_speed)
            player.sight[ACCELERATION * neighbours + i] = apart(seen, acceleration, player.shown_acceleration)
            player.sight[DIRECTION * neighbours + i] = apart(seen, direction, player.shown_direction)
            player.sight[TYPE * neighbours + i] = float(seen and is_tagger)
            player.sight[IN_GAME * neighbours + i] = in_game if seen else 0.0
        player.sight[size - 1] = time_of(there, world.clock, world.max_steps)

    return look
